//! The one writer of a process: decides and records everything that is queued in one transaction.
//!
//! Invariant: nobody is answered before the sync, nor by a file that is not the one at the path of the store. Whatever
//! another process wrote is seen before the next decision. A failed sync is never retried: the connection is dropped, the
//! store reopened and settled, and what is there is read back; until that works every command is refused.
//! Deliberately absent: the queue and the answers; `ledger` has those.

use std::sync::Arc;

use callboard_kernel::{Event, Moment};
use rusqlite::{Connection, ErrorCode, OptionalExtension};

use super::connect::{StoreFile, settle};
use super::listings::offers;
use super::pinned::{Exchanged, Files, Pinned};
use super::presence::Presence;
use super::statements::Statements;
use super::{archive, leases, seals, signers};
use crate::engine::Commit;
use crate::error::{Fault, OpenError, ReadError, chain};
use crate::lease::Clock;
use crate::mutant;
use crate::proof::checkpoint::{PublicKey, Seal};
use crate::proof::sealed::{Sealed, Step};
use crate::proof::witness::Witness;
use crate::record::Hash;
use crate::store::{Job, Part, Receipt};
use crate::writing::answers::Answers;
use crate::writing::batch::{Anchor, BatchState, Drafted, JobResult, Judged, Seen, fault_of, receipts};
use crate::writing::claim;
use crate::writing::several::Several;

/// The writer of one process.
pub(crate) struct Writer {
    place: StoreFile,
    seal: Seal,
    open: Option<Open>,
    pinned: Arc<Pinned>,
    /// The newest record that this writer has answered for.
    anchor: Anchor,
    answers: Answers,
    /// The second place, if there is one.
    witness: Option<Arc<Witness>>,
}

/// Pages in the WAL before they are copied into the database. Many callers write the same pages again and again; the
/// longer the WAL, the fewer times each is copied.
const WAL_PAGES: i64 = 8192;

/// What is known while the connection lives.
struct Open {
    connection: Connection,
    standing: BatchState,
    /// Where the seals end; nothing before the first look.
    sealed: Option<Sealed>,
    /// The seal of the newest commit, until the second place is told.
    step: Option<Step>,
    /// Changes when another connection has committed.
    data_version: i64,
    /// The highest place at which the log was seen to end.
    highest: u64,
    /// By which leases are judged.
    clock: Clock,
}

impl Writer {
    /// Opens the store; the process must keep its presence for as long as any of its connections is open.
    pub(crate) fn new(place: StoreFile) -> Result<(Self, Presence, Arc<Pinned>), OpenError> {
        let (connection, presence) = place.enter()?;
        let seal = place.seal()?;
        let fail = |source| place.database(source);
        signers::record(&connection, seal.public_key()).map_err(fail)?;
        let pinned = Arc::new(Pinned::of(&place, &connection).map_err(fail)?);
        let open = Open::new(connection, place.clock.clone()).map_err(fail)?;
        let writer = Self {
            open: Some(open),
            place: place.existing(),
            seal,
            pinned: Arc::clone(&pinned),
            anchor: Anchor::default(),
            answers: Answers::default(),
            witness: None,
        };
        Ok((writer, presence, pinned))
    }

    fn alone(&mut self, job: &Job) -> JobResult {
        match self.attempt(std::slice::from_ref(job)) {
            Ok(mut verdicts) => verdicts.pop().unwrap_or(Err(Fault::Closed.into())),
            Err(upset) => Err(upset.fault().into()),
        }
    }

    fn attempt(&mut self, jobs: &[Job]) -> Result<Vec<JobResult>, Upset> {
        if self.open.is_none() {
            self.open = Some(self.reopen().map_err(|error| Upset::Fault(refusal(&error)))?);
        }
        self.pinned.check().map_err(|exchanged| Upset::Fault(self.let_go(&exchanged)))?;
        let Some(open) = &mut self.open else { unreachable!("BUG: it was opened above") };
        let mut verdicts = Vec::with_capacity(jobs.len());
        let result = open.transact(jobs, &self.seal, &mut verdicts);
        match result {
            Ok(()) => match self.pinned.check() {
                Ok(()) => Ok(verdicts),
                // What was written went to a file that nobody finds at the path of the store.
                Err(exchanged) => {
                    let fault = self.let_go(&exchanged);
                    Ok(verdicts.iter().map(|_| Err(fault.clone().into())).collect())
                }
            },
            Err(Broken::Before(error)) => {
                open.forget();
                Err(classify(error))
            }
            Err(Broken::Commit(_)) if mutant::removed("stop_after_failed_sync") => Ok(verdicts),
            Err(Broken::Commit(error)) => Ok(self.read_back(verdicts, &error)),
        }
    }

