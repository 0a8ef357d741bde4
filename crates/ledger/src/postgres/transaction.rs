//! One batch in one transaction: look, decide, write.
//!
//! Invariant: what is decided is decided on where the log ends when it is written. Either the lock is held while
//! looking and writing, or the look is older and the write itself fails if anybody has written since: a record's
//! sequence number must continue the log. Deliberately absent: what to do when it fails; the writer knows.
//!
//! Everything that can be asked or told without an answer is sent at once: a batch costs one round trip if nobody else writes, no lease
//! decides and all it names is at hand; two under the lock, and three if it claims tasks.

mod looking;

use std::collections::HashMap;
use std::time::Duration;

use callboard_kernel::{EntityId, Event, EventType, Moment};
use futures_util::future::{join, join3};
use tokio_postgres::Row;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use self::looking::fetch;
use super::columns::{self, SealValues, Touch};
use super::connection::session::Session;
use super::connection::trouble::{self, SILENCE, Trouble};
use super::rows::{Rows, ViewRow, Written};
use super::seals;
use crate::error::ReadError;
use crate::lease::LeaseRow;
use crate::mutant;
use crate::proof::checkpoint::Seal;
use crate::proof::sealed::{Sealed, Step};
use crate::record::Record;
use crate::store::{Job, Part, Receipt};
use crate::writing::batch::{BatchState, Drafted, JobResult, Judged, Seen, receipts};
use crate::writing::claim::{self, Listed};
use crate::writing::several::Several;

/// What the writer knows of the log between two batches.
#[derive(Default)]
pub(super) struct Memory {
    standing: BatchState,
    /// The log ended where the standing says, as of the last look; nothing when that is in doubt.
    is_known: bool,
    /// Somebody else wrote between the last two looks.
    has_rivals: bool,
    /// The highest place at which the log was seen to end.
    highest: u64,
    /// No more entities than this are at hand.
    warmed: usize,
    /// How often more offers were asked for because those at hand did not fit.
    claim_rounds: u32,
    /// Where the seals end, for a writer that has a key; nothing before the first look.
    sealed: Option<Sealed>,
    /// The seal of the newest batch, until the second place is told.
    step: Option<Step>,
}

/// Why a transaction did not end well.
pub(super) enum Broken {
    /// Nothing was committed.
    Before(Trouble),
    /// Somebody else wrote since the last look; nothing was committed.
    Overtaken,
    /// It cannot be decided without the lock; nothing was sent, and what is known still holds.
    NeedsLock,
    /// The commit was on its way when the connection was lost: nobody knows.
    InFlight(Vec<JobResult>, String),
}

impl<E: Into<ReadError>> From<E> for Broken {
    fn from(error: E) -> Self {
        Self::Before(trouble::of(&error.into()))
    }
}

/// What was decided about a batch.
struct Draft {
    verdicts: Vec<JobResult>,
    born: Vec<EntityId>,
    moved: Vec<(EntityId, Written)>,
}

/// Records by their entity and key.
type Keyed = HashMap<(Uuid, String), Record>;

impl Memory {
    /// Trusts nothing any more.
    pub(super) fn forget(&mut self) {
        self.standing.forget();
        (self.is_known, self.warmed) = (false, 0);
        (self.sealed, self.step) = (None, None);
    }

    /// The seal of the newest batch, once.
    pub(super) const fn take_step(&mut self) -> Option<Step> {
        self.step.take()
    }

    /// May a batch be decided without taking the lock first?
    pub(super) fn is_calm(&self, jobs: &[&Job], seal: Option<&Seal>) -> bool {
        self.is_known
            && !self.has_rivals
            && (seal.is_none() || self.sealed.is_some())
            && jobs.iter().all(|job| job.claim.is_none())
            && !parts(jobs).any(|part| self.is_leased(part))
    }

