//! Processes by identity: who is who, who belongs together, and signals that never reach a stranger.
//!
//! Invariant: a pid alone names nobody, since the kernel gives it out again. A process is (host, boot, pid, start
//! time), and a signal goes through a pidfd whose start time was read again after it was opened.

mod end_all;
mod identity;
mod signal;
mod stat;

pub use end_all::{Ended, end_all, find_marked};
pub use identity::{Identity, Sighting, look, of, this};
pub(crate) use signal::{Mark, send};
pub use signal::{Sent, signal};
pub(crate) use stat::{Stat, all};

/// The environment variable that carries the markers of the runs a process belongs to, outermost first, joined by
/// colons.
pub const MARKER_VARIABLE: &str = "CALLBOARD_RUN";
