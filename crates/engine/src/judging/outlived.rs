//! Runs that have ended in the log while processes of theirs are alive on this host.
//!
//! Invariant: whoever lists what is alive lists these, too. They are found by the markers of the processes of this host, and among
//! the newest runs by the recorded pid and start time. Deliberately absent: judging, which the view does.

use std::collections::BTreeSet;

use callboard_kernel::EntityId;
use callboard_kernel::health::{Liveness, Presence};
use callboard_ledger::{Ledger, ReadError, Slice};
use callboard_lifecycle::{Health, Kind};

use crate::host::process_table::Host;
use crate::judging::observed::Observed;
use crate::judging::viewpoint::Viewpoint;

/// So many of the newest runs are looked at, whether or not a process carries their marker.
const NEWEST: usize = 1_000;

/// The runs that have ended in the log and live.
pub fn outlived(ledger: &Ledger, host: &Host, sight: &Viewpoint<'_>) -> Result<Vec<Observed>, ReadError> {
    let newest = Slice { kind: Some(Kind::Session), limit: NEWEST, ..Slice::default() };
    let mut all = ledger.slice(newest)?;
    let known: BTreeSet<EntityId> = all.iter().map(|stored| stored.entity.state.id).collect();
    for id in host.marked_runs().into_iter().filter(|id| !known.contains(id)) {
        all.extend(ledger.entity(id)?);
    }
    all.retain(|stored| stored.entity.ended_at.is_some());
    let mut seen = Observed::all(ledger, all, sight)?;
    seen.retain(|one| one.view().state.health == Some(Health::Degraded) && is_anybody(one.presence()));
    Ok(seen)
}

fn is_anybody(presence: Presence) -> bool {
    presence.command == Liveness::Alive || presence.members.is_some_and(|many| many > 0)
}
