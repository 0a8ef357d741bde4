//! What people and the janitor decide about a task: a plan is approved, a task is called off, tried again or unblocked, a result is verified,
//! rejected, approved and closed.
//!
//! Invariant: a command names the version it was decided on, so of two that decide at once one is refused. Deliberately absent: merging; a task is
//! closed with the commit that the crew made.

use callboard_kernel::task::{self, Dependency};
use callboard_kernel::{
    Actor, EntityId, EvidenceRef, Facts, LeaseTerms, Moment, RETRIES_MAX, RefusalCode, StateReason, TurnGoal,
    Value, fact,
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

/// What became of approving.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decided {
    /// These tasks of a plan can be claimed.
    Opened(Vec<EntityId>),
    /// The result waits to be merged, and is closed then.
    Merge,
    /// There is nothing to merge: the task is closed.
    Closed,
}

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
    /// A person approves a plan, or one task of it.
    pub fn approve_plan(&self, tasks: &[EntityId]) -> Result<(), TaskError> {
        let why = || self.person(const { ReasonCode::of("task.open.plan_approved") }, "approved");
        let open = |id: &EntityId| {
            let request = self.go(*id, TaskState::Open, why(), Facts::none());
            because_of(request, TaskTrigger::PlanApproved)
        };
        self.send_all(tasks.iter().map(open))
    }

    /// A person approves a task that waits for it: it can be claimed, or its result is merged and closed. `whole_plan` opens the
    /// other tasks of its plan too.
    pub fn approve(&self, id: EntityId, because: &str, whole_plan: bool) -> Result<Decided, TaskError> {
        let stored = self.task(id)?;
        match task::state(&stored.entity) {
            Some(TaskState::PendingApproval) if is_merged(&stored.entity.facts) => {
                let data = Facts::none().and(fact::APPROVED_BY, self.actor.id.as_str());
                let why = self.person(const { ReasonCode::of("system.operator.note") }, because);
                let order = callboard_kernel::Observe { reasons: vec![why], data };
                let mut request = self.request(id, callboard_kernel::Order::Observe(order));
                request.command.if_version = Some(stored.entity.state.version);
                self.send_one(request)?;
                Ok(Decided::Merge)
            }
            Some(TaskState::PendingApproval) => {
                self.close(&stored, &Facts::none(), because)?;
                Ok(Decided::Closed)
            }
            _ => {
                let tasks = if whole_plan { self.planned_with(id)? } else { vec![id] };
                self.approve_plan(&tasks)?;
                Ok(Decided::Opened(tasks))
            }
        }
    }

    /// A person rejects a plan, or one task of it.
    pub fn reject_plan(&self, tasks: &[EntityId], because: &str) -> Result<(), TaskError> {
        let why = || self.person(const { ReasonCode::of("task.cancelled.plan_rejected") }, because);
        let cancel = |id: &EntityId| {
            let request = self.go(*id, TaskState::Cancelled, why(), Facts::none());
            because_of(request, TaskTrigger::PlanRejected)
        };
        self.send_all(tasks.iter().map(cancel))
    }

    /// The tasks that belong to the same plan as a task, and that nobody has decided about.
    pub fn planned_with(&self, id: EntityId) -> Result<Vec<EntityId>, TaskError> {
        let stored = self.task(id)?;
        let Some(plan) = stored.entity.facts.read(fact::PLAN) else { return Ok(vec![id]) };
        let mut all = Vec::new();
        let mut beyond = None;
        loop {
            let slice = callboard_ledger::Slice {
                kind: Some(callboard_lifecycle::Kind::Task),
                live: true,
                order: callboard_ledger::Sequence::Oldest,
                beyond,
                limit: 500,
                ..callboard_ledger::Slice::default()
            };
            let piece = self.ledger.slice(slice)?;
            let Some(last) = piece.last() else { return Ok(all) };
            beyond = Some(last.entity.state.id);
            let is_same = |stored: &&Stored| {
                stored.entity.facts.read(fact::PLAN) == Some(plan)
                    && task::state(&stored.entity) == Some(TaskState::Planned)
            };
            all.extend(piece.iter().filter(is_same).map(|stored| stored.entity.state.id));
        }
    }

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
        let cancelled = self.go(id, TaskState::Cancelled, self.person(code, because), Facts::none());
        let mut group = Group::new(self.ending_lease(cancelled, &stored));
        for step in self.drop_turn(&stored, because)? {
            group = group.and(step);
        }
        self.send(group)?;
        for child in task::subtasks(&stored.entity.facts) {
            let is_live = self.task(child)?.entity.ended_at.is_none();
            if is_live {
                // One that cannot be called off where it stands, because it is done or failed, keeps no other one going.
                settled(self.system("subtasks").cancel(child, "the task it belongs to was called off"))?;
            }
        }
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

    /// A person lets a task be tried once more, at once.
    pub fn retry(&self, id: EntityId, because: &str) -> Result<(), TaskError> {
        let why = reason(const { ReasonCode::of("task.open.retry") }, because);
        let data = Facts::none().and(fact::NOT_BEFORE, None::<Moment>).and(fact::IS_FINAL, false);
        let stored = self.task(id)?;
        let mut request = because_of(self.go(id, TaskState::Open, why, data), TaskTrigger::Retried);
        request.command.if_version = Some(stored.entity.state.version);
        self.send_one(request)?;
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
        self.send_one(request)?;
        Ok(())
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
        let mut request = if is_blocked && is_last {
            let code = const { ReasonCode::of("task.open.unblocked") };
            self.go(id, TaskState::Open, reason(code, format!("there is {}", gate.told())), data)
        } else {
            self.observe(id, data)
        };
        request.command.if_version = Some(stored.entity.state.version);
        self.send_one(request)?;
        Ok(())
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

    /// A verified result waits for a person.
    pub fn ask_approval(&self, stored: &Stored, because: &str) -> Result<(), TaskError> {
        let why = reason(const { ReasonCode::of("task.pending_approval.policy") }, because);
        let desk = self.acting_as(Actor::new(ActorClass::ApprovalDesk, "desk"));
        let id = stored.entity.state.id;
        let mut held = desk.go(id, TaskState::PendingApproval, why, Facts::none());
        held.command.if_version = Some(stored.entity.state.version);
        self.send_one(held)?;
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
        self.send(group)?;
        Ok(())
    }

    /// A person does not take a result, whether it was verified or not: it failed, or is to be done again.
    pub fn turn_down(&self, id: EntityId, because: &str, again: bool) -> Result<(), TaskError> {
        let stored = self.task(id)?;
        if task::state(&stored.entity) == Some(TaskState::Done) {
            let code = const { ReasonCode::of("task.failed.verification") };
            let failure = TaskFailure { is_final: !again, ..TaskFailure::new(code, because) };
            return self.reject(&stored, &Rejection { failure, verdicts: Vec::new() });
        }
        let (to, trigger, code) = if again {
            (TaskState::Open, TaskTrigger::SentBack, const { ReasonCode::of("task.open.sent_back") })
        } else {
            (TaskState::Failed, TaskTrigger::Rejected, const { ReasonCode::of("task.failed.rejected") })
        };
        let data = Facts::none()
            .and(fact::LAST_ERROR, because)
            .and(fact::IS_FINAL, !again)
            .and(fact::APPROVED_BY, None::<&str>);
        let mut request = because_of(self.go(id, to, self.person(code, because), data), trigger);
        request.command.if_version = Some(stored.entity.state.version);
        let mut group = Group::new(request);
        if let Some(turn) = id_in(&stored, fact::TASK_TURN) {
            for step in self.lead_turn(turn, TurnGoal::Reaped, because, Facts::none())? {
                group = group.and(step);
            }
        }
        self.send(group)?;
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
    fn person(&self, code: ReasonCode, because: &str) -> StateReason {
        let vouched = format!("{} decided: {because}", self.actor.id);
        reason(code, because).shown_by(EvidenceRef::human_assertion(vouched))
    }

    pub(super) fn send_all(&self, requests: impl Iterator<Item = Request>) -> Result<(), TaskError> {
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

/// Is the result of a task merged into a branch? Otherwise it is closed as it is.
fn is_merged(facts: &Facts) -> bool {
    facts.known(fact::REPO).is_some() && facts.read(fact::DELIVER) != Some("branch")
}
