//! The runs of a store that have not ended, one after another.
//!
//! Invariant: a piece at a time is read, because there may be many. Deliberately absent: looking at them.

use std::collections::VecDeque;

use callboard_ledger::{Ledger, ReadError, Slice, Stored};
use callboard_lifecycle::Kind;

/// How many runs are read at once.
const AT_ONCE: usize = 100;

/// Every run that is recorded as alive.
pub(crate) fn live_runs(ledger: &Ledger) -> impl Iterator<Item = Result<Stored, ReadError>> + '_ {
    let mut slice = Slice { kind: Some(Kind::Session), live: true, limit: AT_ONCE, ..Slice::default() };
    let mut read = VecDeque::new();
    std::iter::from_fn(move || {
        if read.is_empty() {
            match ledger.slice(slice.clone()) {
                Ok(some) => read.extend(some),
                Err(error) => return Some(Err(error)),
            }
            slice.beyond = read.back().map(|last: &Stored| last.entity.state.id);
        }
        read.pop_front().map(Ok)
    })
}
