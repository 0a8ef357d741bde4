//! The writer of a store in memory: decides about everything that it is handed, and keeps all of it or nothing.
//!
//! Invariant: nobody is answered before the medium has kept the records. A commit whose fate is unknown is answered as such,
//! whether the records are there or not.

use std::sync::Arc;
use std::time::Duration;

use callboard_kernel::EntityId;

use super::log::Log;
use super::medium::Fate;
use super::store::{Memory, Shared};
use crate::engine::Commit;
use crate::error::{Fault, ReadError, chain};
use crate::mutant;
use crate::proof::checkpoint::Seal;
use crate::proof::sealed::Ends;
use crate::proof::witness::Witness;
use crate::record::Record;
use crate::store::{Job, Part, Receipt};
use crate::writing::batch::{Anchor, BatchState, Drafted, JobResult, Judged, fault_of, receipts};
use crate::writing::claim;
use crate::writing::several::Several;

/// One writer of a store in memory.
pub(crate) struct Writer {
    memory: Memory,
    busy_wait: Duration,
    anchor: Anchor,
}

impl Writer {
    pub(crate) fn new(memory: &Memory, busy_wait: Duration) -> Self {
        Self { memory: memory.clone(), busy_wait, anchor: Anchor::default() }
    }

    fn transact(&self, jobs: &[Job], fate: Fate) -> Result<Vec<JobResult>, Fault> {
        let shared: &Shared = &self.memory.0;
        if fate == Fate::Busy {
            return Err(Fault::Busy);
        }
        let _turn = shared.turn(self.busy_wait).ok_or(Fault::Busy)?;
        if fate == Fate::Full {
            return Err(Fault::Full);
        }
        let mut log = shared.log();
        let mut batch = Batch { log: &log, standing: BatchState::default(), drafted: Vec::new() };
        batch.standing.seen = log.seen();
        batch.standing.begin(shared.medium.now());
        let verdicts = jobs.iter().map(|job| batch.one(job)).collect::<Result<Vec<JobResult>, ReadError>>();
        let verdicts = verdicts.map_err(|error| Fault::Corrupt(chain(&error)))?;
        let Batch { mut standing, drafted, .. } = batch;
        if drafted.is_empty() {
            return Ok(verdicts);
        }
        if fate == Fate::Kept || fate == Fate::UnknownKept {
            log.take(drafted, &standing);
            for (id, row) in standing.leases.take_changed() {
                log.leases.insert(id.to_string(), row);
            }
            if let Some(seal) = &shared.seal {
                seal_up(&mut log, seal, &verdicts).map_err(|error| Fault::Corrupt(chain(&error)))?;
            }
        }
        match fate {
            Fate::NotWritten if mutant::removed("stop_after_failed_sync") => Ok(verdicts),
            Fate::NotWritten => Err(Fault::NotWritten("the sync failed".to_owned())),
            Fate::UnknownKept | Fate::UnknownLost => Err(Fault::Unknown("the answer was lost".to_owned())),
            Fate::Kept | Fate::Busy | Fate::Full => Ok(verdicts),
        }
    }
}

impl Commit for Writer {
    fn commit(&mut self, jobs: Vec<Job>) -> Result<Anchor, Fault> {
        let fate = self.memory.0.medium.committing();
        let verdicts = match self.transact(&jobs, fate) {
            Ok(verdicts) => verdicts,
            Err(fault) => jobs.iter().map(|_| Err(fault.clone().into())).collect(),
        };
        self.memory.0.wake_up.send();
        self.memory.0.medium.committed();
        self.anchor.follow(&verdicts);
        let became = fault_of(&verdicts).map(|()| self.anchor);
        for (job, verdict) in jobs.into_iter().zip(verdicts) {
            job.reply.answer(verdict);
        }
        became
    }

    /// Nobody remembers a store in memory elsewhere.
    fn watched_by(&mut self, _: Arc<Witness>) {}
}

/// A transaction on its way.
struct Batch<'a> {
    log: &'a Log,
    standing: BatchState,
    drafted: Vec<Drafted>,
}

impl Batch<'_> {
    fn one(&mut self, job: &Job) -> Result<JobResult, ReadError> {
        let Some(query) = &job.claim else { return self.decide(&job.parts) };
        let now = job.parts.first.request.now.max(self.standing.seen.at);
        for listed in self.log.offers() {
            let id = listed.entity();
            self.warm(id);
            if !query.fits(self.standing.stored(id), now) {
                continue;
            }
            match self.decide(&claim::about(&job.parts, id))? {
                Err(denied) if claim::is_passed_over(&denied, id) => {}
                answer => return Ok(answer),
            }
        }
        Ok(Err(claim::nothing()))
    }

    fn warm(&mut self, id: EntityId) {
        if !self.standing.has(id) {
            self.standing.warm(self.log.stored(id));
        }
    }

    fn decide(&mut self, parts: &Several<Part>) -> Result<JobResult, ReadError> {
        self.standing.make_room(parts);
        for part in parts.iter() {
            let id = part.request.command.entity;
            self.warm(id);
            if self.standing.leases.wants(part, self.standing.stored(id)) {
                let row = self.log.leases.get(&id.to_string()).cloned();
                self.standing.leases.load(id, row);
            }
            if self.standing.wants_files(part) {
                self.standing.load_files(self.log.files_in_use());
            }
        }
        let earlier = parts.try_map(|part| Ok::<_, ReadError>(self.earlier(part)))?;
        let drafted = match self.standing.judge(parts, earlier)? {
            Judged::Answer(verdict) => return Ok(verdict),
            Judged::Write(drafted) => drafted,
        };
        let receipt = |(record, _): &Drafted| Receipt { record: record.clone(), repeated: false };
        let first = receipt(&drafted.first);
        let told = Several { first, then: drafted.then.iter().map(receipt).collect() };
        self.drafted.extend(drafted.into_vec());
        Ok(Ok(told))
    }

    /// What is there for the key of a command: in the log, or earlier in the same batch.
    fn earlier(&self, part: &Part) -> Option<Record> {
        let command = &part.request.command;
        let key = command.key.as_deref().filter(|_| !mutant::removed("look_up_keys"))?;
        let entity = command.entity.uuid();
        let is_it = |record: &&Record| record.entity == entity && record.key.as_deref() == Some(key);
        let in_batch = self.drafted.iter().map(|(record, _)| record).find(is_it);
        self.log.keyed(entity, key).or(in_batch).cloned()
    }
}

/// Seals what was written.
fn seal_up(log: &mut Log, seal: &Seal, verdicts: &[JobResult]) -> Result<(), ReadError> {
    let key = seal.public_key();
    let written = receipts(verdicts).filter(|receipt| !receipt.repeated).count() as u64;
    let before = log.head() - written;
    let ends = Ends::of(log.newest_checkpoints());
    let since = ends.since(key, before);
    let hashes = log.hashes_after(since);
    let (old, new) = hashes.split_at(usize::try_from(before - since).unwrap_or_default());
    let mut sealed = ends.follow(key, before, old)?;
    new.iter().for_each(|hash| sealed.add(*hash));
    let seen = log.seen();
    let step = sealed.seal(seal, seen.seq, seen.at);
    log.seal(&step);
    Ok(())
}
