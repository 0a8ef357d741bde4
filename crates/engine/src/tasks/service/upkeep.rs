//! Workers and turns that nobody looks after any more: workers without a process, and turns whose task is somebody else's.
//!
//! Invariant: a worker that holds a task is left alone, and so is a turn whose task waits for its worker, for the janitor or for the recovery.
//! Every act names the version it was decided on. A worker that is a process is left to the recovery of its host, which sees whether it is
//! gone; only where nobody looks after a host any more its workers are given up, with what was last known of them. Whoever was given up
//! and comes back claims nothing and joins anew.

use std::time::Duration;

use callboard_kernel::{EntityId, Facts, Moment, TurnGoal, fact, task, worker_state};
use callboard_ledger::Stored;
use callboard_lifecycle::worker::WorkerState;
use callboard_lifecycle::{Kind, ReasonCode};

use crate::judging::recorded::keeper;
use crate::services::host_of_crew;
use crate::tasks::asking::{Asking, TaskError, settled, shown};
use crate::tasks::holding::{WorkerEnd, id_in};
use crate::tasks::looking::live;
use crate::tasks::reporting::say_failed;

/// How long a worker may have nothing to do before it is recycled.
pub const IDLE: Duration = Duration::from_secs(300);

/// How long a worker of a host that nobody looks after may keep silent before it is given up.
pub const FORSAKEN: Duration = Duration::from_secs(3600);

impl Asking<'_> {
    /// Lets workers go that stand for somebody and were not heard of for long. Whoever comes back joins anew.
    pub(super) fn recycle_workers(&self) -> Result<(), TaskError> {
        let watched = self.watched_hosts()?;
        for stored in live(self.ledger, Kind::Worker)? {
            let facts = &stored.entity.facts;
            let is_process = facts.known(fact::BY).is_none() || keeper(facts).is_some();
            if is_process {
                self.give_up(&stored, &watched)?;
                continue;
            }
            if self.now.since(heard_at(&stored)) < IDLE || self.holds_task(&stored)? {
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

    /// The hosts on which a crew looks after workers now.
    fn watched_hosts(&self) -> Result<Vec<String>, TaskError> {
        let in_force = self.ledger.leases()?.into_iter().filter(|seen| !seen.left.is_zero());
        Ok(in_force.filter_map(|seen| host_of_crew(&seen.lease.name).map(str::to_owned)).collect())
    }

    /// Ends a worker of a host that nobody looks after, once it was not heard of for long and holds nothing.
    fn give_up(&self, stored: &Stored, watched: &[String]) -> Result<(), TaskError> {
        let heard = heard_at(stored);
        let Some(host) = stored.entity.facts.read(fact::HOST) else { return Ok(()) };
        let is_watched = watched.iter().any(|other| other == host);
        if is_watched || self.now.since(heard) < FORSAKEN || self.holds_task(stored)? {
            return Ok(());
        }
        let told = format!("it was heard of last at {heard}, on {host}, where no crew looks after it");
        settled(self.bury_seen(stored, WorkerEnd::Silent(&told)))
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