    /// Stops, and says why.
    fn let_go(&mut self, exchanged: &Exchanged) -> Fault {
        if let Some(open) = &mut self.open {
            exchanged.let_go(&open.connection);
            open.forget();
        }
        Fault::Replaced(exchanged.told.clone())
    }

    /// The commit failed: only what is found in a fresh connection counts, and only after it was settled. The jobs
    /// shared one transaction, so all of them share its fate, and a refusal that was decided inside it means nothing.
    fn read_back(&mut self, verdicts: Vec<JobResult>, error: &rusqlite::Error) -> Vec<JobResult> {
        let newest = receipts(&verdicts).map(|receipt| &receipt.record).max_by_key(|record| record.seq);
        let Some((seq, hash)) = newest.map(|record| (record.seq, record.hash)) else {
            self.open = self.reopen().ok();
            return verdicts;
        };
        let found = self.reopen().and_then(|open| {
            let found = hash_at(&open.connection, seq).map_err(|source| self.place.database(source))?;
            self.open = Some(open);
            Ok(found)
        });
        let fault = match found {
            Ok(found) if found == Some(hash) => return verdicts,
            // A write that found no room has not written the end of its transaction, where files are written in place.
            Ok(_) | Err(_) if is_full(error) => Fault::Full,
            Ok(_) => Fault::NotWritten(error.to_string()),
            Err(OpenError::Replaced { told, .. }) => Fault::Replaced(told),
            Err(again) => Fault::Unknown(format!("{error}; then {}", chain(&again))),
        };
        verdicts.iter().map(|_| Err(fault.clone().into())).collect()
    }

    /// Opens the store after a failure; it must be the one that this writer has answered for.
    fn reopen(&mut self) -> Result<Open, OpenError> {
        let Self { open, pinned, place, anchor, .. } = self;
        let fail = |source| place.database(source);
        pinned.reopen(|| {
            drop(open.take());
            let connection = place.open()?;
            if !mutant::removed("settle_after_failure") {
                settle(&connection).map_err(fail)?;
            }
            if let Some((seq, hash)) = anchor.newest()
                && !holds(&connection, seq, hash).map_err(fail)?
            {
                let told = format!("{}: the log does not hold record {seq} any more", place.path.display());
                return Err(OpenError::Replaced { path: place.path.clone(), told });
            }
            let files = Files::of(place, &connection).map_err(fail)?;
            Ok((Open::new(connection, place.clock.clone()).map_err(fail)?, files))
        })
    }
}

impl From<Exchanged> for OpenError {
    fn from(exchanged: Exchanged) -> Self {
        Self::Replaced { path: exchanged.path, told: exchanged.told }
    }
}

impl Commit for Writer {
    fn commit(&mut self, jobs: Vec<Job>) -> Result<Anchor, Fault> {
        let verdicts: Vec<JobResult> = match self.attempt(&jobs) {
            Ok(verdicts) => verdicts,
            // One of them upset the database: each gets its own transaction, so only that one fails.
            Err(Upset::Statement) if jobs.len() > 1 => jobs.iter().map(|job| self.alone(job)).collect(),
            Err(upset) => jobs.iter().map(|_| Err(upset.fault().into())).collect(),
        };
        self.anchor.follow(&verdicts);
        let became = fault_of(&verdicts).map(|()| self.anchor);
        self.answers.give(jobs.into_iter().zip(verdicts).collect());
        if let (Some(open), Some(witness), Ok(_)) = (&mut self.open, &self.witness, &became)
            && let Some(step) = open.step.take()
        {
            witness.sealed(&step);
        }
        became
    }

    fn watched_by(&mut self, witness: Arc<Witness>) {
        self.witness = Some(witness);
    }
}

/// Why a transaction did not end well.
enum Broken {
    /// Before the commit; it was rolled back.
    Before(ReadError),
    /// In the commit; nobody knows yet.
    Commit(rusqlite::Error),
}

impl<E: Into<ReadError>> From<E> for Broken {
    fn from(error: E) -> Self {
        Self::Before(error.into())
    }
}

/// Why a batch was not recorded.
enum Upset {
    /// The database refused one statement; the others may be fine.
    Statement,
    /// The world failed for all of them.
    Fault(Fault),
}

impl Upset {
    fn fault(&self) -> Fault {
        match self {
            Self::Statement => Fault::Corrupt("the database refused a record the kernel allowed".to_owned()),
            Self::Fault(fault) => fault.clone(),
        }
    }
}

fn classify(error: ReadError) -> Upset {
    if let ReadError::Replaced(told) = error {
        return Upset::Fault(Fault::Replaced(told));
    }
    let ReadError::Sqlite(error) = error else { return Upset::Fault(Fault::Corrupt(chain(&error))) };
    let fault = match error.sqlite_error_code() {
        Some(ErrorCode::ConstraintViolation) => return Upset::Statement,
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Fault::Busy,
        Some(ErrorCode::DiskFull) => Fault::Full,
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            Fault::ReadOnly(error.to_string())
        }
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Fault::Corrupt(error.to_string()),
        Some(_) | None => Fault::NotWritten(error.to_string()),
    };
    Upset::Fault(fault)
}

