//! Readers: each question is answered on one snapshot, beside the writer and without waiting for it.
//!
//! Invariant: a read never changes the store and never sees half a transaction.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use callboard_kernel::{EntityId, Moment};
use callboard_lifecycle::{Kind, Words};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OptionalExtension};

use super::connect::{Access, StoreFile};
use super::pinned::{Exchanged, Pinned};
use super::presence::Presence;
use super::{archive, columns, exchange, leases, listings, maintain, seals, signers};
use crate::engine::Ask;
use crate::error::{OpenError, ReadError};
use crate::lease::{LeaseAnswer, LeaseOrder, LeaseSeen, ServiceStep};
use crate::moving::export::Legacy;
use crate::moving::import::{ImportError, Imported, Lines};
use crate::moving::segment::Segment;
use crate::proof::checkpoint::{Checkpoint, PublicKey};
use crate::proof::verify::Problem;
use crate::reading::views::{EachRecord, Share};
use crate::record::{Hash, Record};
use crate::store::{Info, Listing, Page, RecordScope, Slice, StateCount, Stored};
use crate::writing::wake_up::WakeUp;

/// Connections beyond this many are closed after use.
const IDLE_MAX: usize = 8;
/// Page cache of one connection: enough for the inner pages of large tables; the system keeps the others, once for all.
const CACHE_KIB: i64 = 4 * 1024;
/// How soon a commit of another process is seen, which sends no wake-up here.
const LOOK: Duration = Duration::from_millis(10);

/// Answers questions about a store.
pub(crate) struct Reader {
    place: StoreFile,
    idle: Mutex<Vec<Connection>>,
    pinned: Arc<Pinned>,
    /// How it is read by a process that does not write; nothing beside the writer of this process.
    alone: Option<Access>,
    /// The last to go: the store is still open until the connections are closed.
    _presence: Option<Presence>,
}

impl Reader {
    pub(crate) fn new(place: StoreFile, pinned: Arc<Pinned>, presence: Presence) -> Self {
        Self {
            place: place.existing(),
            idle: Mutex::new(Vec::new()),
            pinned,
            alone: None,
            _presence: Some(presence),
        }
    }

    /// Answers questions about a store that this process does not write.
    pub(crate) fn alone(place: StoreFile) -> Result<Self, OpenError> {
        let access = place.find_access()?;
        let pinned = Arc::new(Pinned::of_database(&place));
        Ok(Self { place, idle: Mutex::new(Vec::new()), pinned, alone: Some(access), _presence: None })
    }

    fn connect(&self) -> Result<Connection, ReadError> {
        let connection = match self.alone {
            Some(access) => self.place.open_to_read(access)?,
            None => self.place.open_reader()?,
        };
        self.confirmed(connection)
    }

