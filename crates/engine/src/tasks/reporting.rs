//! How an attempt at a task ends, as its worker reports it: done, failed, blocked, split, or given back.
//!
//! Invariant: the report ends the lease in the same group, and whoever lost the lease reports nothing. A failure that is tried again goes back
//! to the board in the same group, so a task that stays failed waits for a person. Deliberately absent: verifying.

pub(super) mod retry;

use callboard_kernel::task::{self, Dependency, NextMove};
use callboard_kernel::{
    EntityId, EvidenceRef, Facts, LeaseTerms, Moment, Order, RETRIES_MAX, StateReason, TurnGoal, Value, fact,
    worker_state,
};
use callboard_ledger::{Group, Request, Stored};
use callboard_lifecycle::task::{TaskState, TransitionReason};
use callboard_lifecycle::task_turn::TaskTurnEvent;
use callboard_lifecycle::worker::{AbortReason, WorkerState};
use callboard_lifecycle::{Kind, ReasonCode, Words};

use self::retry::{NextAttempt, next_attempt, pause};
use super::asking::{Asking, TaskError, carrying, reason, shown, unfit};
use super::desk;
use super::holding::{Hold, Parties, WorkerEnd};
use super::new_task::NewTask;
use crate::mutant;
use crate::questions::NewQuestion;

/// Work that is reported as done.
#[derive(Clone, Debug, Default)]
pub struct Done {
    /// What was done, in the worker's words.
    pub summary: String,
    /// What shows it: the end of the run, a commit, a message.
    pub evidence: String,
    /// What else is recorded of the task and its turn: the tip of its branch, the ref of its files.
    pub data: Facts,
}

/// An attempt that failed.
#[derive(Clone, Debug)]
pub struct TaskFailure {
    /// Which reason it is.
    pub code: ReasonCode,
    /// What happened, in words.
    pub message: String,
    /// What shows it.
    pub evidence: String,
    /// The canonical reason of the transition, if one fits.
    pub canonical: Option<TransitionReason>,
    /// The canonical reason of an abnormal end, if it was one.
    pub abort: Option<AbortReason>,
    /// Would every further attempt fail the same way?
    pub is_final: bool,
    /// What else is recorded of the task and its turn.
    pub data: Facts,
}

/// What a task waits for.
#[derive(Clone, Debug)]
pub enum Block {
    /// Something that can be looked for.
    Dependency(Dependency),
    /// Something that somebody wrote down, and that a person says is there.
    Words(String),
}

impl Block {
    fn value(&self) -> Value {
        match self {
            Self::Dependency(dependency) => Value::from(dependency.facts()),
            Self::Words(text) => Value::from(text.as_str()),
        }
    }

    /// What only a person can bring, if it is that.
    fn needs_person(&self) -> Option<String> {
        match self {
            Self::Dependency(dependency) => desk::needs_person(dependency),
            Self::Words(text) => Some(text.clone()),
        }
    }
}

impl TaskFailure {
    /// A failure with a reason and nothing else.
    pub fn new(code: ReasonCode, message: impl Into<String>) -> Self {
        let message = message.into();
        let evidence = message.clone();
        Self { code, message, evidence, canonical: None, abort: None, is_final: false, data: Facts::none() }
    }

    /// Is it not tried again by itself, whatever retries are left? It is recorded, because such a task waits for a person.
    fn is_last(&self) -> bool {
        self.is_final || next_attempt(self.canonical) == NextAttempt::Never
    }

    fn facts(&self) -> Facts {
        self.data
            .clone()
            .and(fact::TRANSITION_REASON, self.canonical.map(Words::name))
            .and(fact::ABORT_REASON, self.abort.map(Words::name))
            .and(fact::IS_FINAL, self.is_last())
            .and(fact::LAST_ERROR, self.message.as_str())
    }
}

