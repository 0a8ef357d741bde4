//! Whoever asks for something on the task board, and why it was not done.

use std::time::Duration;

use callboard_kernel::question::RuleKey;
use callboard_kernel::task::{self, NextMove};
use callboard_kernel::{
    Actor, Command, Create, EntityId, EvidenceRef, Facts, LeaseTerms, Moment, Observe, Order, Refusal,
    StateReason, Transition,
};
use callboard_ledger::{AppendError, Fault, Group, GroupError, Ledger, ReadError, Receipt, Request, Stored};
use callboard_lifecycle::task::{TaskState, TaskTrigger};
use callboard_lifecycle::{ActorClass, Kind, Lifecycle, ReasonCode, Trigger};

use super::reporting::retry::PAUSE;
use crate::ids::{id_of_key, new_id};

/// Who asks, of which store, and when.
#[derive(Clone)]
pub struct Asking<'a> {
    /// Where it is recorded.
    pub ledger: &'a Ledger,
    /// Who asks.
    pub actor: Actor,
    /// When.
    pub now: Moment,
    /// The pause before the first retry of a failed task; each further one is twice as long.
    pub retry_pause: Duration,
    /// What makes a repeated request the same request.
    pub(crate) key: Option<String>,
    /// What is told in the records of why they were made.
    pub(super) cause: Option<String>,
    /// The standing rule that an answer is to become.
    pub(crate) rule: Option<RuleKey>,
    /// Names what comes to be.
    name: NewId,
}

/// Names an entity that comes to be at a moment.
pub type NewId = fn(Kind, Moment) -> EntityId;