    /// A connection to the files that were opened. Another file may have come to their path since somebody looked; it must get no write,
    /// and the WAL of this store must not be copied into it.
    fn confirmed(&self, connection: Connection) -> Result<Connection, ReadError> {
        if let Err(exchanged) = self.check(None) {
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).ok();
            return Err(exchanged);
        }
        Ok(connection)
    }

    /// A connection that writes, where this process may.
    fn writing(&self) -> Result<Connection, ReadError> {
        match self.alone {
            None => self.confirmed(self.place.open_writer()?),
            Some(_) => Err(ReadError::Unsupported {
                what: "being written by a process that opened it for reading",
                instead: "use a command that writes",
            }),
        }
    }

    /// The files must be those that were opened, before a question and after it.
    fn check(&self, connection: Option<&Connection>) -> Result<(), ReadError> {
        self.pinned.check().map_err(|exchanged| {
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            let idle = idle.drain(..);
            if self.alone.is_none() {
                idle.for_each(|connection| exchanged.let_go(&connection));
                connection.into_iter().for_each(|connection| exchanged.let_go(connection));
            }
            ReadError::from(exchanged)
        })
    }

    /// Runs `ask` on one snapshot.
    pub(crate) fn with<T>(
        &self,
        ask: impl FnOnce(&Connection) -> Result<T, ReadError>,
    ) -> Result<T, ReadError> {
        self.lend(|connection| {
            connection.prepare_cached("BEGIN")?.execute([])?;
            // Without its end the connection would keep its snapshot; so after an error it is closed, not kept.
            let answer = ask(connection)?;
            connection.prepare_cached("COMMIT")?.execute([])?;
            Ok(answer)
        })
    }

    /// Runs `ask` on a connection that sees the store as it is at each statement.
    fn lend<T>(&self, ask: impl FnOnce(&Connection) -> Result<T, ReadError>) -> Result<T, ReadError> {
        self.check(None)?;
        let traces = (self.alone == Some(Access::AsItLies)).then(|| self.place.traces());
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let connection = match idle {
            Some(connection) => connection,
            None => {
                let connection = self.connect()?;
                connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
                connection
            }
        };
        let answer = ask(&connection)?;
        self.check(Some(&connection))?;
        if let Some(traces) = traces {
            // Its pages are kept without a look at the file, so the connection is of no use for another question.
            if traces != self.place.traces() || traces.1 > 0 {
                return Err(ReadError::Replaced(format!(
                    "{} was written while it was read without its WAL",
                    self.place.path.display()
                )));
            }
            return Ok(answer);
        }
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < IDLE_MAX {
            idle.push(connection);
        }
        Ok(answer)
    }
}

impl From<Exchanged> for ReadError {
    fn from(exchanged: Exchanged) -> Self {
        Self::Replaced(exchanged.told)
    }
}

impl Ask for Reader {
    fn head(&self) -> Result<u64, ReadError> {
        self.with(head)
    }

