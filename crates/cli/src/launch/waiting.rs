//! Waiting for a run to end.
//!
//! Invariant: a run whose supervisor is dead does not keep anybody waiting: the reaper ends it as soon as that is seen.
//! Deliberately absent: what the end means.

use std::time::{Duration, Instant};

use callboard_engine::{Host, Reaper};
use callboard_kernel::EntityId;
use callboard_ledger::{Ledger, Stored};

use crate::clock;
use crate::commands::records::reap::of_reaper;
use crate::error::Error;

/// How long between two looks, at first and at the most.
const FIRST: Duration = Duration::from_millis(10);
const LONGEST: Duration = Duration::from_millis(250);

/// Waits until the run has ended; nothing if the patience ends first.
pub(crate) fn until_ended(
    ledger: &Ledger,
    id: EntityId,
    patience: Option<Duration>,
) -> Result<Option<Stored>, Error> {
    let host = Host::this();
    let deadline = patience.map(|patience| Instant::now() + patience);
    let mut pause = FIRST;
    loop {
        let stored = ledger.entity(id).map_err(Error::Ask)?.ok_or_else(|| Error::NoEntity(id.to_string()))?;
        if stored.entity.ended_at.is_some() {
            return Ok(Some(stored));
        }
        let (now, older_than, dry_run) = (clock::now(), Duration::ZERO, false);
        let reaper = Reaper { ledger, world: &host, now, older_than, dry_run };
        reaper.consider(&stored).map_err(of_reaper)?;
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return Ok(None);
        }
        std::thread::sleep(left.map_or(pause, |left| pause.min(left)));
        pause = (pause * 2).min(LONGEST);
    }
}
