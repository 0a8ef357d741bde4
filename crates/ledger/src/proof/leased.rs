//! Leases of entities beside the log: whoever holds one must have been granted it by a record.
//!
//! Invariant: the table may know a later end of a lease than the log, because renewing is not recorded; it never knows another holder
//! or another epoch. Deliberately absent: the leases of services, which are not in the log.

use callboard_kernel::{EntityId, fact};

use crate::engine::Ask;
use crate::error::ReadError;
use crate::lease::Lease;
use crate::proof::verify::Problem;

/// Whoever writes meanwhile changes both; what is wrong stays wrong.
const LOOKS: u32 = 3;

/// Leases that no record granted.
pub(crate) fn problems(reader: &dyn Ask) -> Result<Vec<Problem>, ReadError> {
    let mut found = strangers(reader)?;
    for _ in 1..LOOKS {
        if found.is_empty() {
            break;
        }
        let again = strangers(reader)?;
        found.retain(|one| again.contains(one));
    }
    let told = |(id, lease): (EntityId, Lease)| Problem {
        seq: None,
        entity: Some(id.to_string()),
        problem: format!("no record granted the lease of {} with epoch {}", lease.holder, lease.epoch),
    };
    Ok(found.into_iter().map(told).collect())
}

fn strangers(reader: &dyn Ask) -> Result<Vec<(EntityId, Lease)>, ReadError> {
    let mut found = Vec::new();
    for seen in reader.leases()? {
        let Ok(id) = seen.lease.name.parse::<EntityId>() else { continue };
        let stored = match reader.entity(id) {
            // A view that cannot be read is told where the views are compared with the log.
            Err(ReadError::Unreadable(_)) => continue,
            stored => stored?,
        };
        let facts = stored.as_ref().map(|stored| &stored.entity.facts);
        let holder = facts.and_then(|facts| facts.read(fact::LEASE_HOLDER));
        let epoch = facts.and_then(|facts| facts.read(fact::LEASE_EPOCH));
        if holder != Some(seen.lease.holder.as_str()) || epoch != i64::try_from(seen.lease.epoch).ok() {
            found.push((id, seen.lease));
        }
    }
    Ok(found)
}
