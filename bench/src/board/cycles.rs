//! Workers that each take tasks through their whole life: added, claimed, begun, done, closed.
//!
//! Invariant: every step is an act of the engine that a surface, a crew or the janitor makes, recorded and synced before the next one.
//! Deliberately absent: agents, worktrees and merges, whose time is theirs.

use std::io;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use callboard_engine::tasks::{Asking, Done, Hold, LEASE, NewTask, NewWorker, TaskError};
use callboard_kernel::{Actor, EntityId, Facts, Moment};
use callboard_ledger::{ClaimQuery, Ledger};
use callboard_lifecycle::ActorClass;
use callboard_wire::TaskRequest;

/// How often a worker looks for a task before it says that there is none. Each adds one before it claims one.
const LOOKS_MAX: usize = 1_000;

/// Workers on one board.
pub(super) struct Workers {
    ledger: Ledger,
    workers: Vec<EntityId>,
    /// How long each claim took since they were last taken away.
    claims: Vec<Duration>,
}

impl Workers {
    pub(super) fn new(ledger: Ledger, count: u64) -> Result<Self, TaskError> {
        let join = |number| {
            let worker = NewWorker { title: format!("worker {number}"), ..NewWorker::default() };
            person(&ledger).join(&worker)
        };
        let workers = (0..count).map(join).collect::<Result<_, _>>()?;
        Ok(Self { ledger, workers, claims: Vec::new() })
    }

    /// Lets every worker do as many tasks; how long that took.
    pub(super) fn work(&mut self, cycles: u64) -> io::Result<Duration> {
        let start = Instant::now();
        let ledger = &self.ledger;
        let claims = std::thread::scope(|scope| {
            let working: Vec<_> = self
                .workers
                .iter()
                .map(|worker| scope.spawn(move || (0..cycles).map(|_| cycle(ledger, *worker)).collect()))
                .collect();
            let joined = working.into_iter().map(|thread| match thread.join() {
                Ok(claims) => claims,
                Err(_) => Err(io::Error::other("a worker panicked")),
            });
            joined.collect::<io::Result<Vec<Vec<Duration>>>>()
        })?;
        let took = start.elapsed();
        self.claims.extend(claims.into_iter().flatten());
        Ok(took)
    }

    /// How long the claims took.
    pub(super) fn take_claims(&mut self) -> Vec<Duration> {
        std::mem::take(&mut self.claims)
    }
}

/// One task from its beginning to its end; how long its claim took.
fn cycle(ledger: &Ledger, worker: EntityId) -> io::Result<Duration> {
    let tried = || -> Result<Option<Duration>, TaskError> {
        let request = TaskRequest { title: "fix the flaky login test".to_owned(), ..TaskRequest::default() };
        person(ledger).add(NewTask::read(&request, ActorClass::Operator)?)?;
        let start = Instant::now();
        let Some(hold) = claim(ledger, worker)? else { return Ok(None) };
        let took = start.elapsed();
        let asking = || person(ledger).acting_for_worker(worker);
        asking().begin(&hold, "its first line was read")?;
        let (summary, evidence) = ("the test waits for the server".to_owned(), "exit code 0".to_owned());
        asking().report_done(&hold, &Done { summary, evidence, data: Facts::none() })?;
        let janitor = Asking::new(ledger, Actor::new(ActorClass::System, "janitor"), now());
        janitor.close(&janitor.task(hold.task)?, &Facts::none(), "nothing was to be verified")?;
        Ok(Some(took))
    };
    let took = tried().map_err(io::Error::other)?;
    took.ok_or_else(|| io::Error::other("there is no task to claim"))
}

fn claim(ledger: &Ledger, worker: EntityId) -> Result<Option<Hold>, TaskError> {
    for _ in 0..LOOKS_MAX {
        let claimed =
            person(ledger).acting_for_worker(worker).claim_next(worker, ClaimQuery::default(), LEASE)?;
        if claimed.is_some() {
            return Ok(claimed);
        }
    }
    Ok(None)
}

fn person(ledger: &Ledger) -> Asking<'_> {
    Asking::new(ledger, Actor::new(ActorClass::Operator, "ann"), now())
}

#[expect(clippy::disallowed_methods, reason = "leases are real, and nothing is replayed here")]
fn now() -> Moment {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Moment::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}
