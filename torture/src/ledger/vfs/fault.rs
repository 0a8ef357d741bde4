//! Which call fails, how, and for how long.
//!
//! Invariant: calls are counted whether one fails or not, so the k-th call of a script is the same call in every run
//! up to the fault. Deliberately absent: failing locks; a lock that cannot be had is a busy store, not a broken disk.

use std::os::raw::c_int;

use rusqlite::ffi;

/// A call of the file system that can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Open,
    Delete,
    Access,
    Read,
    Write,
    /// A write that makes its file longer; it is counted as a write too.
    Grow,
    Truncate,
    Sync,
    Size,
    ShmMap,
}

impl Call {
    /// What SQLite is told when this call fails.
    pub(super) const fn error(self) -> c_int {
        match self {
            Self::Open => ffi::SQLITE_CANTOPEN,
            Self::Delete => ffi::SQLITE_IOERR_DELETE,
            Self::Access => ffi::SQLITE_IOERR_ACCESS,
            Self::Read => ffi::SQLITE_IOERR_READ,
            Self::Write | Self::Grow => ffi::SQLITE_IOERR_WRITE,
            Self::Truncate => ffi::SQLITE_IOERR_TRUNCATE,
            Self::Sync => ffi::SQLITE_IOERR_FSYNC,
            Self::Size => ffi::SQLITE_IOERR_FSTAT,
            Self::ShmMap => ffi::SQLITE_IOERR_SHMMAP,
        }
    }
}

/// What a failing call does before it says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Nothing.
    Nothing,
    /// A write: half of it is written, and the disk is full.
    Full,
    /// A write: half of it is written.
    Half,
    /// A write: all of it is written, and the answer is an error all the same.
    Whole,
    /// A sync: what was to be synced can still be read, and no later sync will write it.
    Lost,
}

/// For how long it fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lasts {
    /// One call.
    Once,
    /// Every call from that one on, until the disk is healed.
    Forever,
}

/// The fault of one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault {
    /// Which calls are counted and fail; `None` is all of them.
    pub(crate) call: Option<Call>,
    pub(crate) effect: Effect,
    pub(crate) lasts: Lasts,
    /// The first that fails, counted from 1.
    pub(crate) at: u64,
}

impl Fault {
    fn counts(&self, call: Call) -> bool {
        self.call.map_or(call != Call::Grow, |failing| failing == call)
    }
}

/// How many sorts of calls there are.
const CALLS: usize = Call::ShmMap as usize + 1;

/// The fault, what was counted, and how often it struck.
#[derive(Debug, Default)]
pub(super) struct Trouble {
    pub(super) fault: Option<Fault>,
    pub(super) hits: u64,
    counted: [u64; CALLS],
}

impl Trouble {
    /// Counts a call and says what goes wrong with it.
    pub(super) fn meet(&mut self, call: Call) -> Option<Effect> {
        self.counted[call as usize] += 1;
        let fault = self.fault.filter(|fault| fault.counts(call))?;
        let nth = self.count(fault.call);
        let strikes = match fault.lasts {
            Lasts::Once => nth == fault.at,
            Lasts::Forever => nth >= fault.at,
        };
        self.hits += u64::from(strikes);
        strikes.then_some(fault.effect)
    }

    /// How many calls were made so far.
    pub(super) fn count(&self, call: Option<Call>) -> u64 {
        let every = || self.counted.iter().sum::<u64>() - self.counted[Call::Grow as usize];
        call.map_or_else(every, |call| self.counted[call as usize])
    }

    /// Can it still strike?
    pub(super) fn is_over(&self) -> bool {
        self.fault.is_none_or(|fault| fault.lasts == Lasts::Once && self.hits > 0)
    }
}
