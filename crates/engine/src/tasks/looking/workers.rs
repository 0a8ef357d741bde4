//! The workers of the board as they are seen from here: one answer for every surface.
//!
//! Invariant: the visual state is judged from one reading of the store and one look at the process. A worker that seems to be gone is read
//! again, because it records its end and then goes. Deliberately absent: ending a worker, which the recovery of its host does.

use std::collections::HashMap;
use std::time::Duration;

use callboard_kernel::health::{
    Grip, Hold, Liveness, ProcessIdentity, Sighting, Thresholds, Vantage, WorkerFacts, WorkerProcess,
    WorkerVisual, judge_worker, liveness,
};
use callboard_kernel::{Entity, EntityId, Moment, fact, one_line, task, turn_state, worker_state};
use callboard_ledger::{LeaseSeen, Ledger, Listing, ReadError, Sequence, Slice, Stored};
use callboard_lifecycle::{Kind, Words};
use callboard_wire::{WorkerShape, WorkersShape};

use crate::judging::ProcessTable;
use crate::judging::recorded::keeper;
use crate::tasks::holding::id_in;

const PAGE: usize = 500;
/// How long ago a worker may have ended to be shown among the others.
const LATELY: Duration = Duration::from_hours(24);
/// How often a worker is read again that moves on while somebody looks.
const STEADY_MAX: usize = 4;

/// Which workers are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkersWanted {
    /// Those whose end is not recorded.
    Live,
    /// Those that ended in the last day too; of those that joined last, as many as a page holds.
    Lately,
}

/// A worker's task and turn, and how it holds them.
struct Work {
    grip: Grip,
    task: Option<Stored>,
    turn: Option<Stored>,
    lease: Option<LeaseSeen>,
}

/// The leases that were not given up, by the ID of the task.
type LeasesByTask = HashMap<String, LeaseSeen>;

/// What all workers are judged by, read once.
struct Reading<'a> {
    ledger: &'a Ledger,
    table: &'a dyn ProcessTable,
    now: Moment,
    leases: LeasesByTask,
    /// The turns whose work is being verified or merged, by the ID of the worker; the newest of each.
    handed_in: HashMap<EntityId, (Stored, Stored)>,
}

/// Reads the workers of the board, as they are seen from a host.
pub fn workers(
    ledger: &Ledger,
    table: &dyn ProcessTable,
    wanted: WorkersWanted,
    now: Moment,
) -> Result<WorkersShape, ReadError> {
    let head = ledger.head()?;
    let (leases, handed_in) = (leases_by_task(ledger)?, handed_in(ledger)?);
    let reading = Reading { ledger, table, now, leases, handed_in };
    let mut items = Vec::new();
    for stored in live(ledger, Kind::Worker)? {
        items.extend(reading.shown(stored)?);
    }
    if wanted == WorkersWanted::Lately {
        let newest =
            Slice { kind: Some(Kind::Worker), order: Sequence::Newest, limit: PAGE, ..Slice::default() };
        let is_lately = |stored: &Stored| stored.entity.ended_at.is_some_and(|at| now.since(at) <= LATELY);
        let mut ended: Vec<Stored> = ledger.slice(newest)?.into_iter().filter(is_lately).collect();
        ended.sort_by_key(|stored| std::cmp::Reverse(stored.entity.ended_at));
        items.extend(ended.iter().map(|stored| reading.ended(stored)));
    }
    Ok(WorkersShape { items, head })
}

/// What the workers that have not ended are called, by ID.
pub fn worker_names(ledger: &Ledger) -> Result<HashMap<String, String>, ReadError> {
    let all = ledger.entities(Listing { kind: Some(Kind::Worker), ended: false, limit: 0 })?;
    let named = |stored: &Stored| {
        Some((stored.entity.state.id.to_string(), one_line(stored.entity.facts.read(fact::TITLE)?)))
    };
    Ok(all.iter().filter_map(named).collect())
}