    /// Decides on what is known and writes in one round trip; fails if that is not where the log ends.
    pub(super) async fn calm(
        &mut self,
        session: &Session,
        jobs: &[&Job],
        seal: Option<&Seal>,
        limit: Duration,
    ) -> Result<Vec<JobResult>, Broken> {
        let wanted = self.wanted(jobs);
        let (entities, keys) = within(limit, fetch(session, &wanted)).await??;
        self.warm(jobs, &entities)?;
        // A lease is judged while its row is locked.
        self.standing.begin(Moment::default());
        if !self.leased(jobs).is_empty() || parts(jobs).any(|part| self.standing.wants_files(part)) {
            return Err(Broken::NeedsLock);
        }
        let draft = self.judge_claims(jobs, keyed(&keys)?, &[])?;
        if draft.records().next().is_none() && mutant::removed("look_before_deciding") {
            return Ok(draft.verdicts);
        }
        if draft.records().next().is_none() {
            // Nothing is written that would fail if somebody had been faster, so it has to be looked for: a refusal
            // rests on where the log ends as much as a record does.
            let end = within(limit, session.client.query_one(&session.end, &[])).await??;
            let is_there = columns::seen(&end)?.seq == self.standing.seen.seq;
            return if is_there { Ok(draft.verdicts) } else { Err(Broken::Overtaken) };
        }
        let step = self.seal(&draft, seal);
        let put = self.put(session, &draft, step.as_ref());
        let flight = join(put, mutant::point_behind("commit_sent"));
        match tokio::time::timeout(limit, flight).await.map(|(put, ())| put) {
            Ok(Ok(())) => {
                self.step = step;
                Ok(draft.verdicts)
            }
            Err(_) => Err(Broken::InFlight(draft.verdicts, SILENCE.to_owned())),
            Ok(Err(error)) if trouble::is_lost(&error) => {
                Err(Broken::InFlight(draft.verdicts, trouble::chain(&error)))
            }
            // Under the lock it will show whether somebody was faster or a record is at fault.
            Ok(Err(error)) if error.code().is_some_and(is_refusal) => Err(Broken::Overtaken),
            Ok(Err(error)) => Err(error.into()),
        }
    }

    /// Takes the lock, looks where the log ends, decides and writes.
    pub(super) async fn locked(
        &mut self,
        session: &Session,
        jobs: &[&Job],
        seal: Option<&Seal>,
        limit: Duration,
    ) -> Result<Vec<JobResult>, Broken> {
        let done = self.under_lock(session, jobs, seal, limit).await;
        let is_open = match &done {
            Err(Broken::Before(trouble)) => !matches!(trouble, Trouble::Lost(_)),
            // A claim wants to look at more offers.
            Err(Broken::Overtaken | Broken::NeedsLock) => true,
            Ok(_) | Err(Broken::InFlight(..)) => false,
        };
        if is_open {
            // A connection that cannot even roll back is of no use any more.
            within(limit, session.client.batch_execute("ROLLBACK"))
                .await?
                .map_err(|error| Broken::Before(Trouble::Lost(trouble::chain(&error))))?;
        }
        done
    }

    async fn under_lock(
        &mut self,
        session: &Session,
        jobs: &[&Job],
        seal: Option<&Seal>,
        limit: Duration,
    ) -> Result<Vec<JobResult>, Broken> {
        let (keys, picked) = self.look_around(session, jobs, limit).await?;
        let draft = self.judge_claims(jobs, keyed(&keys)?, &picked)?;
        if draft.records().next().is_none() {
            within(limit, session.client.batch_execute("ROLLBACK")).await??;
            return Ok(draft.verdicts);
        }
        if let (Some(seal), None) = (seal, &self.sealed) {
            let before = self.standing.seen.seq - draft.records().count() as u64;
            let look = seals::look_back(&session.client, seal.public_key(), before);
            self.sealed = Some(within(limit, look).await??);
        }
        let step = self.seal(&draft, seal);
        let leases = self.standing.leases.take_changed();
        let verdicts = self.end(session, draft, &leases, step.as_ref(), limit).await?;
        self.step = step;
        Ok(verdicts)
    }

