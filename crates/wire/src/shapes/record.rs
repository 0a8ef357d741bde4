//! One record of the log as surfaces show it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::ReasonShape;

/// One record of the log.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize, ToSchema)]
#[schema(as = Record)]
pub struct RecordShape {
    /// Its number in the log.
    pub seq: u64,
    /// When it was decided.
    pub at: String,
    /// The entity.
    pub entity: EntityRefShape,
    /// How many records the entity has with it.
    pub version: u64,
    /// What sort of event it is.
    pub r#type: String,
    /// Who may read it: replay or audit.
    pub channel: String,
    /// The state before.
    pub from: Option<String>,
    /// The state after.
    pub to: String,
    /// What caused a transition.
    pub trigger: Option<String>,
    /// Who asked for it.
    pub actor: ActorRefShape,
    /// Why.
    pub reasons: Vec<ReasonShape>,
    /// What led to it.
    pub cause: Option<String>,
    /// Its idempotency key.
    pub key: Option<String>,
    /// The facts that were recorded with it.
    pub data: BTreeMap<String, Value>,
    /// The guards that held, where the row has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guards: Option<Vec<String>>,
    /// Which of how many records of its group it is; absent if it was recorded alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupMemberShape>,
    /// The hash over the chain of its entity.
    pub hash: String,
}

/// A place in a group of records that were recorded together.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize, ToSchema)]
#[schema(as = GroupMember)]
pub struct GroupMemberShape {
    /// Counted from 0.
    pub at: u32,
    /// How many there are.
    pub of: u32,
}

/// An entity by name.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize, ToSchema)]
#[schema(as = EntityRef)]
pub struct EntityRefShape {
    /// Its kind.
    pub kind: String,
    /// Its id.
    pub id: String,
}

/// Who asked for it.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize, ToSchema)]
#[schema(as = ActorRef)]
pub struct ActorRefShape {
    /// The class of the actor.
    pub r#type: String,
    /// Its name.
    pub id: String,
}
