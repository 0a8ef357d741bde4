//! Ids, commands, events and the three-axis state; `decide` and `apply`, pure.
//!
//! Invariant: no other code compares states. Nothing here reads a clock, a file or the process table: time, facts
//! and what the store holds come in as arguments, so that a replay sees exactly what the first run saw.

mod actor;
mod apply;
mod chain;
mod command;
mod context;
mod decide;
mod entity;
mod entry;
mod event;
mod facts;
mod guard;
mod id;
mod lease;
mod moment;
mod normalize;
mod phase;
mod printable;
mod reason;
mod refusal;
mod severity;
mod way;

pub mod abort;
pub mod fact;
pub mod health;
pub mod question;
pub mod redact;
pub mod task;
pub mod timeout;

pub use actor::Actor;
pub use apply::{Misfit, State, apply};
pub use chain::{Chain, Effective};
pub use command::{Command, Create, Observe, Order, Transition};
pub use context::{Context, FilesInUse, Guarding, Limits, Policy};
pub use decide::{Decision, decide};
pub use entity::Entity;
pub use entry::{AuditEntry, Entry, EntryType, EphemeralEvent, ReplayEntry, has_conversation};
pub use event::{Channel, EntityRef, Event, EventType};
pub use fact::Fact;
pub use facts::{Facts, Value};
pub use guard::{GuardAnswer, RETRIES_MAX, SubtasksSeen, SupervisorSeen, Testimony, ask as ask_guard};
pub use id::{BadId, EntityId};
pub use lease::{HeldLease, LeaseChange, LeaseState, LeaseTerms};
pub use moment::Moment;
pub use normalize::{Axes, NormalizedState, Source, normalize};
pub use phase::{Phase, phase};
pub use printable::{escaped_json, is_steering, one_line};
pub use reason::{Confidence, EvidenceRef, Flaw, StateReason};
pub use refusal::{Refusal, RefusalCode};
pub use severity::{Signal, claim_severity, severity};
pub use way::{TurnGoal, turn_state, turn_way, worker_state, worker_way};
