//! A bell that is rung when the log may have grown.
//!
//! Invariant: only a wake-up; whoever hears it looks at the log, and looks now and then though it is silent.
//! Deliberately absent: what was written.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Instant;

#[derive(Default)]
pub(crate) struct Bell {
    rung: Mutex<u64>,
    ringing: Condvar,
}

impl Bell {
    pub(crate) fn ring(&self) {
        *self.rung.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.ringing.notify_all();
    }

    /// How often it was rung; asked before a look, so that a ring after it is not missed.
    pub(crate) fn count(&self) -> u64 {
        *self.rung.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a ring beyond those that were heard, until a moment.
    pub(crate) fn wait(&self, heard: u64, until: Instant) {
        let rung = self.rung.lock().unwrap_or_else(PoisonError::into_inner);
        let left = until.saturating_duration_since(Instant::now());
        drop(self.ringing.wait_timeout_while(rung, left, |rung| *rung <= heard));
    }
}