fn handed_in(ledger: &Ledger) -> Result<HashMap<EntityId, (Stored, Stored)>, ReadError> {
    let mut found = HashMap::new();
    for turn in live(ledger, Kind::TaskTurn)? {
        let (Some(worker), Some(id)) = (id_in(&turn, fact::WORKER), id_in(&turn, fact::TASK)) else {
            continue;
        };
        if let Some(task) = ledger.entity(id)?.filter(|task| task::is_handed_in(&task.entity, &turn.entity)) {
            found.insert(worker, (task, turn));
        }
    }
    Ok(found)
}

/// Everything of a kind that has not ended, the oldest first.
pub(crate) fn live(ledger: &Ledger, kind: Kind) -> Result<Vec<Stored>, ReadError> {
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

impl Reading<'_> {
    /// A worker as it is shown; nothing if it has ended since it was read.
    fn shown(&self, stored: Stored) -> Result<Option<WorkerShape>, ReadError> {
        let process = self.process(&stored.entity);
        let stored = match process {
            WorkerProcess::Gone => self.ledger.entity(stored.entity.state.id)?.unwrap_or(stored),
            WorkerProcess::NotRecorded
            | WorkerProcess::Alive
            | WorkerProcess::Held(_)
            | WorkerProcess::Unseen(_) => stored,
        };
        let (stored, work) = self.steady(stored)?;
        if stored.entity.ended_at.is_some() {
            return Ok(None);
        }
        let heard = work.lease.as_ref().map(|seen| seen.renewed_at);
        let joined = stored.entity.created_at;
        let claimed = work.turn.as_ref().and_then(|turn| turn.entity.created_at);
        let facts = WorkerFacts {
            state: worker_state(&stored.entity),
            process,
            grip: work.grip,
            spawning_for: claimed.max(joined).map_or(Duration::ZERO, |since| self.now.since(since)),
            silent_for: work.lease.as_ref().map(|seen| self.silence(seen)),
        };
        let (visual, why) = judge_worker(&facts, &Thresholds::default());
        let mut shape = plain(&stored.entity, visual, why);
        shape.last_heard_at = heard.or(stored.entity.last_activity_at).map(|at| at.to_string());
        if let Some(task) = &work.task {
            shape.task = Some(task.entity.state.id.to_string());
            shape.task_title = task.entity.facts.read(fact::TITLE).map(str::to_owned);
        }
        if let Some(turn) = &work.turn {
            shape.turn = Some(turn.entity.state.id.to_string());
            shape.turn_state = turn_state(&turn.entity).map(|state| state.name().to_owned());
        }
        Ok(Some(shape))
    }

    /// How long ago a lease was renewed; by the clock of the store while the lease is in force.
    fn silence(&self, seen: &LeaseSeen) -> Duration {
        match seen.left.is_zero() {
            true => self.now.since(seen.renewed_at),
            false => seen.lease.until.since(seen.renewed_at).saturating_sub(seen.left),
        }
    }

    /// A worker whose end is recorded, with the reason of the record.
    fn ended(&self, stored: &Stored) -> WorkerShape {
        let facts = WorkerFacts {
            state: worker_state(&stored.entity),
            process: WorkerProcess::NotRecorded,
            grip: Grip::NoTask,
            spawning_for: Duration::ZERO,
            silent_for: None,
        };
        let (visual, why) = judge_worker(&facts, &Thresholds::default());
        let why = stored.entity.reasons.first().map_or(why, |reason| reason.message.clone());
        let mut shape = plain(&stored.entity, visual, why);
        shape.last_heard_at = stored.entity.last_activity_at.map(|at| at.to_string());
        shape
    }

    fn process(&self, entity: &Entity) -> WorkerProcess {
        let Some(recorded) = keeper(&entity.facts) else { return WorkerProcess::NotRecorded };
        let vantage = recorded.place.seen_from(self.table.here());
        let seen = self.sighting(&recorded, vantage);
        let alive = liveness(Some(&recorded), self.table.here(), seen);
        let hold = if let Sighting::Seen { hold, .. } = seen { hold } else { None };
        let is_frozen = || alive == Liveness::Alive && self.table.is_frozen(recorded.pid);
        let frozen = || is_frozen().then_some(Hold::Freezer);
        WorkerProcess::seen(alive, vantage, hold.or_else(frozen))
    }

    fn sighting(&self, recorded: &ProcessIdentity, vantage: Vantage) -> Sighting {
        match vantage {
            Vantage::Here => self.table.look_anew(recorded.pid),
            Vantage::Restarted
            | Vantage::OtherMachine
            | Vantage::OtherPidNamespace
            | Vantage::OtherTimeNamespace => Sighting::NotLooked,
        }
    }

    /// A worker and its work. That a lease is over is believed only if it was read while the worker stood as it is shown: workers claim and
    /// report while somebody looks.
    fn steady(&self, mut stored: Stored) -> Result<(Stored, Work), ReadError> {
        let mut leases = None;
        for _ in 0..STEADY_MAX {
            let work = self.work(&stored, leases.as_ref().unwrap_or(&self.leases))?;
            if work.grip != Grip::LeaseOver || stored.entity.ended_at.is_some() {
                return Ok((stored, work));
            }
            let again = self.ledger.entity(stored.entity.state.id)?;
            let is_same =
                again.as_ref().is_some_and(|again| again.entity.state.version == stored.entity.state.version);
            if is_same && leases.is_some() {
                return Ok((stored, work));
            }
            stored = again.unwrap_or(stored);
            leases = Some(leases_by_task(self.ledger)?);
        }
        let work = self.work(&stored, leases.as_ref().unwrap_or(&self.leases))?;
        Ok((stored, work))
    }

    /// The task that a worker has, or else the one that it handed in.
    fn work(&self, worker: &Stored, leases: &LeasesByTask) -> Result<Work, ReadError> {
        let id = worker.entity.state.id;
        let Some(held) = id_in(worker, fact::TASK) else {
            let (task, turn) = self.handed_in.get(&id).cloned().unzip();
            let grip = if task.is_some() { Grip::HandedIn } else { Grip::NoTask };
            return Ok(Work { grip, task, turn, lease: None });
        };
        let task = self.ledger.entity(held)?;
        let turn = match id_in(worker, fact::TASK_TURN) {
            Some(turn) => self.ledger.entity(turn)?,
            None => None,
        };
        let lease = leases.get(&held.to_string()).filter(|seen| seen.lease.holder == id.to_string());
        let is_recorded = task.as_ref().is_some_and(|task| id_in(task, fact::LEASE_HOLDER) == Some(id));
        let grip = match lease {
            Some(seen) if is_recorded && !seen.left.is_zero() => Grip::Leased,
            Some(_) | None => Grip::LeaseOver,
        };
        Ok(Work { grip, task, turn, lease: lease.cloned() })
    }
}

fn leases_by_task(ledger: &Ledger) -> Result<LeasesByTask, ReadError> {
    Ok(ledger.leases()?.into_iter().map(|seen| (seen.lease.name.clone(), seen)).collect())
}

/// What is recorded of a worker, with its visual state.
fn plain(entity: &Entity, visual: WorkerVisual, why: String) -> WorkerShape {
    let facts = &entity.facts;
    let text = |name| facts.read(name).map(|text: &str| text.to_owned());
    WorkerShape {
        id: entity.state.id.to_string(),
        title: text(fact::TITLE),
        visual: visual.name().to_owned(),
        label: visual.label().to_owned(),
        indicator: visual.indicator().to_string(),
        token: visual.token().name().to_owned(),
        why,
        state: entity.state.lifecycle.map(|state| state.name().to_owned()),
        host: text(fact::HOST),
        pid: keeper(facts).map(|process| process.pid),
        by: text(fact::BY),
        profile: text(fact::PROFILE),
        role: text(fact::ROLE),
        since: entity.entered_at.map(|at| at.to_string()),
        ..WorkerShape::default()
    }
}
