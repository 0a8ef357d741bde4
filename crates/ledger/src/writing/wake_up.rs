//! A wake-up for those who wait until the log has grown.
//!
//! Invariant: it says only that there may be something; whoever is woken looks at the log, and looks now and then though nobody
//! wakes it. Deliberately absent: what was written.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Instant;

#[derive(Default)]
pub(crate) struct WakeUp {
    sent: Mutex<u64>,
    changed: Condvar,
}

impl WakeUp {
    pub(crate) fn send(&self) {
        *self.sent.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.changed.notify_all();
    }

    /// How many were sent; asked before a look, so that one after it is not missed.
    pub(crate) fn count(&self) -> u64 {
        *self.sent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for one beyond those that were seen, until a moment.
    pub(crate) fn wait(&self, seen: u64, until: Instant) {
        let sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        let left = until.saturating_duration_since(Instant::now());
        drop(self.changed.wait_timeout_while(sent, left, |sent| *sent <= seen));
    }
}