impl Asking<'_> {
    /// The worker says that the task is done; it is verified next.
    pub fn report_done(&self, hold: &Hold, done: &Done) -> Result<(), TaskError> {
        if done.summary.trim().is_empty() {
            return Err(unfit("the summary is empty", "say in a sentence what was done"));
        }
        let why = reason(const { ReasonCode::of("task.done.completed") }, done.summary.as_str())
            .shown_by(EvidenceRef::tool_result(done.evidence.as_str()));
        let data = done
            .data
            .clone()
            .and(fact::SUMMARY, done.summary.as_str())
            .and(fact::TRANSITION_REASON, TransitionReason::Completed.name())
            .and(fact::ABORT_REASON, None::<&str>);
        let task = self.go(hold.task, TaskState::Done, why, data);
        let parties = self.parties(hold)?;
        let turn = self.steps_of_turn(&parties.turn, TurnGoal::Verifying, &done.evidence, done.data.clone());
        self.end_hold(hold, &parties.worker, task, turn, &done.evidence)
    }

    /// The attempt failed. The task goes back to the board if a retry is left and makes sense.
    pub fn report_failed(&self, hold: &Hold, failure: &TaskFailure) -> Result<(), TaskError> {
        let stored = self.task(hold.task)?;
        let failed = self.failed(hold.task, failure);
        let Parties { turn, worker } = self.parties(hold)?;
        let mut steps = self.steps_of_turn(&turn, TurnGoal::Reaped, &failure.evidence, failure.facts());
        steps.extend(self.retried(&stored, failure));
        steps.extend(self.unborn_worker(&worker, failure));
        self.end_hold(hold, &worker, failed, steps, &failure.evidence)
    }

    /// The command that ends a worker whose first process could not be started: it was never heard of, so it is not ready for another task.
    fn unborn_worker(&self, stored: &Stored, failure: &TaskFailure) -> Option<Request> {
        let is_unborn = worker_state(&stored.entity) == Some(WorkerState::Starting)
            && failure.code == const { ReasonCode::of("task.failed.spawn") };
        is_unborn.then(|| self.burial(stored, WorkerEnd::SpawnFailed(&failure.evidence)))
    }

    pub(super) fn failed(&self, task: EntityId, failure: &TaskFailure) -> Request {
        let why = shown(failure.code, failure.message.as_str(), failure.evidence.as_str());
        self.go(task, TaskState::Failed, why, failure.facts())
    }

    /// The command that puts a failed task back on the board, if it is to be tried again.
    pub(super) fn retried(&self, stored: &Stored, failure: &TaskFailure) -> Option<Request> {
        let facts = &stored.entity.facts;
        let used = facts.read(fact::RETRIES).unwrap_or(0);
        let most = facts.read(fact::RETRIES_MAX).unwrap_or(RETRIES_MAX);
        let next = next_attempt(failure.canonical);
        if failure.is_last() || used >= most || mutant::removed("retry_after_failure") {
            return None;
        }
        let code = const { ReasonCode::of("task.open.retry") };
        let why = reason(code, format!("retry {} of {most} after: {}", used + 1, failure.message));
        let mut data = Facts::none()
            .and(fact::RETRIES, used + 1)
            .and(fact::NOT_BEFORE, self.now.plus(pause(self.retry_pause, used + 1)))
            .and(fact::TRANSITION_REASON, TransitionReason::Retry.name());
        if next == NextAttempt::Fresh {
            data.record(fact::VENDOR_SESSION, None::<&str>);
        }
        let id = stored.entity.state.id;
        Some(self.system("retries").go(id, TaskState::Open, why, data))
    }

    /// Something that the task needs is not there.
    pub fn block(&self, hold: &Hold, by: &[Block], because: &str) -> Result<(), TaskError> {
        if by.is_empty() {
            return Err(unfit("nothing is named that it waits for", "say what it is blocked by"));
        }
        for block in by {
            match block {
                Block::Dependency(Dependency::Task { id, .. }) if *id == hold.task => {
                    return Err(unfit("a task cannot wait for itself", "name what is missing"));
                }
                // Nobody would ever see that a task which does not exist has ended.
                Block::Dependency(dependency) => drop(self.stands(dependency)?),
                Block::Words(_) => {}
            }
        }
        let why = reason(const { ReasonCode::of("task.blocked.dependency") }, because);
        let mut data = Facts::none().and(fact::BLOCKED_BY, by.iter().map(Block::value).collect::<Vec<_>>());
        let Parties { turn, worker } = self.parties(hold)?;
        let mut steps = self.given_back(&turn, because);
        let missing: Vec<String> = by.iter().filter_map(Block::needs_person).collect();
        if !missing.is_empty() {
            let stored = self.task(hold.task)?;
            let (question, asked) = self.dependency_question(&stored, &missing.join(", "))?;
            data.record(fact::QUESTION, question.to_string());
            steps.extend(asked);
        }
        let task = self.go(hold.task, TaskState::Blocked, why, data);
        self.end_hold(hold, &worker, task, steps, because)
    }

    /// The task cannot go on without an answer: it waits for one.
    pub(crate) fn block_on_answer(&self, hold: &Hold, question: &NewQuestion) -> Result<EntityId, TaskError> {
        let because = format!("it waits for an answer: {}", question.text);
        let (id, asked) = self.question(question)?;
        let why = reason(const { ReasonCode::of("task.blocked.dependency") }, because.as_str());
        let data = Facts::none()
            .and(fact::BLOCKED_BY, vec![Dependency::Question { id, text: question.title() }.facts()])
            .and(fact::QUESTION, id.to_string());
        let task = self.go(hold.task, TaskState::Blocked, why, data);
        let Parties { turn, worker } = self.parties(hold)?;
        let mut steps = self.given_back(&turn, &because);
        steps.extend(asked);
        self.end_hold(hold, &worker, task, steps, &because)?;
        Ok(id)
    }

    /// The task is too large: it waits for the parts it was split into. They inherit where it is worked on.
    pub fn split(&self, hold: &Hold, parts: Vec<NewTask>) -> Result<Vec<EntityId>, TaskError> {
        if parts.is_empty() {
            return Err(unfit("a task is split into at least one part", "name the parts"));
        }
        let stored = self.task(hold.task)?;
        let (mut ids, mut children) = (Vec::new(), Vec::new());
        for (at, part) in parts.into_iter().enumerate() {
            let id = self.nth_id(Kind::Task, at);
            let facts = inherit(&stored.entity.facts, self.with_dependencies(part.facts, &part.depends_on)?)
                .and(fact::PARENT, hold.task.to_string());
            children.push(self.create(id, TaskState::Open, facts));
            ids.push(id);
        }
        let why = reason(
            const { ReasonCode::of("task.waiting_for_subtasks.decomposed") },
            format!("its worker split it into {} subtasks", ids.len()),
        );
        let data = Facts::none()
            .and(fact::SUBTASKS, ids.iter().map(|id| Value::from(id.to_string())).collect::<Vec<_>>())
            .and(fact::WAITS_SUBTASKS_SINCE, self.now);
        let task = self.go(hold.task, TaskState::WaitingForSubtasks, why, data);
        let Parties { turn, worker } = self.parties(hold)?;
        let mut steps = self.given_back(&turn, "the task was split");
        steps.extend(children);
        self.end_hold(hold, &worker, task, steps, "the task was split")?;
        Ok(ids)
    }

    /// The worker gives the task back, and perhaps says from when on it may be claimed again.
    pub fn release(&self, hold: &Hold, because: &str, not_before: Option<Moment>) -> Result<(), TaskError> {
        let code = match not_before {
            Some(_) => const { ReasonCode::of("task.open.limit") },
            None => const { ReasonCode::of("task.open.released") },
        };
        let data = Facts::none().and(fact::NOT_BEFORE, not_before).and(fact::RUN, None::<&str>);
        let task = self.go(hold.task, TaskState::Open, reason(code, because), data);
        let Parties { turn, worker } = self.parties(hold)?;
        self.end_hold(hold, &worker, task, self.given_back(&turn, because), because)
    }

    fn given_back(&self, turn: &Stored, because: &str) -> Vec<Request> {
        let mut steps = self.steps_of_turn(turn, TurnGoal::Reaped, because, Facts::none());
        say_given_back(&mut steps, because);
        steps
    }

    /// Ends the hold with the command about the task, and leaves the worker idle.
    fn end_hold(
        &self,
        hold: &Hold,
        worker: &Stored,
        task: Request,
        steps: Vec<Request>,
        seen: &str,
    ) -> Result<(), TaskError> {
        let task = carrying(task, LeaseTerms::carrying(hold.epoch).and_end());
        let is_over = |step: &Request| step.command.entity == hold.worker;
        let worker = match steps.iter().any(is_over) {
            true => Vec::new(),
            false => self.steps_of_worker(worker, WorkerState::Idle, seen),
        };
        let group = steps.into_iter().chain(worker).fold(Group::new(task), Group::and);
        self.send(group)?;
        Ok(())
    }
}

/// Says in the command that fails a turn that the task was given back.
pub(super) fn say_given_back(steps: &mut [Request], because: &str) {
    say_failed(steps, &shown(const { ReasonCode::of("task_turn.failed.given_back") }, because, because));
}

/// Says in the command that fails a turn why it failed.
pub(super) fn say_failed(steps: &mut [Request], why: &StateReason) {
    for step in steps {
        if let Order::Transition(order) = &mut step.command.order
            && order.trigger == Some(TaskTurnEvent::TaskFailed.into())
        {
            order.reasons = vec![why.clone()];
        }
    }
}

/// What the parts of a task take over from it unless they say otherwise.
fn inherit(parent: &Facts, mut own: Facts) -> Facts {
    for name in [fact::REPO, fact::BASE, fact::ROLE, fact::DELIVER] {
        if own.known(name).is_none()
            && let Some(text) = parent.read(name)
        {
            own.record(name, text);
        }
    }
    own
}

/// What a person can do about a task that failed for good.
pub(super) fn needs_person(stored: &Stored) -> bool {
    let state = task::state(&stored.entity);
    state.is_some_and(|state| {
        matches!(task::next_move(state, &stored.entity.facts), Some(NextMove::Person(_)))
    })
}
