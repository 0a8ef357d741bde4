//! The end of processes, told at once: a descriptor for each supervisor and command of a live run on this host.
//!
//! Invariant: a run whose process ended is looked at again the moment the kernel says so, after the log was read again,
//! because a supervisor records the end of its run and then goes. What changed although nothing was recorded is told on
//! the feed, and a run without a supervisor goes to the reaper. Where descriptors run out, processes are looked at now
//! and then instead, and the figures say how many. Deliberately absent: judging, which the engine does.

mod bell;
mod reaping;
mod thread;
mod watch;

pub(crate) use reaping::reap_at_once;
pub(crate) use thread::{Deaths, follow};
pub use watch::watchable;
