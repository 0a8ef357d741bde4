//! The one writer of a process on this engine: one connection, one transaction a batch, across hosts in one order.
//!
//! Invariant: nobody is answered before the commit. A lost connection is replaced; what had not been sent to commit
//! is run again, and what had is looked up, never guessed. Nothing without a key is sent twice. Deliberately absent:
//! the queue and the answers; `ledger` has those.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};

use super::connection::connect::StoreServer;
use super::connection::fence;
use super::connection::session::{Backend, Patience, Refused, Session};
use super::connection::trouble::{self, SILENCE, Trouble};
use super::schema;
use super::transaction::{Broken, Memory};
use crate::engine::Commit;
use crate::error::{Fault, OpenError};
use crate::mutant;
use crate::proof::checkpoint::Seal;
use crate::proof::witness::Witness;
use crate::store::{Job, Receipt};
use crate::writing::batch::{Anchor, JobResult, fault_of, receipts};

/// The writer of one process. It lives on a thread of its own: its calls block.
pub(crate) struct Writer {
    place: StoreServer,
    seal: Option<Seal>,
    memory: Memory,
    /// The newest record that this writer has answered for.
    anchor: Anchor,
    session: Option<Session>,
    /// The second place, if there is one.
    witness: Option<Arc<Witness>>,
    used_at: Instant,
    runtime: Runtime,
}

/// After a longer silence the connection is tried out by taking the lock first: if it is dead, that shows before
/// anything is on its way.
const TRUSTED_FOR: Duration = Duration::from_millis(50);
/// How often a batch may lose its connection while it commits before it is given up.
const ROUNDS_MAX: u32 = 3;

impl Writer {
    /// Opens the store, making it if it is not there. Blocks, so it must not run on a thread of another runtime.
    pub(crate) fn new(place: StoreServer, key: Option<&Path>) -> Result<Self, OpenError> {
        let fail = |source| OpenError::Directory { path: place.shown().into(), source };
        let runtime = Builder::new_current_thread().enable_all().build().map_err(fail)?;
        let seal = key.map(Seal::at).transpose()?;
        runtime.block_on(schema::open(&place, seal.as_ref()))?;
        let session = None;
        let (memory, anchor) = (Memory::default(), Anchor::default());
        let used_at = Instant::now();
        Ok(Self { place, seal, memory, anchor, session, witness: None, used_at, runtime })
    }

    fn settle(&mut self, jobs: &[&Job], round: u32) -> Vec<JobResult> {
        if jobs.is_empty() {
            return Vec::new();
        }
        match self.attempt(jobs, round) {
            Ok(verdicts) => verdicts,
            // One of them upset the database: each gets its own transaction, so only that one fails.
            Err(Upset::Statement(_)) if jobs.len() > 1 => {
                jobs.iter().flat_map(|job| self.settle(&[job], round)).collect()
            }
            Err(upset) => jobs.iter().map(|_| Err(upset.fault().into())).collect(),
        }
    }

    fn attempt(&mut self, jobs: &[&Job], round: u32) -> Result<Vec<JobResult>, Upset> {
        let mut patience = Patience::new(self.place.busy_wait);
        let mut needs_lock = false;
        loop {
            self.reach(&mut patience).map_err(|refused| Upset::Fault(refused.fault()))?;
            let broken = match self.try_once(jobs, needs_lock) {
                Ok(verdicts) => return Ok(verdicts),
                Err(Broken::NeedsLock) => {
                    needs_lock = true;
                    continue;
                }
                Err(broken) => broken,
            };
            self.memory.forget();
            match broken {
                Broken::Overtaken | Broken::NeedsLock => {}
                Broken::InFlight(verdicts, error) => return Ok(self.resolve(jobs, verdicts, &error, round)),
                Broken::Before(Trouble::Again) => {
                    std::thread::sleep(patience.next().ok_or(Upset::Fault(Fault::Busy))?);
                }
                Broken::Before(Trouble::Lost(error)) => {
                    self.session = None;
                    let fault = || Upset::Fault(Fault::ReadOnly(error));
                    std::thread::sleep(patience.next().ok_or_else(fault)?);
                }
                Broken::Before(Trouble::Statement(error)) => return Err(Upset::Statement(error)),
                Broken::Before(Trouble::Fault(fault)) => return Err(Upset::Fault(fault)),
            }
        }
    }

    fn try_once(&mut self, jobs: &[&Job], needs_lock: bool) -> Result<Vec<JobResult>, Broken> {
        let Some(session) = &self.session else { unreachable!("BUG: it was reached before") };
        let seal = self.seal.as_ref();
        let is_calm = !needs_lock && self.used_at.elapsed() < TRUSTED_FOR && self.memory.is_calm(jobs, seal);
        let limit = self.place.answer_max();
        mutant::point("before_begin");
        let done = if is_calm {
            self.runtime.block_on(self.memory.calm(session, jobs, seal, limit))
        } else {
            self.runtime.block_on(self.memory.locked(session, jobs, seal, limit))
        };
        mutant::point("after_commit");
        self.used_at = Instant::now();
        done
    }

