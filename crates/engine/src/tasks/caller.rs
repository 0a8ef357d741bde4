//! Acts on the task board for a surface: who calls decides as whom they act, and which tasks they may touch.
//!
//! Invariant: an agent touches only the task that its run works on, and decides nothing. A person who works by hand acts as a worker that
//! was joined in that person's name, never as a worker that is a process. An act with a key is recorded once, and its repetition is
//! told so. Deliberately absent: what an act means, which `holding`, `reporting` and `decisions` say; how a caller is
//! recognised, which each surface knows.

use callboard_kernel::{Actor, EntityId, Moment, RefusalCode, fact};
use callboard_ledger::{Ledger, Page, ReadError, Record, RecordScope, Stored};
use callboard_lifecycle::{ActorClass, Kind};

use super::asking::{Asking, TaskError, composed, unfit};
use super::holding::{Hold, id_in};
use super::new_task::task_id;

/// The longest sentence that is recorded of an act.
const SAID_BYTES_MAX: usize = 16 * 1024;

/// Who calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Caller {
    /// A person of this name.
    Person(String),
    /// Somebody who may only look.
    Viewer,
    /// The agent of this run.
    Agent(String),
}

/// Why an act was not done.
#[derive(Debug, thiserror::Error)]
pub enum ActError {
    /// The caller may not do it, whatever the state of the task is.
    #[error("{problem}")]
    NotAllowed {
        /// What is wrong.
        problem: String,
        /// What to do.
        help: String,
    },
    /// The caller does not hold the task.
    #[error("{problem}")]
    NotHeld {
        /// What is wrong.
        problem: String,
        /// What to do.
        help: String,
    },
    /// The key was used for something else.
    #[error("this idempotency key was used for another request")]
    KeyReused,
    /// The board did not do it.
    #[error(transparent)]
    Task(#[from] TaskError),
}

impl From<ReadError> for ActError {
    fn from(error: ReadError) -> Self {
        Self::Task(error.into())
    }
}

pub(crate) fn not_allowed(problem: impl Into<String>, help: impl Into<String>) -> ActError {
    ActError::NotAllowed { problem: problem.into(), help: help.into() }
}

/// Was an act done, or had it been done already under its key?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Performed {
    /// It was done.
    Now,
    /// The same request did it before.
    Before,
}

/// A caller at the board.
pub struct Acting<'a> {
    /// Where it is recorded.
    pub ledger: &'a Ledger,
    /// Who calls.
    pub caller: Caller,
    /// When.
    pub now: Moment,
    /// What makes a repeated request the same request.
    pub key: Option<String>,
    /// What is told in the records; compared when the key comes again.
    pub cause: Option<String>,
}

impl<'a> Acting<'a> {
    /// A caller without a key.
    pub const fn new(ledger: &'a Ledger, caller: Caller, now: Moment) -> Self {
        Self { ledger, caller, now, key: None, cause: None }
    }

