//! The process table, looked at no more often than it is worth.
//!
//! Invariant: what is told of a process is at most half a second old, and a pid that was taken by another process is
//! told apart by its start time, as everywhere. Without this, ten thousand runs cost ten thousand looks a question.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use callboard_engine::{Host, ProcessTable};
use callboard_kernel::health::{Place, Sighting};

/// How old a look may be.
const FRESH: Duration = Duration::from_millis(500);
/// Looks kept; beyond this, all are forgotten.
const LOOKS_MAX: usize = 65_536;

/// A process table that remembers for a moment.
#[derive(Default)]
pub(crate) struct Looks(Mutex<HashMap<u32, (Instant, Sighting)>>);

/// The looks together with the host they are of.
pub(crate) struct Glance<'a> {
    pub(crate) host: &'a Host,
    pub(crate) looks: &'a Looks,
}

impl ProcessTable for Glance<'_> {
    fn here(&self) -> &Place {
        self.host.here()
    }

    fn look(&self, pid: u32) -> Sighting {
        let now = Instant::now();
        let mut looks = self.looks.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, seen)) = looks.get(&pid)
            && now.duration_since(*at) < FRESH
        {
            return *seen;
        }
        if looks.len() >= LOOKS_MAX {
            looks.clear();
        }
        let seen = self.host.look(pid);
        // A pid that is free may be given out the next moment, so only who was there is remembered.
        if matches!(seen, Sighting::Seen { .. }) {
            looks.insert(pid, (now, seen));
        } else {
            looks.remove(&pid);
        }
        seen
    }

    fn is_frozen(&self, pid: u32) -> bool {
        self.host.is_frozen(pid)
    }

    fn members(&self, marker: &str) -> Option<u32> {
        self.host.members(marker)
    }
}
