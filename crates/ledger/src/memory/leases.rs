//! Leases and the steps of services in memory, by the clock of the medium.

use super::medium::Fate;
use super::store::Shared;
use crate::error::{Fault, ReadError};
use crate::lease::{LeaseAnswer, LeaseOrder, LeaseRow, LeaseSeen};

/// Decides one order, and keeps what follows from it if the medium does.
pub(super) fn settle(shared: &Shared, order: &LeaseOrder) -> Result<LeaseAnswer, ReadError> {
    let fate = shared.medium.committing();
    let is_kept = match fate {
        Fate::Kept | Fate::UnknownKept => true,
        Fate::Busy | Fate::Full | Fate::NotWritten | Fate::UnknownLost => false,
    };
    let now = shared.medium.now();
    let answer = {
        let mut log = shared.log();
        let settled = order.settle(log.leases.get(order.name()).cloned(), now);
        if is_kept && let Some(row) = settled.row {
            log.leases.insert(order.name().to_owned(), row);
        }
        if is_kept && let (LeaseOrder::Step { step, .. }, LeaseAnswer::Granted(_)) = (order, &settled.answer)
        {
            log.steps.insert(step.service.clone(), step.clone());
        }
        settled.answer
    };
    shared.medium.committed();
    let fault = match fate {
        Fate::Kept => return Ok(answer),
        Fate::Busy => Fault::Busy,
        Fate::Full => Fault::Full,
        Fate::NotWritten => Fault::NotWritten("the sync failed".to_owned()),
        Fate::UnknownKept | Fate::UnknownLost => Fault::Unknown("the answer was lost".to_owned()),
    };
    Err(ReadError::File(std::io::Error::other(fault)))
}

/// Every lease that was not given up.
pub(super) fn all(shared: &Shared) -> Vec<LeaseSeen> {
    let now = shared.medium.now();
    let log = shared.log();
    let held = log.leases.iter().filter(|(_, row)| !row.holder.is_empty());
    let seen = |(name, row): (&String, &LeaseRow)| LeaseSeen {
        lease: row.lease(name),
        left: row.until.since(now),
        renewed_at: row.until.minus(row.length),
    };
    held.map(seen).collect()
}