    /// Sends what is to be written and the commit behind it. From here on a lost connection means doubt.
    async fn end(
        &mut self,
        session: &Session,
        draft: Draft,
        leases: &[(EntityId, LeaseRow)],
        step: Option<&Step>,
        limit: Duration,
    ) -> Result<Vec<JobResult>, Broken> {
        let client = &session.client;
        let leased = session.leases.put(client, leases);
        let sent = join3(leased, self.put(session, &draft, step), client.batch_execute("COMMIT"));
        let flight = join(sent, mutant::point_behind("commit_sent"));
        let Ok(((leased, put, committed), ())) = tokio::time::timeout(limit, flight).await else {
            return Err(Broken::InFlight(draft.verdicts, SILENCE.to_owned()));
        };
        // A commit behind a failed statement rolls back and calls it a success: the first error counts.
        match leased.and(put).and(committed) {
            Ok(()) => {}
            Err(error) if trouble::is_lost(&error) => {
                return Err(Broken::InFlight(draft.verdicts, trouble::chain(&error)));
            }
            Err(error) => return Err(error.into()),
        }
        Ok(draft.verdicts)
    }

    /// Sees where the log ends; true if it is not where it was left.
    fn look(&mut self, row: &Row) -> Result<bool, ReadError> {
        let seen = columns::seen(row)?;
        if seen.seq < self.highest {
            let (seq, before) = (seen.seq, self.highest);
            return Err(ReadError::Replaced(format!(
                "the log ends at record {seq}, and it has ended at {before}"
            )));
        }
        self.highest = seen.seq;
        let is_disturbed = self.is_known && seen.seq != self.standing.seen.seq;
        self.has_rivals = is_disturbed;
        if is_disturbed || !self.is_known {
            self.forget();
        }
        self.standing.seen = seen;
        self.is_known = true;
        Ok(is_disturbed)
    }

    /// Decides about every job in order; each sees what those before it did.
    fn judge_claims(
        &mut self,
        jobs: &[&Job],
        mut keyed: Keyed,
        picked: &[Vec<Listed>],
    ) -> Result<Draft, Broken> {
        let mut verdicts = Vec::with_capacity(jobs.len());
        let mut touched: Vec<(EntityId, Touched)> = Vec::new();
        let mut places = HashMap::new();
        for (at, job) in jobs.iter().enumerate() {
            let judged = match &job.claim {
                None => self.standing.judge(&job.parts, earlier(job, &keyed))?,
                Some(_) => self.judge_claim(job, picked.get(at).map_or(&[], Vec::as_slice))?,
            };
            let drafted = match judged {
                Judged::Answer(verdict) => {
                    verdicts.push(verdict);
                    continue;
                }
                Judged::Write(drafted) => drafted,
            };
            for (record, event) in drafted.iter() {
                if let Some(key) = &record.key {
                    keyed.insert((record.entity, key.clone()), record.clone());
                }
                let at = *places.entry(event.entity).or_insert_with(|| {
                    touched.push((event.entity, Touched::default()));
                    touched.len() - 1
                });
                touched[at].1.by(event);
            }
            let receipt = |(record, _): Drafted| Receipt { record, repeated: false };
            let then = drafted.then.into_iter().map(receipt).collect();
            verdicts.push(Ok(Several { first: receipt(drafted.first), then }));
        }
        self.claim_rounds = 0;
        let (born, moved): (Vec<_>, Vec<_>) = touched.into_iter().partition(|(_, touched)| touched.is_born);
        Ok(Draft {
            verdicts,
            born: born.into_iter().map(|(id, _)| id).collect(),
            moved: moved.into_iter().map(|(id, touched)| (id, touched.facts())).collect(),
        })
    }

    /// Decides about a claim, with the first of the tasks at hand that fits.
    fn judge_claim(&mut self, job: &Job, picked: &[Listed]) -> Result<Judged, Broken> {
        let Some(query) = &job.claim else { unreachable!("BUG: it is no claim") };
        let now = job.parts.first.request.now.max(self.standing.seen.at);
        for listed in picked {
            let id = listed.entity();
            if !self.standing.has(id) || !query.fits(self.standing.stored(id), now) {
                continue;
            }
            let parts = claim::about(&job.parts, id);
            let none = Several { first: None, then: parts.then.iter().map(|_| None).collect() };
            match self.standing.judge(&parts, none)? {
                Judged::Answer(Err(denied)) if claim::is_passed_over(&denied, id) => {}
                judged @ (Judged::Answer(_) | Judged::Write(_)) => return Ok(judged),
            }
        }
        // There may be more than were looked at.
        if picked.len() >= claim::PAGE << self.claim_rounds.min(7) && picked.len() < claim::LOOKED_AT_MAX {
            self.claim_rounds += 1;
            return Err(Broken::Overtaken);
        }
        Ok(Judged::Answer(Err(claim::nothing())))
    }

