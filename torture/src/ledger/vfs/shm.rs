//! The memory that the connections to one store share, and its eight locks.
//!
//! Invariant: a region never moves while a connection uses it, and all of it is gone when the last one has let go, as
//! after a restart. Deliberately absent: reading it; only SQLite does, through the addresses handed out here.

use std::collections::BTreeSet;
use std::os::raw::{c_int, c_void};
use std::sync::atomic::AtomicU64;

use rusqlite::ffi;

/// The shared memory of one store.
#[derive(Default)]
pub(super) struct Shm {
    regions: Vec<Box<[AtomicU64]>>,
    slots: [Slot; ffi::SQLITE_SHM_NLOCK as usize],
    users: BTreeSet<u64>,
}

#[derive(Default)]
struct Slot {
    shared: BTreeSet<u64>,
    exclusive: Option<u64>,
}

impl Shm {
    /// The address of a region, which is made if `extend` says so; null if it is not there.
    pub(super) fn map(&mut self, who: u64, region: usize, bytes: usize, extend: bool) -> *mut c_void {
        self.users.insert(who);
        while extend && self.regions.len() <= region {
            self.regions.push((0..bytes.div_ceil(8)).map(|_| AtomicU64::new(0)).collect());
        }
        let first = self.regions.get(region).and_then(|region| region.first());
        first.map_or(std::ptr::null_mut(), |word| word.as_ptr().cast())
    }

    /// Takes or gives back the locks from `first` on.
    pub(super) fn lock(&mut self, who: u64, first: usize, count: usize, flags: c_int) -> Result<(), c_int> {
        let slots = self.slots.get_mut(first..first + count).ok_or(ffi::SQLITE_IOERR_SHMLOCK)?;
        if flags & ffi::SQLITE_SHM_UNLOCK != 0 {
            slots.iter_mut().for_each(|slot| slot.release(who));
            return Ok(());
        }
        let shared = flags & ffi::SQLITE_SHM_SHARED != 0;
        if !slots.iter().all(|slot| slot.is_free(who, shared)) {
            return Err(ffi::SQLITE_BUSY);
        }
        for slot in slots {
            if shared {
                slot.shared.insert(who);
            } else {
                slot.exclusive = Some(who);
            }
        }
        Ok(())
    }

    /// Lets go of everything; true if nobody uses it any more.
    pub(super) fn leave(&mut self, who: u64) -> bool {
        self.slots.iter_mut().for_each(|slot| slot.release(who));
        self.users.remove(&who);
        self.users.is_empty()
    }
}

impl Slot {
    fn is_free(&self, who: u64, shared: bool) -> bool {
        self.exclusive.is_none_or(|holder| holder == who)
            && (shared || self.shared.iter().all(|holder| *holder == who))
    }

    fn release(&mut self, who: u64) {
        self.shared.remove(&who);
        if self.exclusive == Some(who) {
            self.exclusive = None;
        }
    }
}
