//! Who has the store open: a lock file beside it, held shared by every process that may write.
//!
//! Invariant: whoever has the lock alone knows that no other process can be writing. What a process left behind that
//! did not close the store may be readable without being on the disk, and nothing else would tell the next one; so
//! the one that comes first settles it before anybody else gets in. The lock ends with its process.
//! Deliberately absent: keeping anybody out. Those who come later share the lock.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, ffi};

use super::connect::{Place, settle};
use crate::error::OpenError;
use crate::mutant;

/// A process is there as long as it keeps this.
pub(crate) struct Presence(#[expect(dead_code, reason = "held until it is dropped")] File);

/// Between two looks at a lock that somebody else has alone; settling takes about as long.
const PAUSE: Duration = Duration::from_millis(2);
/// How long a reader that is not ours is waited for.
const SETTLE_WAIT: Duration = Duration::from_millis(100);

impl Place {
    /// Opens the store for writing, and settles what an earlier process may have left behind if nobody else is there.
    pub(super) fn enter(&self) -> Result<(Connection, Presence), OpenError> {
        let fail = |source| self.no_lock(source);
        if let Some(directory) = self.path.parent() {
            std::fs::create_dir_all(directory).map_err(fail)?;
        }
        let file = OpenOptions::new().create(true).append(true).open(self.lock_path()).map_err(fail)?;
        let until = Instant::now() + self.busy_wait;
        match file.try_lock() {
            Ok(()) => {
                let connection = self.open()?;
                self.settle_what_was_left(&connection).map_err(|source| self.database(source))?;
                file.unlock().map_err(fail)?;
                self.share(&file, until)?;
                Ok((connection, Presence(file)))
            }
            Err(TryLockError::WouldBlock) => {
                self.share(&file, until)?;
                Ok((self.open()?, Presence(file)))
            }
            Err(TryLockError::Error(source)) => Err(fail(source)),
        }
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

    fn lock_path(&self) -> PathBuf {
        let mut name = self.path.as_os_str().to_owned();
        name.push(".lock");
        name.into()
    }
}
