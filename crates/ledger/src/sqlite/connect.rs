//! Opening a SQLite store: where it is, how it is synced, and which format it has.
//!
//! Invariant: every connection that can write has WAL, `synchronous=FULL` and a bounded wait; a format this program
//! does not know is refused before anything is touched.

use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::{edges, seals};
use crate::error::{OpenError, ReadError};
use crate::lease::Clock;
use crate::mutant;
use crate::proof::checkpoint::Seal;
use crate::proof::witness;

/// The newest format this program knows: the number of the last migration.
pub(super) const FORMAT: i64 = 7;

/// Older ones can corrupt a WAL that two connections write or checkpoint.
const SQLITE_MIN: i32 = 3_051_003;

mod embedded {
    refinery::embed_migrations!("src/sqlite/migrations");
}

/// Where a store is and how long a writer waits for another.
#[derive(Clone, Debug)]
pub(crate) struct StoreFile {
    pub(crate) path: PathBuf,
    pub(super) busy_wait: Duration,
    /// May the store be made if it is not there?
    pub(super) may_make: bool,
    /// Where the checkpoint key lies, if it is not beside the store.
    key: Option<PathBuf>,
    /// By which leases are judged.
    pub(super) clock: Clock,
    /// The file system, if it is not the usual one.
    #[cfg(feature = "mutants")]
    vfs: Option<String>,
}

impl StoreFile {
    pub(crate) fn new(path: &Path, busy_wait: Duration) -> Self {
        Self {
            path: path.to_owned(),
            busy_wait,
            may_make: true,
            key: None,
            clock: Clock::default(),
            #[cfg(feature = "mutants")]
            vfs: None,
        }
    }

    /// The same place with its checkpoint key somewhere else.
    pub(crate) fn sealed_by(self, key: Option<PathBuf>) -> Self {
        Self { key, ..self }
    }

