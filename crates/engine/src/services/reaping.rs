//! The reaper as a service: every few seconds it looks at the runs of this host, and now and then at leftovers.
//!
//! Invariant: only a process on the host of a run can see that its supervisor is dead, so each host has a reaper of its own. A step
//! ends a run at the version that was judged, so repeating it changes nothing. Deliberately absent: the rules.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use callboard_ledger::{ReadError, error_chain};

use super::service::{Duty, Service, Stepped};
use crate::host::Host;
use crate::recovery::{ReapError, Reaper, Sweep};
use crate::run::Clock;
use crate::world::World;

/// How often leftovers of dead supervisors are looked for.
const SWEEP: Duration = Duration::from_secs(600);

/// The reaper of one host.
pub struct ReaperService {
    name: String,
    every: Duration,
    host: Arc<Host>,
    clock: Arc<dyn Clock + Send + Sync>,
    /// The directories of runs.
    runs: PathBuf,
    swept: Option<Instant>,
}

impl ReaperService {
    /// A reaper that looks this often.
    pub fn new(host: Arc<Host>, clock: Arc<dyn Clock + Send + Sync>, runs: PathBuf, every: Duration) -> Self {
        let name = format!("{}{}", super::status::REAPER_ON, host.name());
        Self { name, every, host, clock, runs, swept: None }
    }

    fn look(&mut self, duty: &Duty<'_>) -> Result<u64, ReapError> {
        let (ledger, world, now) = (duty.ledger, &*self.host, self.clock.now());
        let head = ledger.head()?;
        Reaper { ledger, world, now, older_than: Duration::ZERO, dry_run: false }.reap()?;
        if self.swept.is_none_or(|swept| self.host.instant().saturating_duration_since(swept) >= SWEEP)
            && duty.is_held()
        {
            self.sweep(duty)?;
            self.swept = Some(self.host.instant());
        }
        Ok(head)
    }

    fn sweep(&self, duty: &Duty<'_>) -> Result<(), ReadError> {
        let (ledger, table, now) = (duty.ledger, &*self.host, self.clock.now());
        Sweep { ledger, runs: &self.runs, table, now, dry_run: false }.sweep()?;
        Ok(())
    }
}

impl Service for ReaperService {
    fn name(&self) -> &str {
        &self.name
    }

    fn every(&self) -> Duration {
        self.every
    }

    fn follows_log(&self) -> bool {
        false
    }

    fn step(&mut self, duty: &Duty<'_>) -> Stepped {
        match self.look(duty) {
            Ok(head) => duty.done(head),
            Err(error) => duty.failed(error_chain(&error)),
        }
    }
}
