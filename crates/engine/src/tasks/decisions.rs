//! What people and the janitor decide about a task: it is called off, tried again or unblocked, a result is verified, rejected and closed.
//!
//! Invariant: a command names the version it was decided on, so of two that decide at once one is refused. Deliberately absent: merging; a task is
//! closed with the commit that the crew made; and what waits for a person, which the desk has.

mod abort;
pub(super) mod retry;

use callboard_kernel::task::{self, Dependency};
use callboard_kernel::{
    EntityId, EvidenceRef, Facts, LeaseTerms, RETRIES_MAX, RefusalCode, StateReason, TurnGoal, Value, fact,
};
use callboard_ledger::{Group, Request, Stored};
use callboard_lifecycle::task::{TaskState, TaskTrigger, TransitionReason};
use callboard_lifecycle::task_turn::TaskTurnEvent;
use callboard_lifecycle::worker::WorkerState;
use callboard_lifecycle::{ActorClass, ReasonCode, Words};
use callboard_wire::TaskChange;

use super::acting::refused;
use super::asking::{Asking, TaskError, because_of, carrying, reason, settled, shown, unfit};
use super::holding::id_in;
use super::new_task::{bounded, scope, span, word};
use super::reporting::{TaskFailure, needs_person, say_given_back};
use crate::questions::{APPROVE, CANCEL, GO_ON};

/// What a crashed worker left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovered {
    /// Everything that was asked for.
    Enough,
    /// Something, which is kept on a branch.
    Partly,
    /// Nothing that could be kept.
    Nothing,
}

/// A result that is not taken.
#[derive(Clone, Debug)]
pub struct Rejection {
    /// Why.
    pub failure: TaskFailure,
    /// Each check, and what it found.
    pub verdicts: Vec<Facts>,
}

