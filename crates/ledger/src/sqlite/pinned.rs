//! The files of an open store: the database, its WAL and its index. They are held, so that another file in the place of
//! one of them, or none, is noticed.
//!
//! Invariant: nothing is answered by a store whose files are not the ones at its path. SQLite writes on into a file that
//! was removed or renamed, and whatever is written there is lost with the process. A database that comes back to its
//! path is trusted again; a WAL or an index that was exchanged never is, because others may have used the new one.
//! Deliberately absent: a database that was overwritten in place, which no file number shows.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::config::DbConfig;

use super::connect::StoreFile;

/// How often, and how long apart, a connection that lets go tries to empty the WAL.
const COPY_TRIES: u32 = 40;
const COPY_PAUSE: Duration = Duration::from_millis(5);

/// The files of one open store. Shared by the writer and the readers of a process.
pub(crate) struct Pinned {
    path: PathBuf,
    files: RwLock<Files>,
    /// The WAL or the index was exchanged: nothing is read or written until the store is opened anew.
    is_over: AtomicBool,
}

#[derive(Default)]
pub(super) struct Files {
    database: Option<Held>,
    /// The WAL and the index, each with what it is called.
    beside: Vec<(Held, &'static str)>,
}

/// A file that is held, so that its number is not given to another one.
struct Held {
    path: PathBuf,
    number: Number,
    _file: File,
}

/// The device and the number of a file on it.
type Number = (u64, u64);

/// A file that is not the one that was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Exchanged {
    /// What was exchanged, in words.
    pub(super) told: String,
    /// Where the store should be.
    pub(super) path: PathBuf,
    /// Nobody else can have written to the database that was opened, so what its WAL holds can be copied into it.
    may_save: bool,
}

impl Pinned {
    /// Holds the files of a store that a connection has open.
    pub(super) fn of(place: &StoreFile, connection: &Connection) -> Result<Self, rusqlite::Error> {
        let files = RwLock::new(Files::of(place, connection)?);
        Ok(Self { path: place.path.clone(), files, is_over: AtomicBool::new(false) })
    }

    /// Holds the database alone, for somebody who only reads: the WAL and the index come and go with those who write.
    pub(super) fn of_database(place: &StoreFile) -> Self {
        let files = Files { database: Held::of(&place.path).ok(), beside: Vec::new() };
        Self { path: place.path.clone(), files: RwLock::new(files), is_over: AtomicBool::new(false) }
    }

    /// Are they still the files at the path?
    pub(super) fn check(&self) -> Result<(), Exchanged> {
        self.compare(&self.files.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn compare(&self, files: &Files) -> Result<(), Exchanged> {
        let exchanged = |what: &str, problem: &str, may_save| Exchanged {
            told: format!("{}: {what} {problem}", self.path.display()),
            path: self.path.clone(),
            may_save,
        };
        if let Some(problem) = files.database.as_ref().and_then(Held::problem) {
            return Err(exchanged("the file", problem, true));
        }
        for (held, name) in &files.beside {
            if let Some(problem) = held.problem() {
                self.is_over.store(true, Ordering::Release);
                // Whoever opens the store makes a WAL; so without one, nobody has.
                return Err(exchanged(name, problem, *name == WAL && problem == GONE));
            }
        }
        if self.is_over.load(Ordering::Acquire) {
            return Err(exchanged(WAL, "was exchanged while it was open", false));
        }
        Ok(())
    }

    /// Opens the store anew, which closes it first; whoever asks meanwhile waits. Its WAL and its index may be made anew
    /// then, so until they are held again only the database is compared.
    pub(super) fn reopen<T, E: From<Exchanged>>(
        &self,
        open: impl FnOnce() -> Result<(T, Files), E>,
    ) -> Result<T, E> {
        let mut files = self.files.write().unwrap_or_else(PoisonError::into_inner);
        self.compare(&files)?;
        files.beside.clear();
        let (opened, fresh) = open()?;
        let number = |files: &Files| files.database.as_ref().map(|held| held.number);
        if number(&files) != number(&fresh) {
            let told = format!("{}: the file {REPLACED}", self.path.display());
            return Err(Exchanged { told, path: self.path.clone(), may_save: false }.into());
        }
        *files = fresh;
        Ok(opened)
    }
}

impl Exchanged {
    /// Makes a connection harmless, and saves what only it can reach. The WAL is copied into the database that was opened,
    /// wherever that is now, and emptied: what was acknowledged is in one file, and the file at the path is not read
    /// together with a WAL that belongs to another one.
    pub(super) fn let_go(&self, connection: &Connection) {
        // At its end the last connection would remove the WAL at the path, which is not its own any more.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).ok();
        if self.may_save {
            connection.pragma_update(None, "query_only", false).ok();
            empty_wal(connection);
        }
    }
}

/// Copies the WAL into its database and empties it. Several connections let go at once, and while one of them copies, the others are told
/// that it is busy; if all of them gave up then, the WAL would stay.
fn empty_wal(connection: &Connection) {
    for _ in 0..COPY_TRIES {
        let busy = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
        if busy.is_ok_and(|busy| busy == 0) {
            return;
        }
        std::thread::sleep(COPY_PAUSE);
    }
}

impl Files {
    /// Holds what lies at the path. The caller has the store open.
    pub(super) fn of(place: &StoreFile, connection: &Connection) -> Result<Self, rusqlite::Error> {
        if !place.is_on_disk() {
            return Ok(Self::default());
        }
        // A connection makes its WAL and its index with the first question.
        connection.query_row("PRAGMA wal_checkpoint(NOOP)", [], |_| Ok(()))?;
        let beside = [(place.beside("-wal"), WAL), (place.beside("-shm"), "its index")];
        let held = |path: &Path| Held::of(path).ok();
        Ok(Self {
            database: held(&place.path),
            beside: beside.into_iter().filter_map(|(path, name)| Some((held(&path)?, name))).collect(),
        })
    }
}

const WAL: &str = "its WAL";
const GONE: &str = "was moved or removed";
const REPLACED: &str = "was replaced by another one";

impl Held {
    /// Opened only as a place: closing such a handle does not end the locks that SQLite has on the file.
    fn of(path: &Path) -> io::Result<Self> {
        let flags = i32::try_from(rustix::fs::OFlags::PATH.bits()).map_err(io::Error::other)?;
        let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
        let number = number(&file.metadata()?);
        Ok(Self { path: path.to_owned(), number, _file: file })
    }

    fn problem(&self) -> Option<&'static str> {
        match std::fs::metadata(&self.path) {
            Ok(found) if number(&found) == self.number => None,
            Ok(_) => Some(REPLACED),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Some(GONE),
            Err(_) => Some("cannot be reached"),
        }
    }
}

fn number(file: &std::fs::Metadata) -> Number {
    (file.dev(), file.ino())
}
