//! What is done for supervisors that died: runs are ended, leftovers removed, restored stores marked.
//!
//! Invariant: nothing that may still be alive is ended or removed. Deliberately absent: when to look, which the callers and
//! the services say.

pub(crate) mod live_runs;
pub(crate) mod read_end;
mod reaper;
pub(crate) mod restored;
mod sweep;

pub use reaper::{ReapAct, ReapError, Reaped, Reaper};
pub use restored::{MarkError, mark_as_restored};
pub use sweep::{RECIPE, Sweep, Swept, YOUNG, discard, sign};
