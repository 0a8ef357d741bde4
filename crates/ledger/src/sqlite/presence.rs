//! Who has the store open: a lock file beside it, held shared by every process that may write.
//!
//! Invariant: whoever has the lock alone knows that no other process can be writing. What a process left behind that
//! did not close the store may be readable without being on the disk, and nothing else would tell the next one; so
//! the one that comes first settles it before anybody else gets in. The lock ends with its process.
//! The lock file says which files are open, by their numbers; a file that was put in the place of one of them is not
//! opened. Deliberately absent: keeping anybody else out. Those who come later share the lock.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, ffi};

use super::connect::{StoreFile, settle};
use crate::error::OpenError;
use crate::mutant;

/// A process is there as long as it keeps this.
pub(crate) struct Presence(#[expect(dead_code, reason = "held until it is dropped")] File);

/// Between two looks at a lock that somebody else has alone; settling takes about as long.
const PAUSE: Duration = Duration::from_millis(2);
/// How long a reader that is not ours is waited for.
const SETTLE_WAIT: Duration = Duration::from_millis(100);

impl StoreFile {
    /// Opens the store for writing, and settles what an earlier process may have left behind if nobody else is there.
    pub(super) fn enter(&self) -> Result<(Connection, Presence), OpenError> {
        let fail = |source| self.no_lock(source);
        if !self.may_make && !self.path.exists() {
            return Err(OpenError::Missing { path: self.path.clone() });
        }
        if let Some(directory) = self.path.parent() {
            std::fs::create_dir_all(directory).map_err(fail)?;
        }
        let file = self.lock_file().map_err(fail)?;
        let until = Instant::now() + self.busy_wait;
        match file.try_lock() {
            Ok(()) => {
                self.refuse_a_foreign_wal(&file)?;
                let connection = self.open()?;
                self.settle_what_was_left(&connection).map_err(|source| self.database(source))?;
                self.note(&file, &connection).map_err(|source| self.database(source))?;
                file.unlock().map_err(fail)?;
                self.share(&file, until)?;
                Ok((connection, Presence(file)))
            }
            Err(TryLockError::WouldBlock) => {
                self.share(&file, until)?;
                self.refuse_another_file(&file)?;
                let connection = self.open()?;
                self.note(&file, &connection).map_err(|source| self.database(source))?;
                Ok((connection, Presence(file)))
            }
            Err(TryLockError::Error(source)) => Err(fail(source)),
        }
    }

    /// Opens the lock file, making it if it is not there.
    pub(super) fn lock_file(&self) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).read(true).write(true).mode(0o600).open(self.beside(".lock"))
    }

    /// Others have the store open. If it is not the file at the path, that one must not be opened: it would be read
    /// together with a WAL that belongs to another file.
    fn refuse_another_file(&self, lock: &File) -> Result<(), OpenError> {
        let Some((database, _)) = noted(lock) else { return Ok(()) };
        match number_of(&self.path) {
            Some(found) if found == database => Ok(()),
            Some(_) => Err(self.replaced("another process has a file open that was replaced by this one")),
            None => Err(self.replaced("another process has it open, and it was moved or removed")),
        }
    }

    /// Nobody has the store open. A WAL that was left by a process that did not close it, beside another database than
    /// that process had, would be copied into this one and damage it.
    fn refuse_a_foreign_wal(&self, lock: &File) -> Result<(), OpenError> {
        let Some((database, wal)) = noted(lock) else { return Ok(()) };
        let path = self.beside("-wal");
        let is_left = std::fs::metadata(&path).is_ok_and(|file| file.len() > 0);
        if is_left && number_of(&path) == Some(wal) && number_of(&self.path) != Some(database) {
            return Err(self.replaced("the WAL beside it was left by a store that is not there any more"));
        }
        Ok(())
    }

    /// The same for somebody who only reads, and keeps no lock.
    pub(super) fn refuse_a_wal_of_another_store(&self) -> Result<(), OpenError> {
        let Ok(lock) = File::open(self.beside(".lock")) else { return Ok(()) };
        self.refuse_a_foreign_wal(&lock)?;
        let is_another = noted(&lock).is_some_and(|(database, _)| number_of(&self.path) != Some(database));
        // Only then it matters whether somebody has the store open, so that otherwise no lock is even tried.
        if is_another && matches!(lock.try_lock(), Err(TryLockError::WouldBlock)) {
            return self.refuse_another_file(&lock);
        }
        Ok(())
    }

    fn replaced(&self, problem: &str) -> OpenError {
        let told = format!("{}: {problem}", self.path.display());
        OpenError::Replaced { path: self.path.clone(), told }
    }

    /// Writes down which files are open. Whoever has the store open at the same time writes the same.
    fn note(&self, lock: &File, connection: &Connection) -> Result<(), rusqlite::Error> {
        if !self.is_on_disk() {
            return Ok(());
        }
        // A connection makes its WAL with the first question.
        connection.query_row("PRAGMA wal_checkpoint(NOOP)", [], |_| Ok(()))?;
        let numbers = [number_of(&self.path), number_of(&self.beside("-wal"))].map(Option::unwrap_or_default);
        // Without the note the files cannot be told apart, which is how it was before there was one.
        lock.write_all_at(format!("{:020} {:020}\n", numbers[0], numbers[1]).as_bytes(), 0).ok();
        Ok(())
    }

    /// A WAL with something in it, though nobody has the store open, was left by a process that did not close it.
    fn settle_what_was_left(&self, connection: &Connection) -> Result<(), rusqlite::Error> {
        let frames: i64 = connection.query_row("PRAGMA wal_checkpoint(NOOP)", [], |row| row.get(1))?;
        if frames == 0 || mutant::removed("settle_on_opening") {
            return Ok(());
        }
        connection.busy_timeout(SETTLE_WAIT)?;
        let settled = settle(connection);
        connection.busy_timeout(self.busy_wait)?;
        match settled {
            // A program that is not ours reads an old snapshot and keeps the WAL. It must not keep everybody out: what can
            // be read stays readable, and the next who comes alone settles it.
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => Ok(()),
            settled => settled,
        }
    }

    /// Waits while somebody else settles, and not for ever.
    fn share(&self, file: &File, until: Instant) -> Result<(), OpenError> {
        loop {
            match file.try_lock_shared() {
                Ok(()) => return Ok(()),
                Err(TryLockError::WouldBlock) if Instant::now() < until => std::thread::sleep(PAUSE),
                Err(TryLockError::WouldBlock) => {
                    let code = ffi::Error::new(ffi::SQLITE_BUSY);
                    let told = "another process settles the store".to_owned();
                    return Err(self.database(rusqlite::Error::SqliteFailure(code, Some(told))));
                }
                Err(TryLockError::Error(source)) => return Err(self.no_lock(source)),
            }
        }
    }

    fn no_lock(&self, source: io::Error) -> OpenError {
        OpenError::Directory { path: self.path.clone(), source }
    }
}

/// The numbers of the database and its WAL that were open last.
fn noted(lock: &File) -> Option<(u64, u64)> {
    let mut bytes = [0; 41];
    lock.read_exact_at(&mut bytes, 0).ok()?;
    let (database, wal) = std::str::from_utf8(&bytes).ok()?.split_once(' ')?;
    Some((database.parse().ok()?, wal.parse().ok()?))
}

/// The number of a file on its device.
fn number_of(path: &Path) -> Option<u64> {
    std::fs::metadata(path).ok().map(|file| file.ino())
}
