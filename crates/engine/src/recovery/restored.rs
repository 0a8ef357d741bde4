//! A store that was restored from a backup: what was alive in it may have ended since, in the store that was lost.
//!
//! Invariant: no run is called dead because of an old copy of the log. Deliberately absent: copies that were made by other means
//! than `store restore`; nothing tells them from the store itself.

use callboard_kernel::{Actor, Command, Facts, Moment, Observe, Order, fact};
use callboard_ledger::{GROUP_MAX, Group, GroupError, Ledger, ReadError, Request};
use callboard_lifecycle::ActorClass;

use crate::recovery::live_runs::live_runs;

/// Why the runs of a restored store were not marked.
#[derive(Debug, thiserror::Error)]
pub enum MarkError {
    /// The store could not be asked.
    #[error(transparent)]
    Ask(#[from] ReadError),
    /// The store did not take it.
    #[error(transparent)]
    Append(#[from] GroupError),
}

/// Records of every run that has not ended that the store was restored, and says how many there are.
pub fn mark_as_restored(ledger: &Ledger, now: Moment) -> Result<u64, MarkError> {
    let mut requests = Vec::new();
    for stored in live_runs(ledger) {
        let data = Facts::none().and(fact::RESTORED_AT, now);
        let order = Order::Observe(Observe { reasons: Vec::new(), data });
        let command = Command::new(stored?.entity.state.id, order);
        let actor = Actor::new(ActorClass::System, "restore");
        requests.push(Request { command, actor, now, cause: None });
    }
    let marked = requests.len() as u64;
    let mut requests = requests.into_iter();
    while let Some(first) = requests.next() {
        let rest = requests.by_ref().take(GROUP_MAX - 1);
        ledger.append_group(rest.fold(Group::new(first), Group::and))?;
    }
    Ok(marked)
}
