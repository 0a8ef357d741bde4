//! Declares every machine, reason code, guard and evidence kind as const tables, proved while compiling.
//!
//! Invariant: whatever is not in these tables cannot happen, in the kernel, in the API or in the database, because
//! all of them are derived from here. Deliberately absent: entities, time, storage, and any function that changes
//! a state; those belong to the kernel.

mod actor;
mod colour;
mod declare;
mod evidence;
mod fact;
mod guard;
mod kind;
mod lifecycle;
mod machine;
mod machines;
mod message;
mod outcome;
mod policy;
mod proof;
mod reason;
mod severity;
mod vocabulary;
mod word;

pub mod axes;
pub mod render;

pub use actor::{ActorClass, ActorSet};
pub use axes::{Delivery, Health, PhaseName};
pub use colour::{Colour, Icon, Token, TokenColours};
pub use evidence::{Evidence, EvidenceField, EvidenceSet};
pub use fact::{FACTS, FactDef};
pub use guard::{Guard, GuardBasis, GuardSet};
pub use lifecycle::{Lifecycle, Trigger};
pub use machine::{IllegalTransition, Machine, Nature, Need, Requirement, Row, StateDef, StateSet};
pub use machines::*;
pub use outcome::Outcome;
pub use policy::PolicyVersion;
pub use reason::{REASONS, ReasonCode, ReasonDef, Scope, reason};
pub use severity::{Severity, Tone};
pub use vocabulary::{Pill, Shown, TAXONOMIES, Taxonomy};
pub use word::{UnknownWord, Word, Words, nearest};

#[doc(hidden)]
pub mod declare_support {
    //! What the declaration macros expand to; not for direct use.
    pub use crate::machine::{set, settle, states};
    pub use crate::proof::prove;
    pub use serde;
}