    /// A commit of any connection changes the version of the data, and looking at that is cheap.
    fn wait_beyond(&self, seq: u64, until: Instant, wake_up: &Arc<WakeUp>) -> Result<u64, ReadError> {
        if self.alone == Some(Access::AsItLies) {
            // A connection that reads the file as it lies does not see it change.
            loop {
                let end = self.head()?;
                if end > seq || Instant::now() >= until {
                    return Ok(end);
                }
                wake_up.wait(wake_up.count(), until.min(Instant::now() + LOOK));
            }
        }
        let version = |connection: &Connection| -> Result<i64, rusqlite::Error> {
            connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))
        };
        self.lend(|connection| {
            let (mut heard, mut seen) = (wake_up.count(), version(connection)?);
            let mut end = head(connection)?;
            while end <= seq && Instant::now() < until {
                wake_up.wait(heard, until.min(Instant::now() + LOOK));
                self.check(Some(connection))?;
                heard = wake_up.count();
                let found = version(connection)?;
                if found != seen {
                    (seen, end) = (found, head(connection)?);
                }
            }
            Ok(end)
        })
    }

    fn entity(&self, id: EntityId) -> Result<Option<Stored>, ReadError> {
        self.with(|connection| stored(connection, id))
    }

    fn each_of(&self, ids: &[EntityId]) -> Result<Vec<Option<Stored>>, ReadError> {
        self.with(|connection| ids.iter().map(|id| stored(connection, *id)).collect())
    }

    fn entities(&self, listing: Listing) -> Result<Vec<Stored>, ReadError> {
        let limit = if listing.limit == 0 { -1 } else { listing.limit as i64 };
        self.with(|connection| {
            let mut statement = connection.prepare_cached(&newest_first(listing))?;
            let rows = statement.query((listing.kind.map(Kind::name), limit))?;
            listed(rows)
        })
    }

    fn slice(&self, slice: Slice) -> Result<Vec<Stored>, ReadError> {
        self.with(|connection| listings::slice(connection, &slice))
    }

    fn standings(&self) -> Result<(u64, Vec<StateCount>), ReadError> {
        self.with(|connection| Ok((head(connection)?, listings::standings(connection)?)))
    }

    fn ended_counts(&self) -> Result<Vec<(String, u64)>, ReadError> {
        self.with(listings::ended_counts)
    }

    fn ended_tasks(
        &self,
        state: &'static str,
        beyond: Option<EntityId>,
        limit: usize,
    ) -> Result<Vec<Stored>, ReadError> {
        self.with(|connection| listings::ended_tasks(connection, state, beyond, limit))
    }

    fn attention(&self, limit: usize) -> Result<Vec<Stored>, ReadError> {
        self.with(|connection| {
            let mut statement = connection.prepare_cached(columns::ATTENTION)?;
            listed(statement.query([limit as i64])?)
        })
    }

    fn records(&self, page: Page) -> Result<Vec<Record>, ReadError> {
        let (scope, id) = match page.scope {
            RecordScope::All => ("?2 IS NULL", None),
            RecordScope::Entity(id) => ("entity = ?2", Some(*id.uuid().as_bytes())),
        };
        let sql = format!(
            "SELECT {} FROM ledger WHERE seq > ?1 AND {scope} ORDER BY seq LIMIT ?3",
            columns::RECORD
        );
        self.with(|connection| {
            let archived = archive::end(connection)?;
            let mut all = Vec::new();
            if page.after < archived {
                all = from_archive(connection, page)?;
            }
            let mut statement = connection.prepare_cached(&sql)?;
            let limit = i64::try_from(page.limit - all.len()).unwrap_or(i64::MAX);
            let rows = statement.query((page.after.max(archived) as i64, id, limit))?;
            all.extend(collect(rows, columns::record)?);
            Ok(all)
        })
    }

    /// The newest record decided at or before a moment; the ledger's time never runs backwards, so this can be
    /// searched by halves.
    fn seq_at(&self, moment: Moment) -> Result<u64, ReadError> {
        self.with(|connection| {
            if let Some(seq) = archive::seq_at(connection, moment)? {
                return Ok(seq);
            }
            let (mut low, mut high) = (archive::end(connection)?, head(connection)?);
            let mut statement = connection.prepare_cached("SELECT at FROM ledger WHERE seq = ?1")?;
            while low < high {
                let middle = low + (high - low).div_ceil(2);
                let at: i64 = statement.query_row([middle as i64], |row| row.get(0))?;
                if Moment::from_micros(at) <= moment { low = middle } else { high = middle - 1 }
            }
            Ok(low)
        })
    }

    /// The ids whose bits lie between two bounds: all that begin with what somebody typed.
    fn between(&self, kind: Kind, low: u128, high: u128, limit: usize) -> Result<Vec<EntityId>, ReadError> {
        self.with(|connection| {
            let sql = "SELECT id FROM entity WHERE id BETWEEN ?1 AND ?2 AND kind = ?3 ORDER BY id LIMIT ?4";
            let mut statement = connection.prepare_cached(sql)?;
            let rows = statement.query((low.to_be_bytes(), high.to_be_bytes(), kind.name(), limit as i64))?;
            collect(rows, |row| Ok(EntityId::new(kind, columns::uuid(row, 0)?)))
        })
    }

    fn checkpoints(&self) -> Result<Vec<Checkpoint>, ReadError> {
        self.with(|connection| {
            let sql = format!("SELECT {} FROM checkpoint ORDER BY seq", columns::CHECKPOINT);
            let mut statement = connection.prepare_cached(&sql)?;
            collect(statement.query([])?, columns::checkpoint)
        })
    }

    fn newest_checkpoints(&self) -> Result<Vec<Checkpoint>, ReadError> {
        self.with(seals::newest)
    }

    fn root_at(&self, seq: u64) -> Result<Option<Hash>, ReadError> {
        self.with(|connection| {
            let mut statement = connection.prepare_cached("SELECT root FROM checkpoint WHERE seq = ?1")?;
            Ok(collect(statement.query([seq as i64])?, |row| columns::hash(row, 0))?.pop())
        })
    }

    fn store_id(&self) -> Result<String, ReadError> {
        self.with(|connection| {
            let id = connection.query_row("SELECT lower(hex(store)) FROM meta", [], |row| row.get(0));
            Ok(id.optional()?.unwrap_or_default())
        })
    }

    fn signers(&self) -> Result<Vec<PublicKey>, ReadError> {
        self.with(signers::all)
    }

    fn awaits_seal(&self) -> Result<u64, ReadError> {
        self.with(|connection| {
            let marked: Option<i64> =
                connection.query_row("SELECT unsealed FROM meta", [], |row| row.get(0))?;
            Ok(marked.unwrap_or_default() as u64)
        })
    }

    fn segments(&self) -> Result<Vec<Segment>, ReadError> {
        self.with(archive::segments)
    }

    fn segment_problems(&self) -> Result<Vec<Problem>, ReadError> {
        self.with(archive::problems)
    }

    fn defence_problems(&self) -> Result<Vec<Problem>, ReadError> {
        self.with(|connection| maintain::defence(connection, &super::connect::pristine()?))
    }

    fn take_out(&self, segment: &Segment) -> Result<u64, ReadError> {
        archive::take_out(&mut self.writing()?, segment)
    }

    fn relocate(&self, digest: Hash, path: &Path) -> Result<(), ReadError> {
        archive::relocate(&self.writing()?, digest, path)
    }

    fn each_record(&self, after: u64, last: u64, each: EachRecord<'_>) -> Result<(), ReadError> {
        self.with(|connection| maintain::each_record(connection, after, last, each))
    }

    fn before(&self, record: &Record) -> Result<Option<Record>, ReadError> {
        self.with(|connection| maintain::before(connection, record))
    }

    fn view_problems(&self, share: Share) -> Result<Vec<Problem>, ReadError> {
        self.with(|connection| maintain::view_problems(connection, share))
    }

    fn rebuild(&self, folded: Share) -> Result<(), ReadError> {
        maintain::rebuild(&mut self.writing()?, folded)
    }

    fn info(&self) -> Result<Info, ReadError> {
        self.with(|connection| maintain::info(connection, &self.place.path))
    }

    fn backup(&self, to: &Path) -> Result<(), ReadError> {
        maintain::backup(&self.connect()?, to)
    }

    fn integrity(&self) -> Result<Option<String>, ReadError> {
        maintain::integrity(&self.connect()?)
    }

    fn probe(&self) -> Result<(), ReadError> {
        self.check(None)?;
        maintain::probe(&mut self.writing()?)
    }

    fn lease(&self, order: &LeaseOrder) -> Result<LeaseAnswer, ReadError> {
        self.check(None)?;
        let mut connection = self.writing()?;
        let answer = leases::settle(&mut connection, order, || self.place.clock.now())?;
        // Written into a store that was replaced meanwhile, it must not stay in a WAL that lies beside another one.
        self.check(Some(&connection))?;
        Ok(answer)
    }

    fn leases(&self) -> Result<Vec<LeaseSeen>, ReadError> {
        self.with(|connection| leases::all(connection, self.place.clock.now()))
    }

    fn service_steps(&self) -> Result<Vec<ServiceStep>, ReadError> {
        self.with(leases::steps)
    }

    fn vacuum(&self) -> Result<(), ReadError> {
        exchange::vacuum(&self.writing()?)
    }

    fn import(&self, lines: &mut Lines<'_>) -> Result<Imported, ImportError> {
        let key = |error| ReadError::File(std::io::Error::other(error));
        let mut connection = self.writing()?;
        let seal = self.place.seal().map_err(key)?;
        exchange::import(&mut connection, &seal, lines)
    }

    fn legacy(&self) -> Result<Vec<Legacy>, ReadError> {
        self.with(exchange::legacy)
    }

    fn legacy_count(&self) -> Result<u64, ReadError> {
        self.with(exchange::legacy_count)
    }
}