    /// Sends the records and the view rows they lead to.
    async fn put(
        &self,
        session: &Session,
        draft: &Draft,
        step: Option<&Step>,
    ) -> Result<(), tokio_postgres::Error> {
        let records: Vec<&Record> = draft.records().collect();
        let row = |id, facts| ViewRow { stored: self.standing.stored(id), facts };
        let born: Vec<ViewRow<'_>> = draft.born.iter().map(|id| row(*id, Written::Anew)).collect();
        let moved: Vec<ViewRow<'_>> = draft.moved.iter().map(|(id, facts)| row(*id, *facts)).collect();
        mutant::point("before_commit");
        let (records, born, moved) = (Rows(&records), Rows(&born), Rows(&moved));
        let seal = SealValues::of(step);
        let (touch, rows): (Touch, Vec<&(dyn ToSql + Sync)>) =
            match (draft.born.is_empty(), draft.moved.is_empty()) {
                (false, true) => (Touch::Born, vec![&records, &born]),
                (true, false) => (Touch::Moved, vec![&records, &moved]),
                (_, _) => (Touch::Both, vec![&records, &born, &moved]),
            };
        let values: Vec<&(dyn ToSql + Sync)> = rows.into_iter().chain(seal.all()).collect();
        session.client.execute(session.write(touch), &values).await.map(|_| ())
    }

    /// Seals the log as it will be with this batch.
    fn seal(&mut self, draft: &Draft, seal: Option<&Seal>) -> Option<Step> {
        let (seal, sealed) = (seal?, self.sealed.as_mut()?);
        mutant::point("before_checkpoint");
        draft.records().for_each(|record| sealed.add(record.hash));
        let Seen { seq, at } = self.standing.seen;
        let step = sealed.seal(seal, seq, at);
        mutant::point("after_checkpoint");
        Some(step)
    }
}

/// What a batch does to one entity.
#[derive(Clone, Copy, Default)]
struct Touched {
    is_born: bool,
    has_facts: bool,
}

impl Touched {
    fn by(&mut self, event: &Event) {
        self.is_born |= event.kind == EventType::Created;
        self.has_facts |= event.kind != EventType::Entry && !event.data.is_empty();
    }

    const fn facts(self) -> Written {
        if self.has_facts { Written::Anew } else { Written::Kept }
    }
}

impl Draft {
    fn records(&self) -> impl Iterator<Item = &Record> {
        receipts(&self.verdicts).filter(|receipt| !receipt.repeated).map(|receipt| &receipt.record)
    }
}

/// The commands of a batch, in order.
fn parts<'a>(jobs: &[&'a Job]) -> impl Iterator<Item = &'a Part> {
    jobs.iter().flat_map(|job| job.parts.iter())
}

/// What the store holds for the key of each command of a job.
fn earlier(job: &Job, keyed: &Keyed) -> Several<Option<Record>> {
    let one = |part: &Part| {
        let command = &part.request.command;
        let key = command.key.as_ref().map(|key| (command.entity.uuid(), key.clone()));
        key.and_then(|key| keyed.get(&key)).cloned()
    };
    Several { first: one(&job.parts.first), then: job.parts.then.iter().map(one).collect() }
}

/// A server that keeps silent is as good as gone.
async fn within<T>(limit: Duration, flight: impl Future<Output = T>) -> Result<T, Broken> {
    tokio::time::timeout(limit, flight).await.map_err(|_| Broken::Before(Trouble::Lost(SILENCE.to_owned())))
}

/// Did a constraint or a trigger say no?
fn is_refusal(code: &SqlState) -> bool {
    code.code().starts_with("23")
}

fn keyed(rows: &[Row]) -> Result<Keyed, ReadError> {
    let mut keyed = Keyed::with_capacity(rows.len());
    for row in rows {
        let record = columns::record(row)?;
        let key = record.key.clone().unwrap_or_default();
        keyed.insert((record.entity, key), record);
    }
    Ok(keyed)
}
