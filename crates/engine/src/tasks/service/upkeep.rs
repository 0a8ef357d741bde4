//! Workers and turns that nobody looks after any more: workers without a process, and turns whose task is somebody else's.
//!
//! Invariant: a worker that holds a task is left alone, and so is a turn whose task waits for its worker, for the janitor or for the recovery.
//! Every act names the version it was decided on. Deliberately absent: workers that are processes; the recovery of their host
//! sees whether those are gone.

use std::time::Duration;

use callboard_kernel::{EntityId, Facts, Moment, TurnGoal, fact, task, worker_state};
use callboard_ledger::{Ledger, Sequence, Slice, Stored};
use callboard_lifecycle::worker::WorkerState;
use callboard_lifecycle::{Kind, ReasonCode};

use crate::tasks::asking::{Asking, TaskError, settled, shown};
use crate::tasks::holding::{WorkerEnd, id_in};
use crate::tasks::reporting::say_failed;

/// How long a worker may have nothing to do before it is recycled.
pub const IDLE: Duration = Duration::from_secs(300);

const PAGE: usize = 500;

/// Everything of a kind that has not ended, the oldest first.
pub(super) fn live(ledger: &Ledger, kind: Kind) -> Result<Vec<Stored>, TaskError> {
    let (mut all, mut beyond) = (Vec::new(), None);
    loop {
        let slice = Slice {
            kind: Some(kind),
            live: true,
            order: Sequence::Oldest,
            beyond,
            limit: PAGE,
            ..Slice::default()
        };
        let piece = ledger.slice(slice)?;
        let Some(last) = piece.last() else { return Ok(all) };
        beyond = Some(last.entity.state.id);
        all.extend(piece);
    }
}

impl Asking<'_> {
    /// Lets workers go that stand for somebody and were not heard of for long. Whoever comes back joins anew.
    pub(super) fn recycle_workers(&self) -> Result<(), TaskError> {
        for stored in live(self.ledger, Kind::Worker)? {
            let facts = &stored.entity.facts;
            let is_process = facts.known(fact::BY).is_none() || facts.known(fact::PID).is_some();
            if is_process || self.now.since(heard_at(&stored)) < IDLE || self.holds_task(&stored)? {
                continue;
            }
            let end = match worker_state(&stored.entity) {
                Some(WorkerState::Idle) => WorkerEnd::Recycled("nobody claimed a task with it for long"),
                Some(WorkerState::Starting) => WorkerEnd::SpawnFailed("it joined and never began a task"),
                Some(WorkerState::Working) => WorkerEnd::Silent("it lost its task and did not come back"),
                Some(WorkerState::Dead) | None => continue,
            };
            settled(self.bury_seen(&stored, end))?;
        }
        Ok(())
    }

    /// Does a worker hold the task that it claimed last?
    fn holds_task(&self, worker: &Stored) -> Result<bool, TaskError> {
        let Some(task) = id_in(worker, fact::TASK) else { return Ok(false) };
        let holder = self.ledger.entity(task)?.and_then(|task| id_in(&task, fact::LEASE_HOLDER));
        Ok(holder == Some(worker.entity.state.id))
    }

    /// Ends turns whose task went on without them, as after a person moved it by hand.
    pub(super) fn reap_turns(&self) -> Result<(), TaskError> {
        for stored in live(self.ledger, Kind::TaskTurn)? {
            let turn = stored.entity.state.id;
            if let Some(task) = id_in(&stored, fact::TASK)
                && let Some(task) = self.ledger.entity(task)?
                && task::is_turn_over(&task.entity, turn)
            {
                settled(self.reap_abandoned(turn))?;
            }
        }
        Ok(())
    }

    fn reap_abandoned(&self, turn: EntityId) -> Result<(), TaskError> {
        let told = "its task went on without it";
        let mut steps = self.lead_turn(turn, TurnGoal::Reaped, told, Facts::none())?;
        say_failed(&mut steps, &shown(const { ReasonCode::of("task_turn.failed.lease_lost") }, told, told));
        self.send_all(steps.into_iter())
    }
}

/// When a worker was heard of last, or moved.
fn heard_at(worker: &Stored) -> Moment {
    let entity = &worker.entity;
    entity.last_activity_at.max(entity.entered_at).unwrap_or_default()
}
