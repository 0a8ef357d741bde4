//! A service: a name, when it is due, one step.
//!
//! Invariant: a step is safe to repeat, because a crash repeats it: the position is recorded after the step. A step asks before
//! every act whether its host still holds the lease. Deliberately absent: threads and leases, which the host has.

use std::time::Duration;

use callboard_kernel::Moment;
use callboard_ledger::Ledger;

use super::tenure::Tenure;
use crate::run::Clock;

/// Something that happens by itself.
pub trait Service: Send {
    /// What it is called; its position is recorded under this name.
    fn name(&self) -> &str;

    /// How often it makes a step though nothing is recorded, and how long it waits after an error.
    fn every(&self) -> Duration;

    /// Does it make a step as soon as something is recorded?
    fn follows_log(&self) -> bool;

    /// Makes one step from the recorded position.
    fn step(&mut self, duty: &Duty<'_>) -> Stepped;
}

/// What a step is given.
#[derive(Clone, Copy)]
pub struct Duty<'a> {
    /// Where it reads and writes.
    pub ledger: &'a Ledger,
    /// The last record that it has dealt with.
    pub position: u64,
    tenure: &'a Tenure,
    clock: &'a dyn Clock,
}

impl<'a> Duty<'a> {
    pub(super) const fn new(
        ledger: &'a Ledger,
        position: u64,
        tenure: &'a Tenure,
        clock: &'a dyn Clock,
    ) -> Self {
        Self { ledger, position, tenure, clock }
    }

    /// The time by the clock of the host.
    pub fn now(&self) -> Moment {
        self.clock.now()
    }

    /// May it still act? Once this is `false` another process may have taken over.
    pub fn is_held(&self) -> bool {
        self.tenure.is_held()
    }

    /// A step that went well and has dealt with everything up to here.
    pub const fn done(&self, position: u64) -> Stepped {
        Stepped { position, error: None }
    }

    /// A step that failed, and will be repeated from the position it began at.
    pub fn failed(&self, error: impl Into<String>) -> Stepped {
        Stepped { position: self.position, error: Some(error.into()) }
    }
}

/// How far a step came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stepped {
    /// The last record that was dealt with.
    pub position: u64,
    /// What went wrong, if anything did.
    pub error: Option<String>,
}
