//! The answers to guards: from what is recorded of the entity, or from what the sender of the command saw.
//!
//! Invariant: whatever does not answer a guard refuses; no guard holds because nobody looked. Deliberately absent: looking.
//! Nothing here reads the process table.

use callboard_lifecycle::Guard;
use callboard_lifecycle::task::TaskState;

use crate::command::Transition;
use crate::context::{Context, FilesInUse};
use crate::entity::Entity;
use crate::fact;
use crate::facts::Facts;
use crate::lease::{HeldLease, LeaseState};
use crate::question;
use crate::task;

/// How often a task is tried again unless its own record says otherwise.
pub const RETRIES_MAX: i64 = 3;

/// What the sender of a command saw beside the log, for the guards to ask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Testimony {
    /// The supervisor of a run; nothing if nobody looked.
    pub supervisor: Option<SupervisorSeen>,
    /// How the subtasks of a task stand; nothing if nobody looked.
    pub subtasks: Option<SubtasksSeen>,
}

/// How the subtasks of a task stood when somebody looked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubtasksSeen {
    /// Those that are verified and merged.
    pub closed: u32,
    /// All of them.
    pub all: u32,
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
        Guard::HeldByActor => held(&entity.facts, context),
        Guard::LeaseExpired => expired(context),
        Guard::DependenciesMet => dependencies(&entity.facts, entity),
        Guard::Due => due(&entity.facts, context),
        Guard::FilesFree => files(entity, context),
        Guard::SubtasksSettled => subtasks(testimony),
        Guard::HasNextMove => next_move(entity, order),
        Guard::AnswerOffered => offered(entity, order),
        Guard::MayAnswer => may_answer(&entity.facts, context),
        Guard::DefaultDue => default_due(entity, order, context),
        Guard::AskedByActor => asked_by(&entity.facts, context),
    }
}

fn offered(entity: &Entity, order: &Transition) -> GuardAnswer {
    match question::not_offered(&entity.facts, order.data.read(fact::ANSWER)) {
        None => GuardAnswer::Holds,
        Some(because) => GuardAnswer::Fails {
            because,
            help: format!("see what it offers: callboard answer {}", entity.state.id),
        },
    }
}

fn may_answer(facts: &Facts, context: &Context<'_>) -> GuardAnswer {
    let who = question::answerers(facts);
    if who.is_empty() || who.contains(&context.actor.id.as_str()) {
        return GuardAnswer::Holds;
    }
    GuardAnswer::Fails {
        because: format!("only {} may answer it", who.join(", ")),
        help: "leave it to them".to_owned(),
    }
}

fn default_due(entity: &Entity, order: &Transition, context: &Context<'_>) -> GuardAnswer {
    let fails = |because| GuardAnswer::Fails {
        because,
        help: format!("let a person answer it: callboard answer {}", entity.state.id),
    };
    match question::default_due(&entity.facts, context.now) {
        Err(because) => fails(because),
        Ok(default) if default.as_deref() == order.data.read(fact::ANSWER) => GuardAnswer::Holds,
        Ok(_) => fails("the command records another answer than its default".to_owned()),
    }
}

fn asked_by(facts: &Facts, context: &Context<'_>) -> GuardAnswer {
    if facts.read(fact::ASKED_BY) == Some(context.actor.id.as_str()) {
        return GuardAnswer::Holds;
    }
    GuardAnswer::Fails {
        because: format!("{} did not ask it", context.actor.id),
        help: "leave it to whoever asked, or answer it".to_owned(),
    }
}

fn dependencies(facts: &Facts, entity: &Entity) -> GuardAnswer {
    match task::unmet_told(facts) {
        None => GuardAnswer::Holds,
        Some(told) => GuardAnswer::Fails {
            because: format!("it waits for {told}"),
            help: format!("see what it waits for: callboard task show {}", entity.state.id),
        },
    }
}

fn due(facts: &Facts, context: &Context<'_>) -> GuardAnswer {
    match facts.read(fact::NOT_BEFORE).filter(|at| *at > context.now) {
        None => GuardAnswer::Holds,
        Some(at) => GuardAnswer::Fails {
            because: format!("it is not to be tried before {at}"),
            help: "wait until then, or claim another one".to_owned(),
        },
    }
}

fn files(entity: &Entity, context: &Context<'_>) -> GuardAnswer {
    let wanted = task::files(&entity.facts);
    let held = match context.files {
        _ if wanted.is_empty() => return GuardAnswer::Holds,
        FilesInUse::NotAsked => {
            return GuardAnswer::Unanswered {
                help: "send the command to a store, which knows the files in use",
            };
        }
        FilesInUse::Held(held) => held,
    };
    let others = held.iter().filter(|(id, _)| *id != entity.state.id);
    let mut taken = others.filter(|(_, path)| wanted.iter().any(|wanted| task::overlap(wanted, path)));
    match taken.next() {
        None => GuardAnswer::Holds,
        Some((holder, path)) => GuardAnswer::Fails {
            because: format!("{holder} is under way and holds {path}"),
            help: format!("wait until that task is merged or given up: callboard task show {holder}"),
        },
    }
}

fn subtasks(testimony: &Testimony) -> GuardAnswer {
    match testimony.subtasks {
        Some(SubtasksSeen { closed, all }) if closed == all && all > 0 => GuardAnswer::Holds,
        Some(SubtasksSeen { closed, all }) => GuardAnswer::Fails {
            because: format!("{closed} of its {all} subtasks are closed"),
            help: "wait for the others, or cancel it".to_owned(),
        },
        None => GuardAnswer::Unanswered { help: "look how its subtasks stand, as the service subtasks does" },
    }
}

/// The facts after the command say who moves the task on; of a claim that is the holder whose lease it grants.
fn next_move(entity: &Entity, order: &Transition) -> GuardAnswer {
    let mut facts = entity.facts.clone();
    facts.merge(&order.data);
    let named = match order.to.and_then(task::of) {
        Some(TaskState::Claimed | TaskState::InProgress) => order.data.read(fact::LEASE_HOLDER).is_some(),
        Some(to) => task::next_move(to, &facts).is_some(),
        None => false,
    };
    if named {
        return GuardAnswer::Holds;
    }
    GuardAnswer::Fails {
        because: "nobody and nothing is named that would move it on".to_owned(),
        help: "claim it with a lease, say what it is blocked by, or name its subtasks".to_owned(),
    }
}

const ASK_THE_STORE: GuardAnswer =
    GuardAnswer::Unanswered { help: "send the command to a store, which knows who holds the lease" };

/// The agent in the run that the holder started acts for the holder.
fn held(facts: &Facts, context: &Context<'_>) -> GuardAnswer {
    let is_its_run = facts.read(fact::RUN) == Some(context.actor.id.as_str());
    let because = match context.lease {
        LeaseState::NotAsked => return ASK_THE_STORE,
        LeaseState::Held(lease) if lease.holder == context.actor.id || is_its_run => {
            return GuardAnswer::Holds;
        }
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
