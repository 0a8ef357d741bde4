//! A record: one line of the log as it is stored.
//!
//! Invariant: a record is text and bytes first, so that what a newer program wrote survives a round trip unread; its
//! hash covers every stored byte and the hash of the record before it in the same entity. Deliberately absent:
//! judging whether it is legal; the kernel's `apply` does that when it is folded.

use callboard_kernel::{Actor, Channel, EntityId, Event, EventType, Moment};
use callboard_lifecycle::{Kind, Lifecycle, Trigger, Words};
use serde::{Serialize, Serializer};
use uuid::Uuid;

use crate::writing::body::Body;
use crate::writing::group::Member;

/// The hash of a record, over its bytes and the hash before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Hash(pub [u8; 32]);

impl Hash {
    /// Before the first record of an entity.
    pub const GENESIS: Self = Self([0; 32]);

    /// Reads 32 bytes; anything else is no hash.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// Reads 64 hexadecimal digits.
    pub(crate) fn from_hex(text: &str) -> Option<Self> {
        let digits: Vec<u8> =
            text.chars().map(|c| c.to_digit(16).map(|digit| digit as u8)).collect::<Option<_>>()?;
        let (pairs, rest) = digits.as_chunks::<2>();
        let bytes: Vec<u8> = pairs.iter().map(|[high, low]| high << 4 | low).collect();
        if rest.is_empty() { Self::of(&bytes) } else { None }
    }
}

impl std::fmt::Display for Hash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// One record of the log, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its place in the log; commit order, without gaps.
    pub seq: u64,
    /// The entity.
    pub entity: Uuid,
    /// The kind of the entity.
    pub kind: String,
    /// The entity's version that it makes.
    pub version: u64,
    /// When it was decided.
    pub at: Moment,
    /// What sort of fact it is.
    pub event_type: String,
    /// Who gets to see it again.
    pub channel: String,
    /// The state before; empty at creation.
    pub from_state: String,
    /// The trigger, or `created`, `observed` or `entry`.
    pub via: String,
    /// The state after.
    pub to_state: String,
    /// The class of who asked.
    pub actor_type: String,
    /// Who asked.
    pub actor_id: String,
    /// The idempotency key.
    pub key: Option<String>,
    /// Reasons, cause, data, its place in its group, and guards.
    pub body: String,
    /// The hash.
    pub hash: Hash,
}

/// Something stored that this program cannot understand.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// A word it does not know.
    #[error(transparent)]
    Word(#[from] callboard_lifecycle::UnknownWord),
    /// A body that is no JSON, or not the JSON it should be.
    #[error("a body cannot be read")]
    Body(#[from] serde_json::Error),
    /// A value of the wrong size.
    #[error("{0} has the wrong size")]
    Size(&'static str),
}

impl Record {
    /// The record of an event; `body` is its encoded body. The hash is yet to be computed.
    pub(crate) fn of(seq: u64, event: &Event, body: String) -> Self {
        Self {
            seq,
            entity: event.entity.uuid(),
            kind: event.entity.kind().name().to_owned(),
            version: event.version,
            at: event.at,
            event_type: event.kind.name().to_owned(),
            channel: event.channel.name().to_owned(),
            from_state: event.from.map_or("", Lifecycle::name).to_owned(),
            via: via(event).to_owned(),
            to_state: event.to.name().to_owned(),
            actor_type: event.actor.class.name().to_owned(),
            actor_id: event.actor.id.clone(),
            key: event.key.clone(),
            body,
            hash: Hash::GENESIS,
        }
    }

    /// The hash this record must have after `before`.
    pub fn hash_after(&self, before: Hash, scratch: &mut Vec<u8>) -> Hash {
        self.borrowed().hash_after(before, scratch)
    }

    /// Which of how many records of its group it is; nothing if it was recorded alone.
    pub fn member(&self) -> Result<Option<Member>, Unreadable> {
        Member::of_body(&self.body)
    }

    /// The id of the entity, if this program knows its kind.
    pub fn id(&self) -> Result<EntityId, Unreadable> {
        Ok(EntityId::new(Kind::parse(&self.kind)?, self.entity))
    }

    /// The event, if this program knows everything in it.
    pub fn event(&self) -> Result<Event, Unreadable> {
        let id = self.id()?;
        let kind = EventType::parse(&self.event_type)?;
        let body = Body::parse(&self.body)?;
        let trigger = match kind {
            EventType::Transitioned => Some(Trigger::parse(id.kind(), &self.via)?),
            EventType::Created | EventType::Observed | EventType::Entry => None,
        };
        let from = match self.from_state.as_str() {
            "" => None,
            name => Some(Lifecycle::parse(id.kind(), name)?),
        };
        Ok(Event {
            entity: id,
            version: self.version,
            at: self.at,
            kind,
            channel: Channel::parse(&self.channel)?,
            from,
            to: Lifecycle::parse(id.kind(), &self.to_state)?,
            trigger,
            actor: Actor::new(self.actor_type.parse()?, self.actor_id.as_str()),
            reasons: body.reasons()?,
            data: body.data()?,
            // What the record does to its entity does not depend on them, so a guard of a newer program is left out.
            guards: body.guards().unwrap_or_default(),
            cause: body.cause,
            key: self.key.clone(),
        })
    }
}

/// What stands in the column that the legal edges are checked by.
fn via(event: &Event) -> &'static str {
    match (event.kind, event.trigger) {
        (EventType::Transitioned, Some(trigger)) => trigger.name(),
        (kind, _) => kind.name(),
    }
}

impl Serialize for Record {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        use serde::ser::{Error, SerializeStruct};
        let body = Body::parse(&self.body).map_err(S::Error::custom)?;
        let created = self.via == self.event_type;
        let id = self.id().map_or_else(|_| self.entity.to_string(), |id| id.to_string());
        let more = usize::from(body.guards.is_some()) + usize::from(body.group.is_some());
        let mut fields = to.serialize_struct("Record", 15 + more)?;
        fields.serialize_field("seq", &self.seq)?;
        fields.serialize_field("at", &self.at)?;
        fields.serialize_field("entity", &Entity { kind: &self.kind, id })?;
        fields.serialize_field("version", &self.version)?;
        fields.serialize_field("type", &self.event_type)?;
        fields.serialize_field("channel", &self.channel)?;
        fields.serialize_field("from", &(!self.from_state.is_empty()).then_some(&self.from_state))?;
        fields.serialize_field("to", &self.to_state)?;
        fields.serialize_field("trigger", &(!created).then_some(&self.via))?;
        fields.serialize_field("actor", &ActorRef { class: &self.actor_type, id: &self.actor_id })?;
        match body.reasons {
            Some(raw) => fields.serialize_field("reasons", raw)?,
            None => fields.serialize_field("reasons", &[(); 0])?,
        }
        fields.serialize_field("cause", &body.cause)?;
        fields.serialize_field("key", &self.key)?;
        match body.data {
            Some(raw) => fields.serialize_field("data", raw)?,
            None => fields.serialize_field("data", &callboard_kernel::Facts::none())?,
        }
        if let Some(member) = &body.group {
            fields.serialize_field("group", member)?;
        }
        if let Some(raw) = body.guards {
            fields.serialize_field("guards", raw)?;
        }
        fields.serialize_field("hash", &self.hash.to_string())?;
        fields.end()
    }
}

#[derive(Serialize)]
struct Entity<'a> {
    kind: &'a str,
    id: String,
}

#[derive(Serialize)]
struct ActorRef<'a> {
    #[serde(rename = "type")]
    class: &'a str,
    id: &'a str,
}
