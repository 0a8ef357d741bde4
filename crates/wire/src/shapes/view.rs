//! An entity as every surface shows it, judged at a moment.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// An entity as it stands, judged at a moment. A kind adds its own fields.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize, ToSchema)]
#[schema(as = View)]
pub struct ViewShape {
    /// Its id: the prefix of its kind and 26 characters.
    #[schema(example = "ses_01k7c3h2f4x8w6t5r3q1n0m9bz")]
    pub id: String,
    /// Its kind.
    pub kind: String,
    /// What it is called.
    pub title: Option<String>,
    /// What somebody sorted it by.
    pub labels: BTreeMap<String, Value>,
    /// How many records it has.
    pub version: u64,
    /// Its state on all axes.
    pub state: NormalizedStateShape,
    /// The state as people read it.
    #[schema(example = "Failed · Infra OK · Trace present")]
    pub chain: String,
    /// One word for a pill that stands alone.
    pub effective: String,
    /// When it was recorded.
    pub created_at: Option<String>,
    /// When it began.
    pub started_at: Option<String>,
    /// When it entered the state it is in.
    pub entered_at: Option<String>,
    /// When it ended.
    pub ended_at: Option<String>,
    /// When it was last heard of.
    pub last_activity_at: Option<String>,
    /// The entity it belongs to.
    pub parent: Option<String>,
    /// Where it runs.
    pub host: Option<Value>,
    /// Its process.
    pub pid: Option<Value>,
    /// How its process ended.
    pub exit: ExitShape,
    /// Its bound, and how long it ran.
    pub timeout: TimeoutShape,
    /// What it promised and delivered.
    pub artifacts: ArtifactsShape,
    /// Everything else that was recorded.
    pub facts: BTreeMap<String, Value>,
    /// The fields that its kind adds. They are not part of the schema, where they would make every other field of the page's types
    /// one of any type.
    #[schema(ignore)]
    #[serde(flatten)]
    pub extras: BTreeMap<String, Value>,
}

/// A view, and the newest record that is in it.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize, ToSchema)]
#[schema(as = OneView)]
pub struct OneViewShape {
    /// The view.
    #[schema(inline)]
    #[serde(flatten)]
    pub view: ViewShape,
    /// Everything up to this record is in it.
    pub head: u64,
}

/// The state on all axes.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize, ToSchema)]
#[schema(as = NormalizedState)]
pub struct NormalizedStateShape {
    /// The recorded state.
    pub lifecycle: Option<String>,
    /// How it ended.
    pub outcome: Option<String>,
    /// What a run is doing.
    pub phase: Option<PhaseShape>,
    /// Is the runtime okay?
    pub health: Option<String>,
    /// Did it produce what it promised?
    pub delivery: Option<String>,
    /// How urgent it is.
    pub severity: String,
    /// How its badge is coloured.
    pub tone: String,
    /// Why, the recorded reasons first.
    pub reasons: Vec<ReasonShape>,
    /// When it was judged.
    pub evaluated_at: String,
    /// The policy that severity follows.
    pub policy_version: String,
    /// Who judged it.
    pub source: String,
}

/// What a run is doing while it has not ended.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize, ToSchema)]
#[schema(as = Phase)]
pub struct PhaseShape {
    /// What it is doing.
    #[schema(example = "stopping")]
    pub name: String,
    /// Since when, where that is known.
    pub since: Option<String>,
    /// Who asked for a stop, or what holds the process.
    pub by: Option<String>,
    /// More about it, in words.
    pub detail: Option<String>,
}

/// Why, with what shows it.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize, ToSchema)]
#[schema(as = Reason)]
pub struct ReasonShape {
    /// The registered code.
    #[schema(example = "run.failed.exit_nonzero")]
    pub code: String,
    /// What happened, in words.
    pub message: String,
    /// How sure it is.
    pub claim_status: String,
    /// From 0 to 1.
    pub confidence: f64,
    /// Where it can be seen.
    pub evidence: Vec<Value>,
}

/// How its process ended.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize, ToSchema)]
#[schema(as = Exit)]
pub struct ExitShape {
    /// The exit code.
    pub code: Option<Value>,
    /// The signal that ended it.
    pub signal: Option<Value>,
    /// Did memory run out?
    pub oom: Option<Value>,
    /// Did its own clock end it?
    pub timed_out: Option<bool>,
}

/// Its bound, and how long it ran.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize, ToSchema)]
#[schema(as = Timeout)]
pub struct TimeoutShape {
    /// The bound, in seconds.
    pub configured_s: Option<f64>,
    /// How long it ran, in seconds.
    pub elapsed_s: Option<f64>,
}

/// What it promised, where, and what became of it.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize, ToSchema)]
#[schema(as = Artifacts)]
pub struct ArtifactsShape {
    /// Where.
    pub dir: Option<Value>,
    /// What it promised.
    pub contract: Option<Value>,
    /// What was found.
    pub verification: Option<Value>,
}
