//! Refusals: the kernel's no, as data that is part of the API.
//!
//! Invariant: a refusal says what was tried, what is allowed from here, and what to do next; nothing was changed.
//! Deliberately absent: errors of the world (a full disk, a lost connection); those are not the kernel's.

use std::fmt;

use callboard_lifecycle::{Guard, Lifecycle, words};
use serde::Serialize;

use crate::event::EntityRef;

words! {
    /// Why a command was refused.
    pub enum RefusalCode is "refusal" {
        /// No such entity.
        NotFound = "not_found",
        /// The entity exists already.
        Exists = "exists",
        /// It cannot begin in that state.
        BadStart = "bad_start",
        /// The command speaks of another kind's state or trigger.
        WrongKind = "wrong_kind",
        /// It has ended; nothing a program does leads out.
        Ended = "ended",
        /// No row leads there.
        IllegalEdge = "illegal_edge",
        /// The trigger does not lead there.
        WrongTrigger = "wrong_trigger",
        /// The row is for others.
        NotPermitted = "not_permitted",
        /// A transition needs a reason.
        ReasonRequired = "reason_required",
        /// The reason does not explain this move.
        ReasonNotAllowed = "reason_not_allowed",
        /// The reason is flawed by itself.
        ReasonFlawed = "reason_flawed",
        /// The move needs evidence of a certain kind.
        EvidenceRequired = "evidence_required",
        /// A guard of the row does not hold.
        GuardFailed = "guard_failed",
        /// A guard of the row was not answered.
        GuardUnanswered = "guard_unanswered",
        /// The state requires facts that were not given.
        FactRequired = "fact_required",
        /// The lease that the command rests on is not in force.
        LeaseLost = "lease_lost",
        /// Somebody else holds the lease that was asked for.
        LeaseHeld = "lease_held",
        /// No task is there that the claim may get.
        NothingOffered = "nothing_offered",
        /// The entry is of another turn than the one its agent is in.
        WrongTurn = "wrong_turn",
        /// The entity has another version.
        VersionConflict = "version_conflict",
        /// The key was used for something else.
        KeyReused = "key_reused",
        /// The command is larger than the limits allow.
        TooLarge = "too_large",
    }
}

/// Why a command was refused, and what to do.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Refusal {
    /// Which rule said no.
    pub code: RefusalCode,
    /// What was tried and why it cannot be.
    pub message: String,
    /// The entity it was about.
    pub entity: EntityRef,
    /// The state it is in.
    pub from: Option<Lifecycle>,
    /// The state that was asked for.
    pub to: Option<Lifecycle>,
    /// The states that can be reached from here.
    pub allowed: Vec<&'static str>,
    /// The guard that stands in the way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guard: Option<Guard>,
    /// What to do next.
    pub help: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Refusal {}
