//! The process table, looked at no more often than it is worth.
//!
//! Invariant: what is told of a process is at most half a second old, and the less the fewer there are; an end that the
//! kernel told of is never older than that. A pid that was taken by another process is told apart by its start time, as
//! everywhere. Without this, ten thousand runs cost ten thousand looks a question.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use callboard_kernel::health::{Place, Sighting};

use crate::host::machine::monotonic_now;
use crate::{Host, ProcessTable};

/// How old a look may be: as long as looking at everybody takes many times over.
const FRESH_MAX: Duration = Duration::from_millis(500);
const FRESH_MIN: Duration = Duration::from_millis(20);
const FRESH_EACH: Duration = Duration::from_micros(50);
/// Looks kept; beyond this, all are forgotten.
const LOOKS_MAX: usize = 65_536;

/// A process table that remembers for a moment.
#[derive(Default)]
pub(super) struct CachedLooks {
    seen: Mutex<HashMap<u32, (Instant, Sighting)>>,
    frozen: Mutex<HashMap<u32, (Instant, bool)>>,
}

impl CachedLooks {
    /// Forgets who ended, so that the next look is a new one.
    pub(super) fn forget(&self, pids: &[u32]) {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).retain(|pid, _| !pids.contains(pid));
        self.frozen.lock().unwrap_or_else(PoisonError::into_inner).retain(|pid, _| !pids.contains(pid));
    }
}

fn fresh(looks: usize) -> Duration {
    FRESH_EACH.saturating_mul(u32::try_from(looks).unwrap_or(u32::MAX)).clamp(FRESH_MIN, FRESH_MAX)
}

/// The process table of a host with the looks of the last moment.
pub struct CachedProcessTable<'a> {
    pub(super) host: &'a Host,
    pub(super) looks: &'a CachedLooks,
}

impl ProcessTable for CachedProcessTable<'_> {
    fn here(&self) -> &Place {
        self.host.here()
    }

    fn look(&self, pid: u32) -> Sighting {
        let now = monotonic_now();
        let mut looks = self.looks.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, seen)) = looks.get(&pid)
            && now.duration_since(*at) < fresh(looks.len())
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

    /// Most of those who are asked for this way are gone, and they are not remembered.
    fn look_anew(&self, pid: u32) -> Sighting {
        self.host.look(pid)
    }

    fn is_frozen(&self, pid: u32) -> bool {
        let now = monotonic_now();
        let mut frozen = self.looks.frozen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, is_frozen)) = frozen.get(&pid)
            && now.duration_since(*at) < fresh(frozen.len())
        {
            return *is_frozen;
        }
        if frozen.len() >= LOOKS_MAX {
            frozen.clear();
        }
        let is_frozen = self.host.is_frozen(pid);
        frozen.insert(pid, (now, is_frozen));
        is_frozen
    }

    fn members(&self, marker: &str) -> Option<Vec<u32>> {
        self.host.members(marker)
    }
}
