//! Holding a task: a worker joins, claims a task, keeps its lease, begins, and leaves.
//!
//! Invariant: a claim moves the task, its turn and its worker in one group, and grants the lease to the worker. What is done for a task
//! carries the epoch of that lease, so a worker that lost it is refused. Renewing is no record. Deliberately absent: why a worker
//! stops; `reporting` says how a task ends.

pub(super) mod timeouts;
mod worker_end;

use std::time::Duration;

use callboard_kernel::{
    Actor, EntityId, Facts, LeaseTerms, Moment, RefusalCode, StateReason, TurnGoal, fact, task, turn_state,
    turn_way, worker_state, worker_way,
};
use callboard_ledger::{Claim, ClaimQuery, Group, Lease, LeaseError, Receipt, Request, Stored};
use callboard_lifecycle::task::TaskState;
use callboard_lifecycle::task_turn::{TaskTurnEvent, TaskTurnState};
use callboard_lifecycle::worker::{WorkerState, WorkerTrigger};
use callboard_lifecycle::{ActorClass, Kind, ReasonCode};
use callboard_supervisor::Identity;

use self::timeouts::bound_told;
pub use self::worker_end::WorkerEnd;
use super::acting::{lease, refused};
use super::asking::{Asking, TaskError, carrying, reason, shown, unfit};
use crate::judging::recorded::keeper;
use crate::mutant;
use crate::run::whereabouts;

/// How long a claim lasts unless it is renewed.
pub const LEASE: Duration = Duration::from_secs(30);

/// A task that is held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    /// The task.
    pub task: EntityId,
    /// Who holds it.
    pub worker: EntityId,
    /// The turn in which it is handled.
    pub turn: EntityId,
    /// Which lease of the task it is.
    pub epoch: u64,
}

/// Who takes part in a hold, as they stand.
pub(super) struct Parties {
    pub(super) turn: Stored,
    pub(super) worker: Stored,
}

/// A worker that joins.
#[derive(Clone, Debug, Default)]
pub struct NewWorker {
    /// What people call it.
    pub title: String,
    /// Which tasks it takes.
    pub role: Option<String>,
    /// The agent profile it uses.
    pub profile: Option<String>,
    /// The process that it is, if this program can see one.
    pub process: Option<Identity>,
    /// Who works with it, if it is not a process of this program.
    pub by: Option<String>,
}

impl NewWorker {
    fn facts(&self) -> Facts {
        let mut facts =
            self.process.as_ref().map_or_else(Facts::none, whereabouts).and(fact::TITLE, self.title.as_str());
        let texts = [(fact::ROLE, &self.role), (fact::PROFILE, &self.profile), (fact::BY, &self.by)];
        for (name, text) in texts {
            if let Some(text) = text {
                facts.record(name, text.as_str());
            }
        }
        facts
    }
}

/// A worker as it acts.
pub(super) fn worker_actor(worker: EntityId) -> Actor {
    Actor::new(ActorClass::Worker, worker.to_string())
}

impl Hold {
    /// The lease as the store knows it.
    fn lease(&self) -> Lease {
        Lease {
            name: self.task.to_string(),
            holder: self.worker.to_string(),
            epoch: self.epoch,
            until: Moment::default(),
        }
    }
}

