//! What needs somebody, as surfaces show it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What needs somebody.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize, ToSchema)]
#[schema(as = Attention)]
pub struct AttentionShape {
    /// When it was judged.
    pub generated_at: String,
    /// How many need somebody, shown or not.
    pub total: u64,
    /// How many of each severity.
    pub by_severity: BTreeMap<String, u64>,
    /// How many more were put off or dismissed.
    pub set_aside: u64,
    /// Since when nothing has needed anybody; null while something does.
    pub clear_since: Option<String>,
    /// The most urgent, then the oldest.
    pub items: Vec<AttentionItemShape>,
    /// Everything up to this record is in it.
    pub head: u64,
}

/// One thing that needs somebody.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize, ToSchema)]
#[schema(as = AttentionItem)]
pub struct AttentionItemShape {
    /// The same condition of the same entity has the same one.
    pub fingerprint: String,
    /// How urgent.
    pub severity: String,
    /// How its badge is coloured.
    pub tone: String,
    /// What it is about.
    pub entity: SubjectShape,
    /// Its state as people read it.
    pub chain: String,
    /// Why it needs somebody.
    pub reason: Option<CauseShape>,
    /// What belongs together.
    pub cluster: String,
    /// How many belong together.
    pub cluster_size: u64,
    /// Since when.
    pub first_seen_at: Option<String>,
    /// Until when it was put off.
    pub snoozed_until: Option<String>,
    /// Somebody dismissed it.
    pub dismissed: bool,
    /// What can be done about it.
    pub actions: Vec<ActionShape>,
}

/// What an item is about.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize, ToSchema)]
#[schema(as = Subject)]
pub struct SubjectShape {
    /// Its kind.
    pub kind: String,
    /// Its id.
    pub id: String,
    /// What it is called.
    pub title: Option<String>,
}

/// Why it needs somebody.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize, ToSchema)]
#[schema(as = Cause)]
pub struct CauseShape {
    /// The registered code.
    pub code: String,
    /// What happened, in words.
    pub message: String,
}

/// What can be done about it.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize, ToSchema)]
#[schema(as = Action)]
pub struct ActionShape {
    /// What it is called.
    pub name: String,
    /// The command that does it.
    pub command: String,
}
