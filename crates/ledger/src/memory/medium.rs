//! What a store in memory stands on: it decides what becomes of each commit, and how far a standby lags behind.
//!
//! Invariant: it is asked while the store holds no lock, so it may let others write meanwhile, or end the caller as a
//! crash would.

use callboard_kernel::Moment;

use crate::lease::host_now;

/// What becomes of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is durable, and the callers are told.
    Kept,
    /// Another writer holds the store for too long; nothing is written.
    Busy,
    /// No space is left; nothing is written.
    Full,
    /// The sync failed, and reading back shows that nothing is there.
    NotWritten,
    /// The answer was lost and the store cannot be read back; the records are there.
    UnknownKept,
    /// The answer was lost and the store cannot be read back; the records are not there.
    UnknownLost,
}

/// The medium of a store. The default never fails.
pub trait Medium: Send + Sync {
    /// Before a transaction: what will become of it.
    fn committing(&self) -> Fate {
        Fate::Kept
    }

    /// After a transaction, before its callers are told.
    fn committed(&self) {}

    /// Before a question is answered; an error is a store that cannot be reached.
    fn reading(&self) -> std::io::Result<()> {
        Ok(())
    }

    /// What the clock of the store says, by which leases are judged.
    fn now(&self) -> Moment {
        host_now()
    }

    /// How many of the newest records a standby has not heard of.
    fn lag(&self) -> u64 {
        0
    }
}

/// A medium that never fails.
pub(super) struct Sound;

impl Medium for Sound {}