/// Why nothing is written while the store cannot be reopened.
fn refusal(error: &OpenError) -> Fault {
    if let OpenError::Replaced { told, .. } = error {
        return Fault::Replaced(told.clone());
    }
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        match error.downcast_ref::<rusqlite::Error>().and_then(rusqlite::Error::sqlite_error_code) {
            Some(ErrorCode::DiskFull) => return Fault::Full,
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => return Fault::Busy,
            Some(_) | None => cause = error.source(),
        }
    }
    Fault::ReadOnly(chain(error))
}

fn is_full(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DiskFull)
}

fn hash_at(connection: &Connection, seq: u64) -> Result<Option<Hash>, rusqlite::Error> {
    let bytes: Option<Vec<u8>> = connection
        .query_row("SELECT hash FROM ledger WHERE seq = ?1", [seq as i64], |row| row.get(0))
        .optional()?;
    Ok(bytes.and_then(|bytes| Hash::of(&bytes)))
}

/// Does the log have this record? If it was archived, the file has it.
fn holds(connection: &Connection, seq: u64, hash: Hash) -> Result<bool, rusqlite::Error> {
    if hash_at(connection, seq)? == Some(hash) {
        return Ok(true);
    }
    let until: i64 =
        connection.query_row("SELECT coalesce(max(until), 0) FROM segment", [], |row| row.get(0))?;
    Ok(seq <= until as u64)
}

impl Open {
    fn new(connection: Connection, clock: Clock) -> Result<Self, rusqlite::Error> {
        connection.pragma_update(None, "wal_autocheckpoint", WAL_PAGES)?;
        Ok(Self {
            connection,
            standing: BatchState::default(),
            sealed: None,
            step: None,
            data_version: -1,
            highest: 0,
            clock,
        })
    }

    fn forget(&mut self) {
        self.standing.forget();
        (self.data_version, self.step) = (-1, None);
    }

    fn transact(&mut self, jobs: &[Job], seal: &Seal, verdicts: &mut Vec<JobResult>) -> Result<(), Broken> {
        mutant::point("before_begin");
        if mutant::removed("answer_after_commit") && !self.connection.is_autocommit() {
            self.connection.execute_batch("COMMIT")?;
        }
        self.connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        let done = self.inside(jobs, seal, verdicts);
        if let Err(error) = done {
            // Whatever the rollback says, the connection forgets; the first error is the one worth telling.
            if self.connection.execute_batch("ROLLBACK").is_err() {
                self.forget();
            }
            return Err(Broken::Before(error));
        }
        mutant::point("before_commit");
        if mutant::removed("answer_after_commit") {
            return Ok(());
        }
        let committed = self.connection.prepare_cached("COMMIT").and_then(|mut commit| commit.execute([]));
        mutant::point("after_commit");
        committed.map(|_| ()).map_err(Broken::Commit)
    }

    fn inside(&mut self, jobs: &[Job], seal: &Seal, verdicts: &mut Vec<JobResult>) -> Result<(), ReadError> {
        self.catch_up(seal.public_key())?;
        let before = self.connection.total_changes();
        self.standing.begin(self.clock.now());
        let mut statements = Statements::new(&self.connection)?;
        for job in jobs {
            verdicts.push(one(&self.connection, &mut self.standing, &mut statements, job)?);
        }
        let written = statements.written;
        drop(statements);
        // What a trigger does counts too: one that was added and changes what was written is found here.
        if self.connection.total_changes() - before != written && !mutant::removed("count_what_was_written") {
            return Err(ReadError::NotWritten("something else changed with it"));
        }
        self.seal(seal, verdicts)
    }

    /// Seals what was written.
    fn seal(&mut self, seal: &Seal, verdicts: &[JobResult]) -> Result<(), ReadError> {
        let Some(sealed) = &mut self.sealed else { unreachable!("BUG: it was looked for before") };
        let mut is_written = false;
        for receipt in receipts(verdicts).filter(|receipt| !receipt.repeated) {
            sealed.add(receipt.record.hash);
            is_written = true;
        }
        if is_written && !mutant::removed("seal_every_commit") {
            self.step = Some(seals::write(&self.connection, seal, sealed, self.standing.seen)?);
        }
        Ok(())
    }

