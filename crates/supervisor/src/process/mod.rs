//! Processes by identity: who is who, who belongs together, and signals that never reach a stranger.
//!
//! Invariant: a pid alone names nobody, since the kernel gives it out again and every PID namespace counts its own. A
//! process is (boot, PID namespace, pid, start time), and a signal goes through a pidfd whose start time was read again
//! after it was opened.

mod around;
mod census;
mod descriptor;
mod end_all;
mod freezer;
mod identity;
mod signal;
mod stat;

pub use around::{Inside, inside, lineage, markers_around};
pub use census::census;
pub use descriptor::descriptor;
pub use end_all::{Ended, end_all, find_marked};
pub(crate) use identity::uid_of;
pub use identity::{
    Glance, Hold, Identity, Sighting, glance, hide_this, is_held_by_freezer, is_own, look, of, this,
};
pub(crate) use signal::{Mark, send};
pub use signal::{Sent, signal};
pub(crate) use stat::{Stat, all};

/// The environment variable that carries the markers of the runs a process belongs to, outermost first, joined by
/// colons.
pub const MARKER_VARIABLE: &str = "CALLBOARD_RUN";
