//! The answers to guards: from what is recorded of the entity, or from what the sender of the command saw.
//!
//! Invariant: whatever does not answer a guard refuses; no guard holds because nobody looked. Deliberately absent: looking.
//! Nothing here reads the process table.

use callboard_lifecycle::Guard;

use crate::command::Transition;
use crate::context::Context;
use crate::entity::Entity;
use crate::fact;
use crate::facts::Facts;
use crate::lease::{HeldLease, LeaseState};

/// How often a task is tried again unless its own record says otherwise.
pub const RETRIES_MAX: i64 = 3;

/// What the sender of a command saw beside the log, for the guards to ask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Testimony {
    /// The supervisor of a run; nothing if nobody looked.
    pub supervisor: Option<SupervisorSeen>,
}

/// What a look for the supervisor of a run showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SupervisorSeen {
    /// It is there and will record the end.
    Alive {
        /// Its pid.
        pid: u32,
    },
    /// Nobody is known to be there who would.
    Absent,
}

/// The answer to a guard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GuardAnswer {
    /// It holds.
    Holds,
    /// It does not hold.
    Fails {
        /// Why not.
        because: String,
        /// What to do.
        help: String,
    },
    /// Nothing that was given answers it.
    Unanswered {
        /// What is missing, and who can bring it.
        help: &'static str,
    },
}

/// Asks a guard about a move of an entity.
pub fn ask(
    guard: Guard,
    entity: &Entity,
    order: &Transition,
    testimony: &Testimony,
    context: &Context<'_>,
) -> GuardAnswer {
    match guard {
        Guard::NoLivingSupervisor => supervisor(entity, testimony),
        Guard::RetriesLeft => retries(&entity.facts, &order.data),
        Guard::HeldByActor => held(context),
        Guard::LeaseExpired => expired(context),
    }
}

const ASK_THE_STORE: GuardAnswer =
    GuardAnswer::Unanswered { help: "send the command to a store, which knows who holds the lease" };

fn held(context: &Context<'_>) -> GuardAnswer {
    let because = match context.lease {
        LeaseState::NotAsked => return ASK_THE_STORE,
        LeaseState::Held(lease) if lease.holder == context.actor.id => return GuardAnswer::Holds,
        LeaseState::Held(HeldLease { holder, epoch, until }) => {
            format!("{holder} holds its lease (epoch {epoch}) until {until}")
        }
        LeaseState::Free => "nobody holds its lease".to_owned(),
    };
    GuardAnswer::Fails {
        because,
        help: "claim it, which grants its lease, and send the command then".to_owned(),
    }
}

fn expired(context: &Context<'_>) -> GuardAnswer {
    match context.lease {
        LeaseState::NotAsked => ASK_THE_STORE,
        LeaseState::Free => GuardAnswer::Holds,
        LeaseState::Held(HeldLease { holder, epoch, until }) => GuardAnswer::Fails {
            because: format!("{holder} holds its lease (epoch {epoch}) until {until}"),
            help: "wait until the lease has ended and was not renewed".to_owned(),
        },
    }
}

fn supervisor(entity: &Entity, testimony: &Testimony) -> GuardAnswer {
    match testimony.supervisor {
        Some(SupervisorSeen::Absent) => GuardAnswer::Holds,
        Some(SupervisorSeen::Alive { pid }) => GuardAnswer::Fails {
            because: format!("its supervisor (pid {pid}) is alive and records its end"),
            help: format!("ask it to stop: callboard stop {}", entity.state.id),
        },
        None => GuardAnswer::Unanswered {
            help: "look whether its supervisor is alive, as callboard transition and callboard reap do",
        },
    }
}

fn retries(recorded: &Facts, asked: &Facts) -> GuardAnswer {
    let used = recorded.read(fact::RETRIES).unwrap_or(0);
    let most = recorded.read(fact::RETRIES_MAX).unwrap_or(RETRIES_MAX);
    let next = used.saturating_add(1);
    if used >= most {
        GuardAnswer::Fails {
            because: format!("it was tried again {used} times, and its limit is {most}"),
            help: "let an operator decide whether it is opened once more".to_owned(),
        }
    } else if asked.read(fact::RETRIES) != Some(next) {
        GuardAnswer::Fails {
            because: format!("the command does not record that this is retry {next}"),
            help: format!("send the fact retries: {next} in the command's data"),
        }
    } else {
        GuardAnswer::Holds
    }
}