impl Asking<'_> {
    /// A task is called off, with everything that belongs to it. Its worker finds out with its next heartbeat.
    pub fn cancel(&self, id: EntityId, because: &str) -> Result<(), TaskError> {
        let stored = self.task(id)?;
        let code = match self.actor.class {
            ActorClass::Operator => const { ReasonCode::of("task.cancelled.operator") },
            ActorClass::System
            | ActorClass::Supervisor
            | ActorClass::Worker
            | ActorClass::Agent
            | ActorClass::ApprovalDesk => const { ReasonCode::of("task.cancelled.parent") },
        };
        self.call_off_as(&stored, code, because, Facts::none())?;
        for child in task::subtasks(&stored.entity.facts) {
            let is_live = self.task(child)?.entity.ended_at.is_none();
            if is_live {
                // One that cannot be called off where it stands, because it is done or failed, keeps no other one going.
                settled(self.system("subtasks").cancel(child, "the task it belongs to was called off"))?;
            }
        }
        Ok(())
    }

    pub(super) fn call_off_as(
        &self,
        stored: &Stored,
        code: ReasonCode,
        because: &str,
        data: Facts,
    ) -> Result<(), TaskError> {
        let id = stored.entity.state.id;
        let cancelled = self.go(id, TaskState::Cancelled, self.person(code, because), data);
        let mut group = Group::new(self.ending_lease(cancelled, stored));
        for step in self.settling(stored, CANCEL, because)? {
            group = group.and(step);
        }
        for step in self.drop_turn(stored, because)? {
            group = group.and(step);
        }
        self.send(group)?;
        Ok(())
    }

    /// A person takes a task from its worker, for another one.
    pub fn reassign(&self, id: EntityId, because: &str) -> Result<(), TaskError> {
        let stored = self.task(id)?;
        let why = self.person(const { ReasonCode::of("task.open.reassigned") }, because);
        let open = self.go(id, TaskState::Open, why, Facts::none().and(fact::RUN, None::<&str>));
        let mut group = Group::new(self.ending_lease(open, &stored));
        for step in self.drop_turn(&stored, because)? {
            group = group.and(step);
        }
        self.send(group)?;
        Ok(())
    }

    /// What a task waited for is there, as a person says.
    pub fn unblock(&self, id: EntityId, because: &str) -> Result<(), TaskError> {
        let stored = self.task(id)?;
        let none = || Facts::none().and(fact::BLOCKED_BY, Vec::<Value>::new());
        let request = if task::state(&stored.entity) == Some(TaskState::Open) {
            // It waits for a dependency without being blocked: the person vouches for all of them.
            self.observe(id, Facts::none().and(fact::UNMET, Vec::<Value>::new()))
        } else {
            let why = reason(const { ReasonCode::of("task.open.unblocked") }, because);
            let data = none().and(fact::UNMET, Vec::<Value>::new());
            because_of(self.go(id, TaskState::Open, why, data), TaskTrigger::DependencyResolved)
        };
        self.send_together(request, self.settling(&stored, GO_ON, because)?)
    }

    /// One thing that a task waited for is there.
    pub fn gate_opened(&self, stored: &Stored, gate: &Dependency) -> Result<(), TaskError> {
        let id = stored.entity.state.id;
        let without = |name: callboard_kernel::Fact<fact::Items>| -> Vec<Value> {
            let all = stored.entity.facts.read(name).unwrap_or_default().iter();
            all.filter(|value| Dependency::of(value).as_ref() != Some(gate)).cloned().collect()
        };
        let (unmet, blocked_by) = (without(fact::UNMET), without(fact::BLOCKED_BY));
        let is_blocked = task::state(&stored.entity) == Some(TaskState::Blocked);
        let is_last = blocked_by.is_empty();
        let data = Facts::none().and(fact::UNMET, unmet).and(fact::BLOCKED_BY, blocked_by);
        let (mut request, settled) = if is_blocked && is_last {
            let told = format!("there is {}", gate.told());
            let code = const { ReasonCode::of("task.open.unblocked") };
            let settled = self.settling(stored, GO_ON, &told)?;
            (self.go(id, TaskState::Open, reason(code, told), data), settled)
        } else {
            (self.observe(id, data), Vec::new())
        };
        request.command.if_version = Some(stored.entity.state.version);
        self.send_together(request, settled)
    }

    /// Changes what is asked for, as long as nobody works on it.
    pub fn edit(&self, id: EntityId, change: &TaskChange) -> Result<(), TaskError> {
        let stored = self.task(id)?;
        let is_free = task::held_files(&stored.entity).is_empty()
            && stored.entity.facts.known(fact::LEASE_HOLDER).is_none();
        if !is_free || stored.entity.ended_at.is_some() {
            let help = "change a task that is planned, open or blocked".to_owned();
            let problem = "it is being worked on, or has ended";
            return Err(refused(&stored, RefusalCode::NotPermitted, problem, help));
        }
        let mut data = Facts::none();
        if let Some(title) = &change.title {
            data.record(fact::TITLE, callboard_kernel::one_line(title));
        }
        if let Some(prompt) = &change.prompt {
            data.record(fact::PROMPT, prompt.as_str());
        }
        if let Some(role) = &change.role {
            data.record(fact::ROLE, word("role", role)?);
        }
        if let Some(priority) = change.priority {
            data.record(fact::PRIORITY, bounded("priority", priority, 0, 1000)?);
        }
        if let Some(text) = &change.scope {
            data.record(fact::SCOPE, scope(text)?.name());
        }
        if let Some(retries) = change.max_retries {
            data.record(fact::RETRIES_MAX, bounded("max_retries", retries, 0, 100)?);
        }
        if let Some(seconds) = change.timeout_s {
            data.record(fact::TIMEOUT_S, span(seconds)?);
        }
        if data.is_empty() {
            return Err(unfit("nothing is to be changed", "name what is to be changed, as in --priority 1"));
        }
        let mut request = self.observe(id, data);
        request.command.if_version = Some(stored.entity.state.version);
        self.send_one(request)?;
        Ok(())
    }

    /// The agent is gone and what it left is looked at: its turn is being verified, also if it was seen at work last.
    pub fn take_up(&self, stored: &Stored) -> Result<(), TaskError> {
        let Some(turn) = id_in(stored, fact::TASK_TURN) else { return Ok(()) };
        self.send_all(self.lead_turn(turn, TurnGoal::Verifying, "the janitor", Facts::none())?.into_iter())
    }

    /// Everything that was promised is there: the turn is done, and the task waits to be merged.
    pub fn verified(&self, stored: &Stored, verdicts: Vec<Facts>) -> Result<(), TaskError> {
        let id = stored.entity.state.id;
        let data = Facts::none().and(fact::VERDICTS, verdicts);
        let mut group = Group::new(self.observe(id, data.clone()));
        if let Some(turn) = id_in(stored, fact::TASK_TURN) {
            let code = const { ReasonCode::of("task_turn.completing.verified") };
            let turn_stored = self.ledger.entity(turn)?;
            let is_verifying = turn_stored.is_some_and(|turn| {
                callboard_kernel::turn_state(&turn.entity)
                    == Some(callboard_lifecycle::task_turn::TaskTurnState::Verifying)
            });
            if is_verifying {
                let why = shown(code, "every check was passed", "the janitor");
                group = group.and(self.follow(turn, TaskTurnEvent::TaskCompleted, why, data));
            }
        }
        self.send(group)?;
        Ok(())
    }

    /// A result is not taken: the task failed, and is tried again if a retry is left.
    pub fn reject(&self, stored: &Stored, rejection: &Rejection) -> Result<(), TaskError> {
        let id = stored.entity.state.id;
        let mut failed = self.failed(id, &rejection.failure);
        if let callboard_kernel::Order::Transition(order) = &mut failed.command.order {
            order.data.record(fact::VERDICTS, rejection.verdicts.clone());
        }
        failed.command.if_version = Some(stored.entity.state.version);
        let mut group = Group::new(failed);
        if let Some(turn) = id_in(stored, fact::TASK_TURN) {
            for step in self.lead_turn(turn, TurnGoal::Reaped, &rejection.failure.message, Facts::none())? {
                group = group.and(step);
            }
        }
        if let Some(retry) = self.retried(stored, &rejection.failure) {
            group = group.and(retry);
        }
        self.send(group)?;
        Ok(())
    }

    /// Records something of a task, on the version that was looked at.
    pub fn note_task(&self, stored: &Stored, data: Facts) -> Result<(), TaskError> {
        let mut request = self.observe(stored.entity.state.id, data);
        request.command.if_version = Some(stored.entity.state.version);
        self.send_one(request)?;
        Ok(())
    }

    /// Records something of a task, whatever was recorded since.
    pub fn note_task_any(&self, stored: &Stored, data: Facts) -> Result<(), TaskError> {
        self.send_one(self.observe(stored.entity.state.id, data))?;
        Ok(())
    }

    /// The work of a crashed worker was looked at: it is enough, or the task is tried again, or it failed.
    pub fn recovered(
        &self,
        stored: &Stored,
        found: Recovered,
        told: &str,
        data: Facts,
    ) -> Result<(), TaskError> {
        let (id, facts) = (stored.entity.state.id, &stored.entity.facts);
        let (used, most) =
            (facts.read(fact::RETRIES).unwrap_or(0), facts.read(fact::RETRIES_MAX).unwrap_or(RETRIES_MAX));
        let data = data.and(fact::LAST_ERROR, told);
        let (mut moved, goal) = match found {
            Recovered::Enough => {
                let why = shown(const { ReasonCode::of("task.done.recovered") }, told, told);
                (self.go(id, TaskState::Done, why, data), TurnGoal::Verifying)
            }
            Recovered::Partly | Recovered::Nothing if used < most => {
                let why = reason(const { ReasonCode::of("task.open.orphan_recovered") }, told);
                let data = data
                    .and(fact::RETRIES, used + 1)
                    .and(fact::RUN, None::<&str>)
                    .and(fact::TRANSITION_REASON, TransitionReason::OrphanRecovered.name());
                (self.go(id, TaskState::Open, why, data), TurnGoal::Reaped)
            }
            Recovered::Partly | Recovered::Nothing => {
                let why = shown(const { ReasonCode::of("task.failed.recovery") }, told, told);
                (self.go(id, TaskState::Failed, why, data.and(fact::IS_FINAL, true)), TurnGoal::Reaped)
            }
        };
        moved.command.if_version = Some(stored.entity.state.version);
        let mut group = Group::new(moved);
        if let Some(turn) = id_in(stored, fact::TASK_TURN) {
            for step in self.lead_turn(turn, goal, told, Facts::none())? {
                group = group.and(step);
            }
        }
        self.send(group)?;
        Ok(())
    }

    /// A verified result is merged, or delivered as a branch: the task is closed.
    pub fn close(&self, stored: &Stored, delivered: &Facts, told: &str) -> Result<(), TaskError> {
        let id = stored.entity.state.id;
        let is_held = task::state(&stored.entity) == Some(TaskState::PendingApproval);
        let why = if is_held {
            self.person(const { ReasonCode::of("task.closed.approved") }, told)
        } else {
            shown(const { ReasonCode::of("task.closed.verified") }, told, told)
        };
        let mut closed = self.go(id, TaskState::Closed, why, delivered.clone());
        closed.command.if_version = Some(stored.entity.state.version);
        let mut group = Group::new(closed);
        if let Some(turn) = id_in(stored, fact::TASK_TURN) {
            for step in self.lead_turn(turn, TurnGoal::Reaped, told, delivered.clone())? {
                group = group.and(step);
            }
        }
        self.send(self.settling(stored, APPROVE, told)?.into_iter().fold(group, Group::and))?;
        Ok(())
    }

    /// Does a task need a person?
    pub fn needs_person(&self, id: EntityId) -> Result<bool, TaskError> {
        Ok(needs_person(&self.task(id)?))
    }

    /// The process and the worktree of a turn are cleaned up.
    pub fn reap_turn(&self, turn: EntityId, seen: &str, data: Facts) -> Result<(), TaskError> {
        let steps = self.lead_turn(turn, TurnGoal::Reaped, seen, data)?;
        self.send_all(steps.into_iter())
    }

    /// The commands that end the turn of a task which is taken from its worker, or from the janitor.
    fn drop_turn(&self, stored: &Stored, because: &str) -> Result<Vec<Request>, TaskError> {
        let mut steps = Vec::new();
        if let Some(turn) = id_in(stored, fact::TASK_TURN) {
            let system = self.system("board");
            steps = system.lead_turn(turn, TurnGoal::Reaped, because, Facts::none())?;
            say_given_back(&mut steps, because);
        }
        if let Some(worker) = id_in(stored, fact::LEASE_HOLDER) {
            let idle = self.system("board").lead_worker(worker, WorkerState::Idle, because)?;
            steps.extend(idle);
        }
        Ok(steps)
    }

    fn ending_lease(&self, mut request: Request, stored: &Stored) -> Request {
        request.command.if_version = Some(stored.entity.state.version);
        match stored.entity.facts.known(fact::LEASE_HOLDER) {
            None => request,
            Some(_) => carrying(request, LeaseTerms::default().and_end()),
        }
    }

    /// Why, in the words of the person who decides.
    pub(super) fn person(&self, code: ReasonCode, because: &str) -> StateReason {
        let vouched = format!("{} decided: {because}", self.actor.id);
        reason(code, because).shown_by(EvidenceRef::human_assertion(vouched))
    }

    pub(crate) fn send_all(&self, requests: impl Iterator<Item = Request>) -> Result<(), TaskError> {
        let mut requests = requests.peekable();
        while requests.peek().is_some() {
            let piece: Vec<Request> = requests.by_ref().take(callboard_ledger::GROUP_MAX).collect();
            let mut piece = piece.into_iter();
            if let Some(first) = piece.next() {
                self.send(piece.fold(Group::new(first), Group::and))?;
            }
        }
        Ok(())
    }
}
