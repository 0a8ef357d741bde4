//! A store that was restored from a backup: what was alive in it may have ended since, in the store that was lost.
//!
//! Invariant: no run is called dead because of an old copy of the log. Deliberately absent: copies that were made by other means
//! than `store restore`; nothing tells them from the store itself.

use callboard_kernel::{Actor, Command, Facts, Moment, Observe, Order};
use callboard_ledger::{AppendError, Ledger, ReadError, Request, Slice};
use callboard_lifecycle::{ActorClass, Kind};

/// The fact that a run was alive in a backup.
pub(crate) const RESTORED_AT: &str = "restored_at";

/// How many runs are read at once.
const AT_ONCE: usize = 100;

/// Why the runs of a restored store were not marked.
#[derive(Debug, thiserror::Error)]
pub enum MarkError {
    /// The store could not be asked.
    #[error(transparent)]
    Ask(#[from] ReadError),
    /// The store did not take it.
    #[error(transparent)]
    Append(#[from] AppendError),
}

/// Records of every run that has not ended that the store was restored, and says how many there are.
pub fn mark_as_restored(ledger: &Ledger, now: Moment) -> Result<u64, MarkError> {
    let mut slice = Slice { kind: Some(Kind::Session), live: true, limit: AT_ONCE, ..Slice::default() };
    let mut marked = 0;
    loop {
        let some = ledger.slice(slice.clone())?;
        let Some(last) = some.last() else { return Ok(marked) };
        slice.beyond = Some(last.entity.state.id);
        for stored in &some {
            let data = Facts::none().with(RESTORED_AT, now.to_string());
            let order = Order::Observe(Observe { reasons: Vec::new(), data });
            let command = Command::new(stored.entity.state.id, order);
            let actor = Actor::new(ActorClass::System, "restore");
            ledger.append(Request { command, actor, now, cause: None })?;
            marked += 1;
        }
    }
}
