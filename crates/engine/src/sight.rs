//! From where and when somebody looks: the clock, and the process table of this host.
//!
//! Invariant: the past is judged with the clock of the past and without a look at processes, because those of today say
//! nothing about it. Deliberately absent: reading either; they come in as values and behind a trait, so that a simulator
//! can be the host.

use callboard_kernel::Moment;
use callboard_kernel::health::{Here, Liveness, ProcessIdentity, Sighting, liveness};

use crate::mutant;

/// The processes of the host that looks.
pub trait ProcessTable {
    /// Which host this is, and which boot of it.
    fn here(&self) -> &Here;

    /// What is to be seen under a pid.
    fn look(&self, pid: u32) -> Sighting;
}

/// A moment to judge at, and the processes to judge by if it is the present.
#[derive(Clone, Copy)]
pub struct Sight<'a> {
    /// The clock.
    pub now: Moment,
    table: Option<&'a dyn ProcessTable>,
}

/// What one look at an entity was taken with: when, and what was to be seen of its process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// The clock.
    pub at: Moment,
    /// Was its process alive?
    pub liveness: Liveness,
}

impl<'a> Sight<'a> {
    /// The present, as seen from this host.
    pub const fn present(now: Moment, table: &'a dyn ProcessTable) -> Self {
        Self { now, table: Some(table) }
    }

    /// A moment of the past.
    pub const fn past(now: Moment) -> Self {
        Self { now, table: None }
    }

    /// Is the recorded process alive?
    pub fn liveness(&self, recorded: Option<&ProcessIdentity>) -> Liveness {
        let (Some(table), Some(process)) = (self.table, recorded) else { return Liveness::Unknown };
        let here = table.here();
        let near = process.host == here.host && process.boot == here.boot;
        let seen = match if near { table.look(process.pid) } else { Sighting::NotLooked } {
            Sighting::Seen { .. } if mutant::removed("supervisor_start_time") => {
                Sighting::Seen { started_ticks: process.started_ticks }
            }
            seen @ (Sighting::Seen { .. } | Sighting::Gone | Sighting::NotLooked) => seen,
        };
        liveness(recorded, here, seen)
    }
}