    pub(crate) fn asking(&self, actor: Actor) -> Asking<'a> {
        Asking::new(self.ledger, actor, self.now).keyed(self.key.clone(), self.cause.clone())
    }

    /// A person decides.
    pub(crate) fn person(&self) -> Result<Asking<'a>, ActError> {
        match &self.caller {
            Caller::Person(name) => Ok(self.asking(Actor::new(ActorClass::Operator, name.as_str()))),
            Caller::Viewer => Err(only_looks()),
            Caller::Agent(_) => {
                Err(not_allowed("an agent cannot decide this", "ask a person, for example with a question"))
            }
        }
    }

    /// The task that the run of an agent works on; nothing for anybody else.
    pub fn own_task(&self) -> Result<Option<EntityId>, ActError> {
        let Caller::Agent(run) = &self.caller else { return Ok(None) };
        let Ok(id) = run.parse::<EntityId>() else { return Ok(None) };
        let Some(session) = self.ledger.entity(id)? else { return Ok(None) };
        let Some(turn) = id_in(&session, fact::PARENT).filter(|id| id.kind() == Kind::TaskTurn) else {
            return Ok(None);
        };
        let Some(turn) = self.ledger.entity(turn)? else { return Ok(None) };
        let Some(task) = id_in(&turn, fact::TASK) else { return Ok(None) };
        let stored = self.ledger.entity(task)?;
        Ok(stored.filter(|stored| works_on(run, stored)).map(|_| task))
    }

    /// The task that is meant: the one that is named, or the agent's own.
    pub fn meant(&self, named: Option<&str>) -> Result<EntityId, ActError> {
        match (named, self.own_task()?) {
            (Some(text), _) => Ok(task_id(text)?),
            (None, Some(own)) => Ok(own),
            (None, None) => Err(unfit("no task is named", "give the ID of a task").into()),
        }
    }

    /// A task that the caller may look at.
    pub fn look(&self, id: EntityId) -> Result<Stored, ActError> {
        let stored = self.task(id)?;
        match &self.caller {
            Caller::Person(_) | Caller::Viewer => Ok(stored),
            Caller::Agent(run) if works_on(run, &stored) => Ok(stored),
            Caller::Agent(_) => Err(another_task(id)),
        }
    }

    pub(super) fn task(&self, id: EntityId) -> Result<Stored, TaskError> {
        Asking::new(self.ledger, Actor::new(ActorClass::System, "board"), self.now).task(id)
    }

    /// The hold that the caller acts under, and as whom.
    pub(crate) fn hold(&self, id: EntityId, epoch: Option<u64>) -> Result<(Asking<'a>, Hold), ActError> {
        let stored = self.task(id)?;
        let asking = match &self.caller {
            Caller::Viewer => return Err(only_looks()),
            Caller::Agent(run) if works_on(run, &stored) => {
                self.asking(Actor::new(ActorClass::Agent, run.as_str()))
            }
            Caller::Agent(_) => return Err(another_task(id)),
            Caller::Person(name) => {
                let worker = id_in(&stored, fact::LEASE_HOLDER).ok_or_else(|| nobody(id))?;
                let is_own = self.ledger.entity(worker)?.is_some_and(|worker| is_joined_by(&worker, name));
                if !is_own {
                    let help = "leave it to that worker; a person can cancel the task";
                    return Err(not_allowed(format!("{worker} holds {id} and is not yours"), help));
                }
                self.asking(Actor::new(ActorClass::Worker, worker.to_string()))
            }
        };
        let held = asking.held(id)?.ok_or_else(|| nobody(id))?;
        let epoch = epoch.unwrap_or(held.epoch);
        Ok((asking, Hold { epoch, ..held }))
    }

    /// Does an act once: not at all if the same request did it before.
    pub(crate) fn once(
        &self,
        task: EntityId,
        act: impl FnMut() -> Result<(), ActError>,
    ) -> Result<Performed, ActError> {
        if self.is_repeated(task)? {
            return Ok(Performed::Before);
        }
        let is_refused = |error: &ActError| matches!(error, ActError::Task(error) if error.is_refused());
        match composed(self.ledger, is_refused, act) {
            Ok(()) => Ok(Performed::Now),
            // Of two who send the same request at once one finds it done.
            Err(ActError::Task(TaskError::Refused(refusal)))
                if matches!(refusal.code, RefusalCode::KeyReused | RefusalCode::Exists)
                    && self.is_repeated(task)? =>
            {
                Ok(Performed::Before)
            }
            Err(error) => Err(error),
        }
    }

    /// Did the same request leave a record of this entity?
    fn is_repeated(&self, id: EntityId) -> Result<bool, ActError> {
        let Some(key) = &self.key else { return Ok(false) };
        let page = Page { after: 0, limit: usize::MAX, scope: RecordScope::Entity(id) };
        let found = self.ledger.records(page)?.into_iter().find(|record| record.key.as_deref() == Some(key));
        found.map_or(Ok(false), |record| self.is_same(&record))
    }

    pub(super) fn is_same(&self, record: &Record) -> Result<bool, ActError> {
        let same = record.event().is_ok_and(|event| event.cause == self.cause);
        if same { Ok(true) } else { Err(ActError::KeyReused) }
    }
}

/// Does this run work on this task?
fn works_on(run: &str, stored: &Stored) -> bool {
    stored.entity.facts.read(fact::RUN) == Some(run)
}

/// Was this worker joined by this person, to work by hand?
pub(super) fn is_joined_by(worker: &Stored, name: &str) -> bool {
    let facts = &worker.entity.facts;
    facts.read(fact::BY) == Some(name) && facts.known(fact::SUPERVISOR).is_none()
}

pub(crate) fn only_looks() -> ActError {
    not_allowed("a viewer only looks", "use an operator's token")
}

fn nobody(id: EntityId) -> ActError {
    ActError::NotHeld { problem: format!("nobody holds {id}"), help: "claim it first".to_owned() }
}

fn another_task(id: EntityId) -> ActError {
    let help = "an agent works on the task of its own run; leave the others to their workers";
    not_allowed(format!("{id} is not the task of this run"), help)
}

/// A sentence that is recorded, or what is recorded without one.
pub(crate) fn said<'t>(given: Option<&'t str>, otherwise: &'t str) -> Result<&'t str, TaskError> {
    let text = given.map(str::trim).filter(|text| !text.is_empty()).unwrap_or(otherwise);
    if text.is_empty() {
        return Err(unfit("nothing is said", "say in a sentence what happened or why"));
    }
    if text.len() > SAID_BYTES_MAX {
        let problem = format!("{} bytes are more than the {SAID_BYTES_MAX} that are recorded", text.len());
        return Err(unfit(problem, "put the details into a file and name it"));
    }
    Ok(text)
}