    /// The same place with leases judged by another clock.
    pub(crate) fn judged_by(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    /// The same place, where nothing is made if there is nothing.
    pub(crate) fn existing(self) -> Self {
        Self { may_make: false, ..self }
    }

    /// A file beside the store.
    pub(super) fn beside(&self, suffix: &str) -> PathBuf {
        let mut name = self.path.as_os_str().to_owned();
        name.push(suffix);
        name.into()
    }

    /// Are its files where their paths say? A file system of the fault driver keeps them elsewhere.
    #[cfg(feature = "mutants")]
    pub(super) const fn is_on_disk(&self) -> bool {
        self.vfs.is_none()
    }

    /// Are its files where their paths say?
    #[cfg(not(feature = "mutants"))]
    #[expect(clippy::unused_self, reason = "the fault driver has stores that are not on the disk")]
    pub(super) const fn is_on_disk(&self) -> bool {
        true
    }

    /// What signs its checkpoints.
    pub(super) fn seal(&self) -> Result<Seal, OpenError> {
        self.key.as_deref().map_or_else(|| Seal::beside(&self.path), Seal::at)
    }

    /// Where it is remembered how far the store was sealed; a store that is not on the disk has no such place.
    pub(crate) fn second_place(&self) -> Option<PathBuf> {
        if !self.is_on_disk() {
            return None;
        }
        Some(match &self.key {
            None => witness::path_of(&self.beside(".key"), None),
            Some(key) => {
                let path = std::path::absolute(&self.path).unwrap_or_else(|_| self.path.clone());
                witness::path_of(key, Some(&path.to_string_lossy()))
            }
        })
    }

    /// The same place on a file system that can be made to fail.
    #[cfg(feature = "mutants")]
    pub(crate) fn on(self, vfs: &str) -> Self {
        Self { vfs: Some(vfs.to_owned()), ..self }
    }

    /// Opens the store for writing, making it or bringing its format up to date if need be.
    pub(super) fn open(&self) -> Result<Connection, OpenError> {
        if rusqlite::version_number() < SQLITE_MIN {
            return Err(OpenError::OldSqlite { found: rusqlite::version(), needed: "3.51.3" });
        }
        let fail = |source| self.database(source);
        let mut connection = self.touch().map_err(fail)?;
        let found = format(&connection).map_err(fail)?;
        if found > FORMAT {
            return Err(OpenError::Newer { path: self.path.clone(), found, known: FORMAT });
        }
        if found < FORMAT {
            self.migrate(&mut connection)?;
        } else {
            configure(&connection).map_err(fail)?;
            edges::sync(&mut connection).map_err(fail)?;
        }
        Ok(connection)
    }

    /// Opens the store for reading only.
    pub(crate) fn open_reader(&self) -> Result<Connection, rusqlite::Error> {
        let connection = self.connect()?;
        connection.pragma_update(None, "query_only", true)?;
        Ok(connection)
    }

    /// Finds out how the store can be read by somebody who may not write, and whether this program can read it.
    pub(super) fn find_access(&self) -> Result<Access, OpenError> {
        if rusqlite::version_number() < SQLITE_MIN {
            return Err(OpenError::OldSqlite { found: rusqlite::version(), needed: "3.51.3" });
        }
        if !self.path.exists() {
            return Err(OpenError::Missing { path: self.path.clone() });
        }
        self.refuse_a_wal_of_another_store()?;
        let found = |access| -> Result<i64, rusqlite::Error> {
            self.open_to_read(access)?
                .query_row("SELECT user_version FROM pragma_user_version", [], |row| row.get(0))
        };
        let (access, format) = match found(Access::Shared) {
            Ok(format) => (Access::Shared, format),
            Err(error) if !is_out_of_reach(&error) => return Err(self.database(error)),
            // Without its index a WAL cannot be read, and none can be made here.
            Err(source) if self.wal_bytes() > 0 => {
                return Err(OpenError::WalOutOfReach { path: self.path.clone(), source });
            }
            Err(_) => (Access::AsItLies, found(Access::AsItLies).map_err(|source| self.database(source))?),
        };
        let path = self.path.clone();
        match format {
            0 => Err(OpenError::Missing { path }),
            FORMAT => Ok(access),
            found if found < FORMAT => Err(OpenError::Older { path, found, known: FORMAT }),
            found => Err(OpenError::Newer { path, found, known: FORMAT }),
        }
    }

    /// Opens the store for somebody who only reads.
    pub(super) fn open_to_read(&self, access: Access) -> Result<Connection, rusqlite::Error> {
        let mut flags = OpenFlags::default();
        flags.remove(OpenFlags::SQLITE_OPEN_CREATE);
        let connection = match access {
            Access::Shared => Connection::open_with_flags(&self.path, flags)?,
            Access::AsItLies => {
                flags.remove(OpenFlags::SQLITE_OPEN_READ_WRITE);
                flags.insert(OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI);
                let path = std::path::absolute(&self.path).unwrap_or_else(|_| self.path.clone());
                let bytes = path.as_os_str().as_encoded_bytes();
                let name = percent_encoding::percent_encode(bytes, IN_A_PATH);
                Connection::open_with_flags(format!("file://{name}?immutable=1"), flags)?
            }
        };
        connection.busy_timeout(self.busy_wait)?;
        // What another process left in the WAL is for the next writer to bring into the database.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, self.wal_bytes() > 0)?;
        connection.pragma_update(None, "query_only", true)?;
        connection.pragma_update(None, "temp_store", "MEMORY")?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
        Ok(connection)
    }

    fn wal_bytes(&self) -> u64 {
        std::fs::metadata(self.beside("-wal")).map_or(0, |file| if file.is_file() { file.len() } else { 0 })
    }

    /// What tells whether a file that is read as it lies was written meanwhile.
    pub(super) fn traces(&self) -> Traces {
        let file = std::fs::metadata(&self.path).ok();
        (file.map(|file| (file.ino(), file.len(), file.mtime(), file.mtime_nsec())), self.wal_bytes())
    }

    /// Opens a store whose format is known to be right for writing.
    pub(super) fn open_writer(&self) -> Result<Connection, rusqlite::Error> {
        self.connect()
    }

    fn connect(&self) -> Result<Connection, rusqlite::Error> {
        let connection = self.touch()?;
        configure(&connection)?;
        Ok(connection)
    }

    /// Is the store on the file system, and not on one that was registered with SQLite?
    #[cfg(feature = "mutants")]
    const fn is_plain_file(&self) -> bool {
        self.vfs.is_none()
    }

    /// Is the store on the file system, and not on one that was registered with SQLite?
    #[cfg(not(feature = "mutants"))]
    #[expect(clippy::unused_self, reason = "it depends on the store where a store may be elsewhere")]
    const fn is_plain_file(&self) -> bool {
        true
    }

    /// Opens the database and changes nothing about it.
    fn touch(&self) -> Result<Connection, rusqlite::Error> {
        let mut flags = OpenFlags::default();
        flags.set(OpenFlags::SQLITE_OPEN_CREATE, self.may_make);
        if self.may_make && self.is_plain_file() {
            // SQLite would let everybody read it. Whether it is there already, or why it cannot be made, SQLite tells.
            drop(std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&self.path));
        }
        #[cfg(feature = "mutants")]
        let connection = match &self.vfs {
            Some(vfs) => Connection::open_with_flags_and_vfs(&self.path, flags, vfs.as_str())?,
            None => Connection::open_with_flags(&self.path, flags)?,
        };
        #[cfg(not(feature = "mutants"))]
        let connection = Connection::open_with_flags(&self.path, flags)?;
        connection.busy_timeout(self.busy_wait)?;
        Ok(connection)
    }

