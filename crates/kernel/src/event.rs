//! Events: facts that were decided, as the ledger keeps them.
//!
//! Invariant: an event says everything a replay needs; the ledger adds only its place in the log and its hash.
//! Deliberately absent: sequence numbers and hashes, which are the ledger's.

use callboard_lifecycle::{GuardSet, Lifecycle, Trigger, words};
use serde::{Serialize, Serializer};

use crate::actor::Actor;
use crate::facts::Facts;
use crate::id::EntityId;
use crate::moment::Moment;
use crate::reason::StateReason;

words! {
    /// What sort of fact an event is.
    pub enum EventType is "event type" {
        /// An entity came to be.
        Created = "created",
        /// An entity went from one state to another.
        Transitioned = "transitioned",
        /// Something was seen that does not move the state.
        Observed = "observed",
        /// A piece of a conversation.
        Entry = "entry",
    }
}

words! {
    /// Who gets to see an event again. What is never kept is no event and has no channel: see `EphemeralEvent`.
    pub enum Channel is "channel" {
        /// It may reach a model again.
        Replay = "replay",
        /// It is kept and never reaches a model.
        Audit = "audit",
    }
}

impl EventType {
    /// Does an event of this type put its entity into a state?
    pub const fn enters_a_state(self) -> bool {
        match self {
            Self::Created | Self::Transitioned => true,
            Self::Observed | Self::Entry => false,
        }
    }
}

/// One decided fact about one entity.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// The entity.
    pub entity: EntityId,
    /// The entity's version that this event makes; the first is 1, and there are no gaps.
    pub version: u64,
    /// When it was decided.
    pub at: Moment,
    /// What sort of fact it is.
    pub kind: EventType,
    /// Who gets to see it again.
    pub channel: Channel,
    /// The state before; `None` at creation.
    pub from: Option<Lifecycle>,
    /// The state after.
    pub to: Lifecycle,
    /// What caused the move.
    pub trigger: Option<Trigger>,
    /// Who asked.
    pub actor: Actor,
    /// Why.
    pub reasons: Vec<StateReason>,
    /// The event or command that led to this one.
    pub cause: Option<String>,
    /// The idempotency key of the command.
    pub key: Option<String>,
    /// What else was recorded.
    pub data: Facts,
    /// The guards that held.
    pub guards: GuardSet,
}

/// An entity by kind and id, as records show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct EntityRef {
    /// The kind.
    pub kind: callboard_lifecycle::Kind,
    /// The id.
    pub id: EntityId,
}

impl From<EntityId> for EntityRef {
    fn from(id: EntityId) -> Self {
        Self { kind: id.kind(), id }
    }
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let mut fields = to.serialize_struct("Event", if self.guards.is_empty() { 13 } else { 14 })?;
        fields.serialize_field("at", &self.at)?;
        fields.serialize_field("entity", &EntityRef::from(self.entity))?;
        fields.serialize_field("version", &self.version)?;
        fields.serialize_field("type", &self.kind)?;
        fields.serialize_field("channel", &self.channel)?;
        fields.serialize_field("from", &self.from)?;
        fields.serialize_field("to", &self.to)?;
        fields.serialize_field("trigger", &self.trigger)?;
        fields.serialize_field("actor", &self.actor)?;
        fields.serialize_field("reasons", &self.reasons)?;
        fields.serialize_field("cause", &self.cause)?;
        fields.serialize_field("key", &self.key)?;
        fields.serialize_field("data", &self.data)?;
        if !self.guards.is_empty() {
            fields.serialize_field("guards", &self.guards)?;
        }
        fields.end()
    }
}
