//! What goes in and what comes out, the same on every engine.

use callboard_kernel::{Actor, Command, Entity, EntityId, Moment};
use callboard_lifecycle::Kind;

use crate::moving::segment::Segment;
use crate::mutant;
use crate::proof::checkpoint::PublicKey;
use crate::record::{Hash, Record};
use crate::writing::body;
use crate::writing::claim::{Claim, ClaimQuery};
use crate::writing::group::{Group, Member};
use crate::writing::several::Several;
use crate::writing::ticket::Reply;

/// A command with who asks and when.
#[derive(Clone, Debug)]
pub struct Request {
    /// What is asked for.
    pub command: Command,
    /// Who asks.
    pub actor: Actor,
    /// When; the ledger never lets its time run backwards.
    pub now: Moment,
    /// What led to it.
    pub cause: Option<String>,
}

/// The answer to a command that was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The record, durable.
    pub record: Record,
    /// The same command had been recorded before, and this is its record.
    pub repeated: bool,
}

/// What was asked for at once, on its way through the writer: one command, or a group of them.
pub(crate) struct Job {
    pub(crate) parts: Several<Part>,
    /// Which task its commands are about, if that is picked in the transaction.
    pub(crate) claim: Option<ClaimQuery>,
    pub(crate) reply: Reply,
}

/// One command of a job; its body is encoded by the caller, not by the one writer.
pub(crate) struct Part {
    pub(crate) request: Request,
    pub(crate) body: String,
    /// Its place in its group; nothing if it is alone.
    pub(crate) member: Option<Member>,
}

impl Job {
    pub(crate) fn new(request: Request, reply: Reply) -> Self {
        Self { parts: Several::one(Part::new(request, None)), claim: None, reply }
    }

    /// A group; nothing if there is no command in it.
    pub(crate) fn group(group: Group, reply: Reply) -> Option<Self> {
        let of = group.len() as u32;
        let member = |at| (of > 1).then_some(Member { at, of });
        let requests = (0..).zip(group.into_requests());
        let parts = requests.map(|(at, request)| Part::new(request, member(at))).collect();
        Some(Self { parts: Several::of(parts)?, claim: None, reply })
    }

    /// A group about a task that is picked in the transaction.
    pub(crate) fn claim(claim: Claim, reply: Reply) -> Option<Self> {
        let group = Self::group(claim.group, reply)?;
        Some(Self { claim: Some(claim.query), ..group })
    }

    /// Is it found again by its key?
    pub(crate) const fn is_keyed(&self) -> bool {
        self.parts.first.request.command.key.is_some()
    }
}

impl Part {
    pub(crate) fn new(mut request: Request, member: Option<Member>) -> Self {
        if !mutant::removed("redact_words") {
            request.command = request.command.recordable();
        }
        let (reasons, data) = request.command.order.content();
        let body = body::encode(reasons, request.cause.as_deref(), data, member);
        Self { request, body, member }
    }
}

/// One entity with its place in the log.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// Everything its records say.
    pub entity: Entity,
    /// The record that put it into its state; its reasons are the entity's.
    pub state_seq: u64,
    /// Its newest record.
    pub last_seq: u64,
    /// The hash of its newest record.
    pub head: Hash,
}

impl Stored {
    /// An entity without a record.
    #[must_use]
    pub const fn unborn(id: EntityId) -> Self {
        Self { entity: Entity::unborn(id), state_seq: 0, last_seq: 0, head: Hash::GENESIS }
    }
}

/// Which entities a listing shows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Listing {
    /// Of this kind only.
    pub kind: Option<Kind>,
    /// Those that ended too.
    pub ended: bool,
    /// At most this many; 0 is no limit.
    pub limit: usize,
}

/// A piece of a long listing.
#[derive(Clone, Debug, Default)]
pub struct Slice {
    /// Of this kind only.
    pub kind: Option<Kind>,
    /// Only those that belong to this one.
    pub parent: Option<EntityId>,
    /// Only those that have not ended.
    pub live: bool,
    /// Which come first.
    pub order: Sequence,
    /// Where the piece before this one ended.
    pub beyond: Option<EntityId>,
    /// At most this many.
    pub limit: usize,
}

/// Which of two ids comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sequence {
    /// The newest.
    #[default]
    Newest,
    /// The oldest.
    Oldest,
}

/// How many entities stand in a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateCount {
    /// Their kind.
    pub kind: String,
    /// Their state.
    pub state: String,
    /// How many.
    pub count: u64,
}

/// Which records a page shows.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    /// After this sequence number.
    pub after: u64,
    /// At most this many.
    pub limit: usize,
    /// Of this entity only.
    pub scope: RecordScope,
}

/// Whose records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordScope {
    /// Everybody's.
    All,
    /// One entity's.
    Entity(EntityId),
}

/// What a store says of itself.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Info {
    /// The engine and its version.
    pub engine: String,
    /// The format of the store.
    pub format: i64,
    /// How many records it has.
    pub records: u64,
    /// How many entities.
    pub entities: u64,
    /// How many of them have not ended.
    pub live: u64,
    /// How many checkpoints.
    pub checkpoints: u64,
    /// Bytes on disk.
    pub bytes: u64,
    /// The public keys that sign its checkpoints, the first one first.
    pub keys: Vec<PublicKey>,
    /// The parts of the log that were archived, in order.
    pub segments: Vec<Segment>,
}