    /// The format number comes last: after a kill in between, the next open finds the old one and does the rest.
    fn migrate(&self, connection: &mut Connection) -> Result<(), OpenError> {
        // A lock outside the database keeps two first starts from migrating at once.
        let fail = |source| OpenError::Migrate { path: self.path.clone(), source: Box::new(source) };
        let held = Lock::take(&self.path)
            .map_err(|source| OpenError::Directory { path: self.path.clone(), source })?;
        // Two that turn a fresh store to WAL at once would not wait for each other: one of them would fail.
        configure(connection).map_err(|source| self.database(source))?;
        let number = |connection: &Connection| {
            connection.pragma_update(None, "user_version", FORMAT).map_err(|source| self.database(source))
        };
        #[cfg(feature = "mutants")]
        points_inside(connection, true).map_err(|source| self.database(source))?;
        if mutant::removed("number_the_format_last") {
            number(connection)?;
        }
        embedded::migrations::runner().set_grouped(true).run(connection).map_err(fail)?;
        mutant::point("migrate");
        edges::sync(connection).map_err(|source| self.database(source))?;
        mutant::point("migrate");
        seals::cover_what_was(connection, &self.seal()?).map_err(|source| self.unreadable(source))?;
        mutant::point("migrate");
        number(connection)?;
        mutant::point("migrate");
        #[cfg(feature = "mutants")]
        points_inside(connection, false).map_err(|source| self.database(source))?;
        drop(held);
        Ok(())
    }

    /// What failed while the store was brought up to date.
    fn unreadable(&self, error: ReadError) -> OpenError {
        if let ReadError::Sqlite(source) = error {
            return self.database(source);
        }
        OpenError::Seal { path: self.path.clone(), source: Box::new(error) }
    }

    pub(crate) fn database(&self, source: rusqlite::Error) -> OpenError {
        OpenError::Database { path: self.path.clone(), source }
    }
}

/// How somebody reads who may not write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// Together with those who write, through the WAL and its index.
    Shared,
    /// The database alone, where nothing can be made beside it. Right only while there is no WAL and nobody writes.
    AsItLies,
}

/// The number, the size and the time of a database, and the size of its WAL.
pub(super) type Traces = (Option<(u64, u64, i64, i64)>, u64);

/// What stays as it is in the path of a URI.
const IN_A_PATH: &percent_encoding::AsciiSet =
    &percent_encoding::NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Can nothing be made or written beside the database?
fn is_out_of_reach(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied)
    )
}

/// How every connection works that may write.
fn configure(connection: &Connection) -> Result<(), rusqlite::Error> {
    connection.pragma_update(None, "synchronous", synchronous())?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
    // Without this, a statement that a partial index might serve is planned anew for every value bound to it.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    Ok(())
}

/// The same schema as a store of this format has, with nothing in it.
pub(super) fn pristine() -> Result<Connection, ReadError> {
    let mut connection = Connection::open_in_memory()?;
    let made = embedded::migrations::runner().set_grouped(true).run(&mut connection);
    made.map_err(|error| ReadError::File(std::io::Error::other(error)))?;
    edges::sync(&mut connection)?;
    Ok(connection)
}

/// Every commit is synced before it is answered.
fn synchronous() -> &'static str {
    if mutant::removed("sync_before_answer") {
        "OFF"
    } else if mutant::removed("sync_every_commit") {
        "NORMAL"
    } else {
        "FULL"
    }
}

/// Page cache of one connection.
const CACHE_KIB: i64 = 16 * 1024;
/// More than there are statements.
const STATEMENTS_MAX: usize = 64;

/// The format of the store; one that is closed right after this is left as it was, its WAL included.
fn format(connection: &Connection) -> Result<i64, rusqlite::Error> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    let found = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if found <= FORMAT {
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
    }
    Ok(found)
}

/// Leaves no doubt about what a failed commit left behind. What it wrote can be readable without being on the disk, and
/// a system that failed to sync it may never try again; or it can lie unread at the end of the WAL and come back with
/// the next recovery. So everything that can be read is copied into the database and synced, and a commit of its own
/// begins the WAL anew.
pub(super) fn settle(connection: &Connection) -> Result<(), rusqlite::Error> {
    let busy: bool = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
    if busy {
        let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY);
        return Err(rusqlite::Error::SqliteFailure(code, Some("a reader keeps the WAL".to_owned())));
    }
    // A change that changes nothing; its commit is the first of the WAL.
    connection.pragma_update(None, "user_version", FORMAT)
}

/// Lets the process end inside of a statement of the migration too.
#[cfg(feature = "mutants")]
fn points_inside(connection: &mut Connection, on: bool) -> Result<(), rusqlite::Error> {
    /// About as many as the shortest statement of a migration has.
    const INSTRUCTIONS: i32 = 20;
    let point = || {
        mutant::point("migrate");
        false
    };
    connection.progress_handler(if on { INSTRUCTIONS } else { 0 }, on.then_some(point))
}

/// A lock file beside the store; the lock ends with the process that holds it.
struct Lock(#[expect(dead_code, reason = "held until it is dropped")] std::fs::File);

impl Lock {
    fn take(store: &Path) -> std::io::Result<Self> {
        let mut name = store.as_os_str().to_owned();
        name.push(".migrate");
        let file =
            std::fs::OpenOptions::new().create(true).append(true).mode(0o600).open(PathBuf::from(name))?;
        file.lock()?;
        Ok(Self(file))
    }
}