    /// Has a session, waiting for the server to come back if need be.
    fn reach(&mut self, patience: &mut Patience) -> Result<(), Refused> {
        if self.session.as_ref().is_some_and(|session| !session.client.is_closed()) {
            return Ok(());
        }
        self.memory.forget();
        loop {
            let refused = match self.runtime.block_on(Session::open(&self.place, self.anchor)) {
                Ok(session) => {
                    self.session = Some(session);
                    return Ok(());
                }
                Err(refused) => refused,
            };
            match patience.next() {
                Some(pause) if refused.may_come_back() => std::thread::sleep(pause),
                Some(_) | None => return Err(refused),
            }
        }
    }

    /// The connection was lost while the commit was on its way: only what is found on a new one counts.
    fn resolve(
        &mut self,
        jobs: &[&Job],
        verdicts: Vec<JobResult>,
        error: &str,
        round: u32,
    ) -> Vec<JobResult> {
        let Some(lost) = self.session.take() else { unreachable!("BUG: it committed without a session") };
        if mutant::removed("resolve_unknown_commits") {
            return verdicts;
        }
        match self.read_back(&lost.backend, &verdicts) {
            Err(again) => verdicts.iter().map(|verdict| doubt(verdict, error, &again)).collect(),
            Ok(Found::All) => verdicts,
            Ok(Found::None) => self.again(jobs, verdicts, error, round),
        }
    }

    fn read_back(&mut self, lost: &Backend, verdicts: &[JobResult]) -> Result<Found, String> {
        let written = || receipts(verdicts).filter(|receipt| !receipt.repeated);
        let (Some(first), Some(last)) = (written().next(), written().next_back()) else {
            return Ok(Found::All);
        };
        let mut patience = Patience::new(self.place.busy_wait);
        self.reach(&mut patience).map_err(|refused| refused.text())?;
        let Some(session) = &self.session else { unreachable!("BUG: it was reached above") };
        let range = (first.record.seq, last.record.seq);
        let asking = fence::hashes(session, lost, range, &mut patience);
        let limit = self.place.answer_max();
        let found = self.runtime.block_on(async { tokio::time::timeout(limit, asking).await });
        let found = match found {
            Ok(found) => found.map_err(|error| trouble::chain(&error)),
            Err(_) => Err(SILENCE.to_owned()),
        };
        let found = found.inspect_err(|_| self.session = None)?;
        // A transaction is there whole or not at all.
        let is_there = |receipt: &Receipt| found.get(&receipt.record.seq) == Some(&receipt.record.hash);
        Ok(if written().all(is_there) { Found::All } else { Found::None })
    }

    /// The batch is not there, and that is certain. What has a key, or wrote nothing, is run again; a record without
    /// a key is for its caller to send again.
    fn again(&mut self, jobs: &[&Job], verdicts: Vec<JobResult>, error: &str, round: u32) -> Vec<JobResult> {
        let not_written = || Err(Fault::NotWritten(error.to_owned()).into());
        let may_run = |(job, verdict): &(&&Job, &JobResult)| {
            round < ROUNDS_MAX && (!is_written(verdict) || job.is_keyed())
        };
        let chosen: Vec<bool> = jobs.iter().zip(&verdicts).map(|pair| may_run(&pair)).collect();
        let runs: Vec<&Job> =
            jobs.iter().zip(&chosen).filter(|(_, run)| **run).map(|(job, _)| *job).collect();
        let mut fresh = self.settle(&runs, round + 1).into_iter();
        chosen
            .into_iter()
            .map(|run| if run { fresh.next() } else { None }.unwrap_or_else(not_written))
            .collect()
    }
}

/// What reading back showed.
enum Found {
    All,
    None,
}

/// Did this batch write records for the job?
fn is_written(verdict: &JobResult) -> bool {
    receipts(std::slice::from_ref(verdict)).any(|receipt| !receipt.repeated)
}

/// The store cannot be read back: what was written may or may not be there, and nothing else was judged on solid
/// ground.
fn doubt(verdict: &JobResult, error: &str, again: &str) -> JobResult {
    let text = format!("{error}; then {again}");
    Err(if is_written(verdict) { Fault::Unknown(text) } else { Fault::ReadOnly(text) }.into())
}

impl Commit for Writer {
    fn commit(&mut self, jobs: Vec<Job>) -> Result<Anchor, Fault> {
        let verdicts = self.settle(&jobs.iter().collect::<Vec<_>>(), 0);
        self.anchor.follow(&verdicts);
        let became = fault_of(&verdicts).map(|()| self.anchor);
        for (job, verdict) in jobs.into_iter().zip(verdicts) {
            job.reply.answer(verdict);
        }
        if let (Some(witness), Some(step), Ok(_)) = (&self.witness, self.memory.take_step(), &became) {
            witness.sealed(&step);
        }
        became
    }

    fn watched_by(&mut self, witness: Arc<Witness>) {
        self.witness = Some(witness);
    }
}

/// Why a batch was not recorded.
enum Upset {
    /// The database refused one statement; the others may be fine.
    Statement(String),
    /// The world failed for all of them.
    Fault(Fault),
}

impl Upset {
    fn fault(&self) -> Fault {
        match self {
            Self::Statement(error) => {
                Fault::Corrupt(format!("the database refused a record the kernel allowed: {error}"))
            }
            Self::Fault(fault) => fault.clone(),
        }
    }
}