impl Asking<'_> {
    /// Lets a worker join the board.
    pub fn join(&self, worker: &NewWorker) -> Result<EntityId, TaskError> {
        let id = self.fresh_id(Kind::Worker);
        self.send_one(self.acting_as(worker_actor(id)).create(id, WorkerState::Starting, worker.facts()))?;
        Ok(id)
    }

    /// Claims the next task that fits, for a worker that has joined.
    pub fn claim_next(
        &self,
        worker: EntityId,
        query: ClaimQuery,
        length: Duration,
    ) -> Result<Option<Hold>, TaskError> {
        let (group, turn) = self.claim_group(worker, Claim::TASK, length)?;
        let Some(receipts) = self.ledger.claim_next(Claim { query, group })? else { return Ok(None) };
        self.hold_of(&receipts, worker, turn).map(Some)
    }

    /// Claims one task, for a worker that has joined.
    pub fn claim(&self, worker: EntityId, task: EntityId, length: Duration) -> Result<Hold, TaskError> {
        self.task(task)?;
        let (group, turn) = self.claim_group(worker, task, length)?;
        let receipts = self.send(group)?;
        self.hold_of(&receipts, worker, turn)
    }

    fn claim_group(
        &self,
        worker: EntityId,
        task: EntityId,
        length: Duration,
    ) -> Result<(Group, EntityId), TaskError> {
        let asking = self.acting_as(worker_actor(worker));
        let turn = self.fresh_id(Kind::TaskTurn);
        let stored = self.stored(worker, Kind::Worker)?;
        let why = reason(const { ReasonCode::of("task.claimed.ok") }, "a worker claimed it");
        let data = Facts::none()
            .and(fact::WORKER, worker.to_string())
            .and(fact::TASK_TURN, turn.to_string())
            .and(fact::RUN, None::<&str>)
            .and(fact::PROGRESS, None::<&str>)
            .and(fact::PROBLEM, None::<&str>)
            .and(fact::APPROVED_BY, None::<&str>)
            .and(fact::BOUND, None::<Facts>)
            .and(fact::NOT_BEFORE, None::<Moment>);
        let claimed = asking.go(task, TaskState::Claimed, why, data);
        let claimed = carrying(claimed, LeaseTerms::grant(worker.to_string(), length));
        let of_turn = Facts::none()
            .and(fact::PARENT, task.to_string())
            .and(fact::TASK, task.to_string())
            .and(fact::WORKER, worker.to_string());
        let claiming =
            reason(const { ReasonCode::of("task_turn.claiming.claimed") }, "a worker claimed the task");
        let of_worker =
            Facts::none().and(fact::TASK, task.to_string()).and(fact::TASK_TURN, turn.to_string());
        let told = match worker_state(&stored.entity) {
            // One that was given up and comes back is refused: a dead worker is assigned nothing.
            Some(WorkerState::Idle | WorkerState::Dead) => {
                let why = reason(const { ReasonCode::of("worker.working.assigned") }, "it claimed a task");
                asking.follow(worker, WorkerTrigger::TaskAssigned, why, of_worker)
            }
            Some(WorkerState::Starting | WorkerState::Working) | None => asking.observe(worker, of_worker),
        };
        if mutant::removed("claim_with_its_turn") {
            return Ok((Group::new(claimed).and(told), turn));
        }
        let group = Group::new(claimed)
            .and(asking.create(turn, TaskTurnState::Idle, of_turn))
            .and(asking.follow(turn, TaskTurnEvent::TaskClaimed, claiming, Facts::none()))
            .and(told);
        Ok((group, turn))
    }

    fn hold_of(&self, receipts: &[Receipt], worker: EntityId, turn: EntityId) -> Result<Hold, TaskError> {
        let record =
            &receipts.first().ok_or_else(|| unfit("the claim recorded nothing", "claim again"))?.record;
        let unreadable = |error| TaskError::Read(callboard_ledger::ReadError::from(error));
        let (event, task) = (record.event().map_err(unreadable)?, record.id().map_err(unreadable)?);
        let epoch = event.data.read(fact::LEASE_EPOCH).unwrap_or_default();
        Ok(Hold { task, worker, turn, epoch: u64::try_from(epoch).unwrap_or_default() })
    }

    /// The hold on a task as it is recorded, if somebody holds it.
    pub fn held(&self, task: EntityId) -> Result<Option<Hold>, TaskError> {
        let stored = self.task(task)?;
        let facts = &stored.entity.facts;
        let id = |name| facts.read(name).and_then(|text: &str| text.parse::<EntityId>().ok());
        let epoch = facts.read(fact::LEASE_EPOCH).and_then(|epoch| u64::try_from(epoch).ok());
        let (Some(worker), Some(turn), Some(epoch)) = (id(fact::LEASE_HOLDER), id(fact::TASK_TURN), epoch)
        else {
            return Ok(None);
        };
        Ok(Some(Hold { task, worker, turn, epoch }))
    }

    /// Says that the worker is there: its lease goes on. No record is made. The agent of a worker that is a process is told until when the
    /// lease lasts and does not renew it: a lease that the agent renewed would outlast the worker, or end before its next beat.
    pub fn heartbeat(&self, hold: &Hold, length: Duration) -> Result<Moment, TaskError> {
        if self.actor.class == ActorClass::Agent && self.is_process(hold.worker)? {
            let seen = lease(self.ledger, hold.task)?.filter(|seen| seen.lease.epoch == hold.epoch);
            let lost = || self.lease_lost(hold, "its lease is over");
            return seen.map_or_else(|| Err(lost()?), |seen| Ok(seen.lease.until));
        }
        match self.ledger.renew_lease(&hold.lease(), length) {
            Ok(lease) => Ok(lease.until),
            Err(LeaseError::Store(error)) => Err(error.into()),
            Err(lost) => Err(self.lease_lost(hold, &lost.to_string())?),
        }
    }

    fn lease_lost(&self, hold: &Hold, problem: &str) -> Result<TaskError, TaskError> {
        let help = "stop; claim it again if it is still to be done".to_owned();
        Ok(refused(&self.task(hold.task)?, RefusalCode::LeaseLost, problem, help))
    }

    /// Is this worker a process, which renews its leases itself?
    fn is_process(&self, worker: EntityId) -> Result<bool, TaskError> {
        Ok(keeper(&self.stored(worker, Kind::Worker)?.entity.facts).is_some())
    }

    /// What the worker says of how far it is.
    pub fn progress(&self, hold: &Hold, said: &str) -> Result<(), TaskError> {
        let data = Facts::none().and(fact::PROGRESS, said);
        self.send_one(carrying(self.observe(hold.task, data), LeaseTerms::carrying(hold.epoch)))?;
        Ok(())
    }

    /// Has the work begun under this hold?
    pub fn is_begun(&self, hold: &Hold) -> Result<bool, TaskError> {
        let state = task::state(&self.task(hold.task)?.entity);
        Ok(state == Some(TaskState::InProgress) && self.held(hold.task)?.as_ref() == Some(hold))
    }

    /// The worktree is ready and the process is launched: from here on the agent acts for the task in this run. It is said before the run
    /// begins, because an agent may report at once. `of_turn` is recorded of the turn alone.
    pub fn launched(
        &self,
        hold: &Hold,
        run: Option<EntityId>,
        place: Facts,
        of_turn: &Facts,
    ) -> Result<(), TaskError> {
        let bound = bound_told(&place).map_or_else(String::new, |bound| format!(", and may take {bound}"));
        let why = match run {
            Some(run) => shown(
                const { ReasonCode::of("task_turn.spawning.launched") },
                format!("its run is launched{bound}"),
                run.to_string(),
            ),
            None => {
                reason(const { ReasonCode::of("task_turn.spawning.launched") }, "the worker itself does it")
            }
        };
        let mut data = place;
        if let Some(run) = run {
            data.record(fact::RUN, run.to_string());
        }
        let task = carrying(self.observe(hold.task, data.clone()), LeaseTerms::carrying(hold.epoch));
        data.merge(of_turn);
        let turn = self.follow(hold.turn, TaskTurnEvent::AgentSpawned, why, data);
        self.send(Group::new(task).and(turn))?;
        Ok(())
    }

    /// The process is seen alive and was heard of: the work has begun.
    pub fn begin(&self, hold: &Hold, heard: &str) -> Result<(), TaskError> {
        let bound = bound_told(&self.task(hold.task)?.entity.facts);
        let began = bound.map_or_else(
            || "its worker began".to_owned(),
            |bound| format!("its worker began; the attempt may take {bound}"),
        );
        let why = shown(const { ReasonCode::of("task.in_progress.started") }, began, heard);
        let task = self.go(hold.task, TaskState::InProgress, why, Facts::none());
        let mut group = Group::new(carrying(task, LeaseTerms::carrying(hold.epoch)));
        let Parties { turn, worker } = self.parties(hold)?;
        for step in self.steps_of_turn(&turn, TurnGoal::Running, heard, Facts::none()) {
            group = group.and(step);
        }
        for step in self.steps_of_worker(&worker, WorkerState::Working, heard) {
            group = group.and(step);
        }
        self.send(group)?;
        Ok(())
    }

    /// Leads the turn of a task to where its agent is.
    pub fn turn_to(&self, hold: &Hold, goal: TurnGoal, seen: &str) -> Result<(), TaskError> {
        let steps = self.lead_turn(hold.turn, goal, seen, Facts::none())?;
        let mut steps = steps.into_iter();
        if let Some(first) = steps.next() {
            self.send(steps.fold(Group::new(first), Group::and))?;
        }
        Ok(())
    }

    /// Records something of a turn.
    pub fn note_turn(&self, turn: EntityId, data: Facts) -> Result<(), TaskError> {
        self.send_one(self.observe(turn, data))?;
        Ok(())
    }

    /// The turn and the worker of a hold as they stand, in one question.
    pub(super) fn parties(&self, hold: &Hold) -> Result<Parties, TaskError> {
        let [turn, worker] = self.ledger.each_of([hold.turn, hold.worker])?;
        let turn = turn.filter(|_| hold.turn.kind() == Kind::TaskTurn);
        let worker = worker.filter(|_| hold.worker.kind() == Kind::Worker);
        Ok(Parties {
            turn: turn.ok_or(TaskError::NotFound { id: hold.turn })?,
            worker: worker.ok_or(TaskError::NotFound { id: hold.worker })?,
        })
    }

    /// The commands that lead a turn to a goal; none if it is there or cannot get there.
    pub(super) fn lead_turn(
        &self,
        turn: EntityId,
        goal: TurnGoal,
        seen: &str,
        data: Facts,
    ) -> Result<Vec<Request>, TaskError> {
        Ok(self.steps_of_turn(&self.stored(turn, Kind::TaskTurn)?, goal, seen, data))
    }

    /// The same for a turn that was read.
    pub(super) fn steps_of_turn(
        &self,
        stored: &Stored,
        goal: TurnGoal,
        seen: &str,
        data: Facts,
    ) -> Vec<Request> {
        let turn = stored.entity.state.id;
        let way = turn_state(&stored.entity).and_then(|state| turn_way(state, goal)).unwrap_or_default();
        let mut at = turn_state(&stored.entity);
        let mut steps = Vec::with_capacity(way.len());
        let last = way.len().saturating_sub(1);
        for (nth, event) in way.into_iter().enumerate() {
            let to = at.and_then(|at| at.after(event));
            let data = if nth == last { data.clone() } else { Facts::none() };
            let asking = if event == TaskTurnEvent::AgentReaped {
                // Cleaning up is the business of whoever started the process.
                self.acting_as(Actor::new(ActorClass::Supervisor, self.actor.id.clone()))
            } else {
                self.for_turn(stored)
            };
            steps.push(asking.follow(turn, event, turn_reason(at, event, seen), data));
            at = to;
        }
        steps
    }

    /// Who moves a turn: whether a person or an agent may act for its task is decided with the task, in the same group.
    fn for_turn(&self, turn: &Stored) -> Self {
        match (self.actor.class, id_in(turn, fact::WORKER)) {
            (ActorClass::Operator, _) => self.system("board"),
            (ActorClass::Agent, Some(worker)) => self.acting_as(worker_actor(worker)),
            (
                ActorClass::Agent
                | ActorClass::System
                | ActorClass::Supervisor
                | ActorClass::Worker
                | ActorClass::ApprovalDesk,
                _,
            ) => self.clone(),
        }
    }

    /// The commands that lead a worker to a state; none if it is there or cannot get there.
    pub(super) fn lead_worker(
        &self,
        worker: EntityId,
        to: WorkerState,
        seen: &str,
    ) -> Result<Vec<Request>, TaskError> {
        Ok(self.steps_of_worker(&self.stored(worker, Kind::Worker)?, to, seen))
    }

    /// The same for a worker that was read.
    pub(super) fn steps_of_worker(&self, stored: &Stored, to: WorkerState, seen: &str) -> Vec<Request> {
        let worker = stored.entity.state.id;
        let way = worker_state(&stored.entity).and_then(|state| worker_way(state, to)).unwrap_or_default();
        let asking = self.acting_as(worker_actor(worker));
        let step = |trigger| {
            let is_over = trigger == WorkerTrigger::TaskFinished;
            let (code, told) = if is_over {
                (const { ReasonCode::of("worker.idle.finished") }, "it finished its task")
            } else if trigger == WorkerTrigger::TaskAssigned {
                (const { ReasonCode::of("worker.working.assigned") }, "it has a task")
            } else {
                (const { ReasonCode::of("worker.working.ready") }, "it was heard of")
            };
            let none = || Facts::none().and(fact::TASK, None::<&str>).and(fact::TASK_TURN, None::<&str>);
            let data = if is_over { none() } else { Facts::none() };
            asking.follow(worker, trigger, shown(code, told, seen), data)
        };
        way.into_iter().map(step).collect()
    }

    /// A worker is gone.
    pub fn bury(&self, worker: EntityId, end: WorkerEnd<'_>) -> Result<(), TaskError> {
        self.bury_seen(&self.stored(worker, Kind::Worker)?, end)
    }

    /// A worker is gone, as whoever looked at it says.
    pub(super) fn bury_seen(&self, stored: &Stored, end: WorkerEnd<'_>) -> Result<(), TaskError> {
        if worker_state(&stored.entity) == Some(WorkerState::Dead) {
            return Ok(());
        }
        self.send_one(self.burial(stored, end))?;
        Ok(())
    }

    /// The command that ends a worker, unless it claimed or reported something since somebody looked.
    pub(super) fn burial(&self, stored: &Stored, end: WorkerEnd<'_>) -> Request {
        let worker = stored.entity.state.id;
        let (trigger, why, abort) = end.parts();
        let data = Facts::none()
            .and(fact::ABORT_REASON, abort.map(callboard_lifecycle::Words::name))
            .and(fact::TASK, None::<&str>);
        let asking = self.acting_as(Actor::new(ActorClass::Supervisor, worker.to_string()));
        let mut request = asking.follow(worker, trigger, why, data);
        request.command.if_version = Some(stored.entity.state.version);
        request
    }

    /// A worker whose task is over is ready for another one, also if somebody took the task from it. False if it is dead.
    pub fn rest(&self, worker: EntityId) -> Result<bool, TaskError> {
        let state = worker_state(&self.stored(worker, Kind::Worker)?.entity);
        if state == Some(WorkerState::Working) {
            let seen = "its task is over";
            self.send_all(self.lead_worker(worker, WorkerState::Idle, seen)?.into_iter())?;
        }
        Ok(state != Some(WorkerState::Dead))
    }
}

