//! The run of a store that this process is inside of, as the records tell: its supervisor is above this process, or it may be.
//!
//! Invariant: neither a copy of the program nor a PID namespace of its own makes an agent a person. Deliberately absent: what the
//! control group and the environment tell, which the supervisor's crate reads.

use callboard_kernel::EntityId;
use callboard_kernel::health::{Liveness, Vantage, liveness};
use callboard_ledger::{Ledger, ReadError};
use callboard_supervisor::process;

use crate::judging::recorded::keeper;
use crate::judging::viewpoint::ProcessTable;
use crate::recovery::live_runs::live_runs;

/// The PID namespace that the kernel starts with, from which everybody can be seen.
const FIRST_PID_NS: u64 = 0xEFFF_FFFC;

/// The run that this process is inside of, or may be.
#[derive(Debug)]
pub struct EnclosingRun {
    /// The run.
    pub id: EntityId,
    /// Its supervisor was seen above this process; otherwise nobody can tell.
    pub is_seen: bool,
    /// What shows it.
    pub shown_by: String,
}

/// Is the supervisor of a run above this process? Nothing if that cannot be seen from here, or the supervisor is gone.
pub fn is_inside(
    ledger: &Ledger,
    table: &dyn ProcessTable,
    run: EntityId,
) -> Result<Option<bool>, ReadError> {
    let stored = ledger.entity(run)?;
    let Some(keeper) = stored.and_then(|stored| keeper(&stored.entity.facts)) else { return Ok(None) };
    let here = table.here();
    if liveness(Some(&keeper), here, table.look_anew(keeper.pid)) != Liveness::Alive {
        return Ok(None);
    }
    let is_comparable = keeper.place.time_ns == here.time_ns;
    let is_it =
        |(pid, ticks): &(u32, u64)| *pid == keeper.pid && (!is_comparable || *ticks == keeper.started_ticks);
    Ok(Some(process::lineage().iter().any(is_it)))
}

/// The run that this process is inside of or cannot be told not to be.
pub fn run_around(ledger: &Ledger, table: &dyn ProcessTable) -> Result<Option<EnclosingRun>, ReadError> {
    let (here, lineage) = (table.here(), process::lineage());
    let is_first = here.pid_ns == Some(FIRST_PID_NS);
    for stored in live_runs(ledger) {
        let stored = stored?;
        let Some(keeper) = keeper(&stored.entity.facts) else { continue };
        let is_above = |(pid, ticks): &(u32, u64)| {
            // In another time namespace the same process has another start time.
            let is_comparable = keeper.place.time_ns == here.time_ns;
            *pid == keeper.pid && (!is_comparable || *ticks == keeper.started_ticks)
        };
        let (is_seen, shown_by) = match keeper.place.seen_from(here) {
            Vantage::Here | Vantage::OtherTimeNamespace if lineage.iter().any(is_above) => {
                (true, format!("its supervisor (pid {}) above it", keeper.pid))
            }
            // Whoever is inside of it could have made this namespace.
            Vantage::OtherPidNamespace if !is_first => {
                (false, "a PID namespace from which that run cannot be seen".to_owned())
            }
            Vantage::Here
            | Vantage::Restarted
            | Vantage::OtherMachine
            | Vantage::OtherPidNamespace
            | Vantage::OtherTimeNamespace => continue,
        };
        return Ok(Some(EnclosingRun { id: stored.entity.state.id, is_seen, shown_by }));
    }
    Ok(None)
}