/// Why something was not done on the task board.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    /// What was asked for cannot be.
    #[error("{problem}")]
    Unfit {
        /// What is wrong.
        problem: String,
        /// What to do.
        help: String,
    },
    /// There is no such task.
    #[error("there is no {kind} {id}", kind = id.kind())]
    NotFound {
        /// What was looked for.
        id: EntityId,
    },
    /// The kernel said no.
    #[error(transparent)]
    Refused(Box<Refusal>),
    /// The store failed.
    #[error("the store did not record it")]
    Store(#[source] Fault),
    /// The store could not be read.
    #[error("the store could not be read")]
    Read(#[from] ReadError),
}

impl TaskError {
    /// Did the kernel say no?
    pub const fn is_refused(&self) -> bool {
        matches!(self, Self::Refused(_))
    }
}

impl From<GroupError> for TaskError {
    fn from(error: GroupError) -> Self {
        match error {
            GroupError::Refused { refusal, .. } => Self::Refused(refusal),
            GroupError::Fault(fault) => Self::Store(fault),
        }
    }
}

impl From<AppendError> for TaskError {
    fn from(error: AppendError) -> Self {
        match error {
            AppendError::Refused(refusal) => Self::Refused(refusal),
            AppendError::Fault(fault) => Self::Store(fault),
        }
    }
}

pub(crate) fn unfit(problem: impl Into<String>, help: impl Into<String>) -> TaskError {
    TaskError::Unfit { problem: problem.into(), help: help.into() }
}

/// How often an act is composed before a refusal is believed.
const COMPOSED_MAX: usize = 4;

/// Does something that is composed of what was read. What is refused although something was recorded meanwhile is composed again: an
/// agent reports while its worker leads the turn along.
pub fn composed<T, E>(
    ledger: &Ledger,
    is_refused: impl Fn(&E) -> bool,
    mut act: impl FnMut() -> Result<T, E>,
) -> Result<T, E> {
    for _ in 1..COMPOSED_MAX {
        let head = ledger.head().ok();
        match act() {
            Err(error) if is_refused(&error) && ledger.head().ok() != head => {}
            done => return done,
        }
    }
    act()
}

impl<'a> Asking<'a> {
    /// Somebody who asks.
    pub const fn new(ledger: &'a Ledger, actor: Actor, now: Moment) -> Self {
        Self { ledger, actor, now, key: None, cause: None, retry_pause: PAUSE, name: new_id, rule: None }
    }

    /// The same under an idempotency key: an act is recorded once. The records tell the cause.
    #[must_use]
    pub fn keyed(mut self, key: Option<String>, cause: Option<String>) -> Self {
        (self.key, self.cause) = (key, cause);
        self
    }

    /// The same, whose answer becomes a standing rule.
    pub(crate) fn making_rule(&self, rule: RuleKey) -> Self {
        Self { rule: Some(rule), ..self.clone() }
    }

    /// A new id, or the one that belongs to the key.
    pub(crate) fn fresh_id(&self, kind: Kind) -> EntityId {
        self.key.as_ref().map_or_else(|| (self.name)(kind, self.now), |key| id_of_key(kind, key))
    }

    /// The same with other names for what comes to be, so that a simulation gives the same ones each time.
    #[must_use]
    pub fn naming(self, name: NewId) -> Self {
        Self { name, ..self }
    }

    /// The nth of several that come to be at once and keep their order.
    pub(super) fn nth_id(&self, kind: Kind, nth: usize) -> EntityId {
        (self.name)(kind, self.now.plus(Duration::from_millis(nth as u64)))
    }

    /// The system itself, acting beside whoever asks, under a name that says why.
    pub(crate) fn system(&self, name: &str) -> Self {
        // The key belongs to what was asked for, not to what follows from it.
        Self { actor: Actor::new(ActorClass::System, name), key: None, rule: None, ..self.clone() }
    }

    /// The same under another actor.
    #[must_use]
    pub fn acting_as(&self, actor: Actor) -> Self {
        Self { actor, ..self.clone() }
    }

    /// A task as it stands.
    pub fn task(&self, id: EntityId) -> Result<Stored, TaskError> {
        self.stored(id, Kind::Task)
    }

    pub(crate) fn stored(&self, id: EntityId, kind: Kind) -> Result<Stored, TaskError> {
        let stored = self.ledger.entity(id)?.filter(|_| id.kind() == kind);
        stored.ok_or(TaskError::NotFound { id })
    }

    pub(crate) fn request(&self, entity: EntityId, order: Order) -> Request {
        Request {
            command: Command::new(entity, order),
            actor: self.actor.clone(),
            now: self.now,
            cause: self.cause.clone(),
        }
    }

    pub(crate) fn create(&self, id: EntityId, at: impl Into<Lifecycle>, data: Facts) -> Request {
        self.request(id, Order::Create(Create { at: at.into(), reasons: Vec::new(), data }))
    }

    pub(crate) fn observe(&self, id: EntityId, data: Facts) -> Request {
        self.request(id, Order::Observe(Observe { reasons: Vec::new(), data }))
    }

    pub(crate) fn go(
        &self,
        id: EntityId,
        to: impl Into<Lifecycle>,
        why: StateReason,
        data: Facts,
    ) -> Request {
        self.request(id, Order::Transition(Transition::to(to, why).with(data)))
    }

    /// Follows a trigger.
    pub(crate) fn follow(
        &self,
        id: EntityId,
        on: impl Into<Trigger>,
        why: StateReason,
        data: Facts,
    ) -> Request {
        self.request(id, Order::Transition(Transition::on(on, why).with(data)))
    }

    pub(crate) fn send(&self, group: Group) -> Result<Vec<Receipt>, TaskError> {
        let group = match &self.key {
            None => group,
            Some(key) => group.keyed(key.as_str()),
        };
        Ok(self.ledger.append_group(group)?)
    }

    pub(crate) fn send_one(&self, mut request: Request) -> Result<Receipt, TaskError> {
        request.command.key = self.key.clone();
        Ok(self.ledger.append(request)?)
    }
}

/// A command that is refused unless the lease with this epoch is in force.
pub(super) fn carrying(mut request: Request, terms: LeaseTerms) -> Request {
    request.command.lease = Some(terms);
    request
}

/// The same because of this and nothing else: several rows can lead from one state to another, and some take a task from its worker.
pub(super) fn because_of(mut request: Request, trigger: TaskTrigger) -> Request {
    if let Order::Transition(order) = &mut request.command.order {
        order.trigger = Some(trigger.into());
    }
    request
}

pub(crate) fn reason(code: ReasonCode, message: impl Into<String>) -> StateReason {
    StateReason::new(code, message)
}

pub(super) fn shown(
    code: ReasonCode,
    message: impl Into<String>,
    evidence: impl Into<String>,
) -> StateReason {
    StateReason::new(code, message).shown_by(EvidenceRef::tool_result(evidence))
}

/// A refusal means that somebody else was faster, or that nothing is to be done.
pub(crate) fn settled<T>(answer: Result<T, TaskError>) -> Result<(), TaskError> {
    match answer {
        Ok(_) | Err(TaskError::Refused(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Who or what moves a task on, in one sentence.
pub fn next_move(state: TaskState, facts: &Facts) -> String {
    match task::next_move(state, facts) {
        Some(NextMove::Person(what)) => format!("a person: {what}"),
        Some(NextMove::AnyWorker) => "any worker that claims it".to_owned(),
        Some(NextMove::Holder(holder)) => format!("{holder}, which holds its lease"),
        Some(NextMove::Dependency(what)) => what,
        Some(NextMove::Subtasks(many)) => format!("its {many} subtasks"),
        Some(NextMove::Time(at)) => format!("the time {at}, then any worker"),
        Some(NextMove::Service(name)) => format!("the service {name}"),
        Some(NextMove::Nobody) => "nobody: it is over".to_owned(),
        None => "unknown".to_owned(),
    }
}
