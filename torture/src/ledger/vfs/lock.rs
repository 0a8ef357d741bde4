//! The locks on one file, as SQLite wants them between the connections of one process.
//!
//! Invariant: many share, one reserves, one excludes; a lock that cannot be had is refused at once and never waited
//! for. Deliberately absent: fairness beyond the pending lock, which keeps new readers out.

use std::collections::BTreeMap;
use std::os::raw::c_int;

use rusqlite::ffi;

/// Who holds which level; nobody is in it without one.
#[derive(Debug, Default)]
pub(super) struct FileLocks(BTreeMap<u64, c_int>);

impl FileLocks {
    /// Raises the lock of a connection.
    pub(super) fn raise(&mut self, who: u64, level: c_int) -> Result<(), c_int> {
        let own = self.0.get(&who).copied().unwrap_or(ffi::SQLITE_LOCK_NONE);
        if own >= level {
            return Ok(());
        }
        let others = self.others(who);
        let limit = if level == ffi::SQLITE_LOCK_SHARED {
            ffi::SQLITE_LOCK_PENDING
        } else {
            ffi::SQLITE_LOCK_RESERVED
        };
        if others >= limit {
            return Err(ffi::SQLITE_BUSY);
        }
        if level == ffi::SQLITE_LOCK_EXCLUSIVE && others >= ffi::SQLITE_LOCK_SHARED {
            // Whoever is about to write keeps new readers out until those inside have gone.
            if own == ffi::SQLITE_LOCK_RESERVED {
                self.0.insert(who, ffi::SQLITE_LOCK_PENDING);
            }
            return Err(ffi::SQLITE_BUSY);
        }
        self.0.insert(who, level);
        Ok(())
    }

    /// Lowers the lock of a connection.
    pub(super) fn lower(&mut self, who: u64, level: c_int) {
        if level == ffi::SQLITE_LOCK_NONE {
            self.0.remove(&who);
        } else if self.0.get(&who).is_some_and(|own| *own > level) {
            self.0.insert(who, level);
        }
    }

    /// Has anybody reserved the file?
    pub(super) fn is_reserved(&self) -> bool {
        self.0.values().any(|level| *level >= ffi::SQLITE_LOCK_RESERVED)
    }

    fn others(&self, who: u64) -> c_int {
        let others = self.0.iter().filter(|(holder, _)| **holder != who).map(|(_, level)| *level);
        others.max().unwrap_or(ffi::SQLITE_LOCK_NONE)
    }
}