fn turn_reason(from: Option<TaskTurnState>, event: TaskTurnEvent, seen: &str) -> StateReason {
    use TaskTurnEvent as Event;
    use TaskTurnState as State;
    let code = match (event, from) {
        (Event::TaskClaimed, _) => const { ReasonCode::of("task_turn.claiming.claimed") },
        (Event::AgentSpawned, Some(State::Spawning)) => const { ReasonCode::of("task_turn.running.ready") },
        (Event::AgentSpawned, _) => const { ReasonCode::of("task_turn.spawning.launched") },
        (Event::ToolStarted, _) => const { ReasonCode::of("task_turn.tool_use.started") },
        (Event::ToolCompleted, _) => const { ReasonCode::of("task_turn.running.tool_returned") },
        (Event::CompactNeeded, Some(State::Verifying)) => {
            const { ReasonCode::of("task_turn.running.context_grew") }
        }
        (Event::CompactNeeded, _) => const { ReasonCode::of("task_turn.compacting.context_limit") },
        (Event::VerifyRequested, Some(State::Compacting)) => {
            const { ReasonCode::of("task_turn.running.compacted") }
        }
        (Event::VerifyRequested, _) => const { ReasonCode::of("task_turn.verifying.requested") },
        (Event::TaskCompleted, _) => const { ReasonCode::of("task_turn.completing.verified") },
        (Event::TaskFailed, Some(State::Claiming)) => const { ReasonCode::of("task_turn.failed.setup") },
        (Event::TaskFailed, Some(State::Spawning)) => const { ReasonCode::of("task_turn.failed.spawn") },
        (Event::TaskFailed, Some(State::ToolUse)) => const { ReasonCode::of("task_turn.failed.tool") },
        (Event::TaskFailed, Some(State::Compacting)) => {
            const { ReasonCode::of("task_turn.failed.compaction") }
        }
        (Event::TaskFailed, Some(State::Verifying)) => {
            const { ReasonCode::of("task_turn.failed.verification") }
        }
        (Event::TaskFailed, _) => const { ReasonCode::of("task_turn.failed.runtime") },
        (Event::AgentReaped, _) => const { ReasonCode::of("task_turn.reaped.cleaned") },
    };
    shown(code, seen, seen)
}

/// The facts of a task that its agent and its worker are told.
pub(crate) fn id_in(stored: &Stored, name: callboard_kernel::Fact<fact::Text>) -> Option<EntityId> {
    stored.entity.facts.read(name).and_then(|text| text.parse().ok())
}
