//! Opening a SQLite store: where it is, how it is synced, and which format it has.
//!
//! Invariant: every connection that can write has WAL, `synchronous=FULL` and a bounded wait; a format this program
//! does not know is refused before anything is touched.

use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::{edges, seals};
use crate::checkpoint::Seal;
use crate::error::{OpenError, ReadError};
use crate::{mutant, witness};

/// The newest format this program knows: the number of the last migration.
pub(super) const FORMAT: i64 = 4;

/// Older ones can corrupt a WAL that two connections write or checkpoint.
const SQLITE_MIN: i32 = 3_051_003;

mod embedded {
    refinery::embed_migrations!("src/sqlite/migrations");
}

/// Where a store is and how long a writer waits for another.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) path: PathBuf,
    pub(super) busy_wait: Duration,
    /// May the store be made if it is not there?
    pub(super) may_make: bool,
    /// Where the checkpoint key lies, if it is not beside the store.
    key: Option<PathBuf>,
    /// The file system, if it is not the usual one.
    #[cfg(feature = "mutants")]
    vfs: Option<String>,
}

impl Place {
    pub(crate) fn new(path: &Path, busy_wait: Duration) -> Self {
        Self {
            path: path.to_owned(),
            busy_wait,
            may_make: true,
            key: None,
            #[cfg(feature = "mutants")]
            vfs: None,
        }
    }

    /// The same place with its checkpoint key somewhere else.
    pub(crate) fn sealed_by(self, key: Option<PathBuf>) -> Self {
        Self { key, ..self }
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