    /// Sees what other processes wrote since the last look; inside the transaction, so nothing can slip in between.
    fn catch_up(&mut self, key: PublicKey) -> Result<(), ReadError> {
        let data_version: i64 =
            self.connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?;
        if data_version == self.data_version
            || (self.data_version >= 0 && mutant::removed("look_before_deciding"))
        {
            return Ok(());
        }
        self.standing.forget();
        self.standing.seen = look(&self.connection)?;
        let (seq, before) = (self.standing.seen.seq, self.highest);
        if seq < before {
            return Err(ReadError::Replaced(format!(
                "the log ends at record {seq}, and it has ended at {before}"
            )));
        }
        self.sealed = Some(seals::look_back(&self.connection, key, seq)?);
        self.highest = seq;
        self.data_version = data_version;
        Ok(())
    }
}

fn one(
    connection: &Connection,
    standing: &mut BatchState,
    statements: &mut Statements<'_>,
    job: &Job,
) -> Result<JobResult, ReadError> {
    let Some(query) = &job.claim else { return decide(connection, standing, statements, &job.parts) };
    let now = job.parts.first.request.now.max(standing.seen.at);
    let mut after = None;
    for _ in 0..claim::LOOKED_AT_MAX / claim::PAGE {
        let offers = offers::listed(connection, query, now, after)?;
        for listed in &offers {
            let id = listed.entity();
            if !standing.has(id) {
                standing.warm(statements.stored(id)?);
            }
            if !query.fits(standing.stored(id), now) {
                continue;
            }
            match decide(connection, standing, statements, &claim::about(&job.parts, id))? {
                Err(denied) if claim::is_passed_over(&denied, id) => {}
                answer => return Ok(answer),
            }
        }
        let Some(last) = offers.last().filter(|_| offers.len() >= claim::PAGE) else { break };
        after = Some(last.place());
    }
    Ok(Err(claim::nothing()))
}

/// Decides about the commands of a job, and writes what follows.
fn decide(
    connection: &Connection,
    standing: &mut BatchState,
    statements: &mut Statements<'_>,
    parts: &Several<Part>,
) -> Result<JobResult, ReadError> {
    standing.make_room(parts);
    let earlier = parts.try_map(|part| {
        let command = &part.request.command;
        if !standing.has(command.entity) {
            standing.warm(statements.stored(command.entity)?);
        }
        if standing.leases.wants(part, standing.stored(command.entity)) {
            let row = leases::row(connection, &command.entity.to_string())?;
            standing.leases.load(command.entity, row);
        }
        if standing.wants_files(part) {
            standing.load_files(offers::files_in_use(connection)?);
        }
        match &command.key {
            Some(key) if !mutant::removed("look_up_keys") => match statements.earlier(command.entity, key)? {
                None => archive::keyed(connection, command.entity, key),
                earlier => Ok(earlier),
            },
            Some(_) | None => Ok(None),
        }
    })?;
    let drafted = match standing.judge(parts, earlier)? {
        Judged::Answer(verdict) => return Ok(verdict),
        Judged::Write(drafted) => drafted,
    };
    for (record, _) in drafted.iter() {
        mutant::point("before_insert");
        statements.record(record)?;
    }
    if mutant::removed("view_in_the_same_transaction") {
        connection.execute_batch("COMMIT; BEGIN IMMEDIATE")?;
    }
    for (id, row) in standing.leases.take_changed() {
        leases::put(connection, &id.to_string(), &row)?;
        statements.written += 1;
    }
    for (at, (_, event)) in drafted.iter().enumerate() {
        mutant::point("before_view");
        view(standing, statements, &drafted, at, event)?;
    }
    let receipt = |(record, _): Drafted| Receipt { record, repeated: false };
    let then = drafted.then.into_iter().map(receipt).collect();
    Ok(Ok(Several { first: receipt(drafted.first), then }))
}

/// Writes the view row of an entity after the last of its records in a job.
fn view(
    standing: &BatchState,
    statements: &mut Statements<'_>,
    drafted: &Several<Drafted>,
    at: usize,
    event: &Event,
) -> Result<(), ReadError> {
    let stored = standing.stored(event.entity);
    if drafted.then.is_empty() {
        return statements.view(stored, event);
    }
    let is_same = |other: &&Drafted| other.1.entity == event.entity;
    if drafted.iter().skip(at + 1).any(|other| is_same(&other)) {
        return Ok(());
    }
    match drafted.iter().take(at).find(is_same) {
        None => statements.view(stored, event),
        Some((_, first)) => statements.view_anew(stored, first),
    }
}

/// Where the log ends.
pub(super) fn look(connection: &Connection) -> Result<Seen, ReadError> {
    let (seq, at) = connection
        .prepare_cached("SELECT seq, at FROM ledger ORDER BY seq DESC LIMIT 1")?
        .query_row([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)))
        .optional()?
        .unwrap_or_default();
    Ok(Seen { seq: seq as u64, at: Moment::from_micros(at) })
}