/// The statement of a listing. It walks through the ids from the newest on, so a limit bounds what is read.
fn newest_first(listing: Listing) -> String {
    let live = if listing.ended { "" } else { "AND e.ended_at IS NULL" };
    format!("SELECT {} WHERE (?1 IS NULL OR e.kind = ?1) {live} ORDER BY e.id DESC LIMIT ?2", columns::STORED)
}

/// The part of a page that is in files.
fn from_archive(connection: &Connection, page: Page) -> Result<Vec<Record>, ReadError> {
    let mut found = Vec::new();
    archive::each(connection, page.after, &mut |record| {
        if found.len() >= page.limit {
            return Ok(ControlFlow::Break(()));
        }
        if match page.scope {
            RecordScope::All => true,
            RecordScope::Entity(id) => id.uuid() == record.entity,
        } {
            found.push(record);
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(found)
}

fn head(connection: &Connection) -> Result<u64, ReadError> {
    let seq: Option<i64> = connection
        .prepare_cached("SELECT max(seq) FROM ledger")?
        .query_row([], |row| row.get(0))
        .optional()?
        .flatten();
    Ok(seq.unwrap_or(0) as u64)
}

/// The entities of a list; those whose kind or state only a newer program knows are left out.
pub(super) fn listed(rows: rusqlite::Rows<'_>) -> Result<Vec<Stored>, ReadError> {
    let read = |row: &rusqlite::Row<'_>| match columns::stored(row) {
        Err(error) if error.is_of_newer() => Ok(None),
        read => read.map(Some),
    };
    Ok(collect(rows, read)?.into_iter().flatten().collect())
}

pub(super) fn collect<T>(
    mut rows: rusqlite::Rows<'_>,
    read: impl Fn(&rusqlite::Row<'_>) -> Result<T, ReadError>,
) -> Result<Vec<T>, ReadError> {
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        all.push(read(row)?);
    }
    Ok(all)
}

fn stored(connection: &Connection, id: EntityId) -> Result<Option<Stored>, ReadError> {
    let mut statement = connection.prepare_cached(columns::STORED_BY_ID)?;
    let mut rows = statement.query([id.uuid().as_bytes()])?;
    rows.next()?.map(columns::stored).transpose()
}

#[cfg(test)]
mod tests {
    use callboard_kernel::{Actor, Command, Create, Facts, Order};
    use callboard_lifecycle::ActorClass;
    use callboard_lifecycle::session::SessionState;
    use rusqlite::StatementStatus;
    use uuid::Uuid;

    use super::*;
    use crate::ledger::{Ledger, Options};
    use crate::store::Request;

    /// Steps of the database to list the 50 newest of so many entities.
    fn steps(entities: u128) -> i32 {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("board.db");
        let ledger = Ledger::open(&path, Options::default()).unwrap();
        let create = |number| {
            let data = Facts::none().with("title", "a run");
            let order = Order::Create(Create { at: SessionState::Pending.into(), reasons: vec![], data });
            let command = Command::new(EntityId::new(Kind::Session, Uuid::from_u128(number)), order);
            let actor = Actor::new(ActorClass::Supervisor, "host/1");
            ledger.submit(Request { command, actor, now: Moment::from_micros(1), cause: None })
        };
        let tickets: Vec<_> = (0..entities).map(create).collect();
        assert!(tickets.into_iter().all(|ticket| ticket.wait().is_ok()));
        let listing = Listing { kind: None, ended: true, limit: 50 };
        assert_eq!(ledger.entities(listing).unwrap().len(), 50);
        let connection = Connection::open(&path).unwrap();
        let mut statement = connection.prepare(&newest_first(listing)).unwrap();
        let rows = statement.query((None::<&str>, listing.limit as i64)).unwrap();
        assert_eq!(listed(rows).unwrap().len(), 50);
        statement.get_status(StatementStatus::VmStep)
    }

    #[test]
    fn a_short_list_costs_the_same_however_many_there_are() {
        assert_eq!(steps(2_000), steps(100));
    }
}
