//! From the order of a run to its supervisor: here or in the background, its sandbox, its report, its notifications.
//!
//! Deliberately absent: supervising, which the engine and the supervisor do.

pub(crate) mod background;
pub(crate) mod crew_runs;
pub(crate) mod detaching;
pub(crate) mod notifying;
pub(crate) mod performing;
pub(crate) mod recipe;
pub(crate) mod report;
pub(crate) mod sandboxing;
pub(crate) mod shim_input;
pub(crate) mod waiting;
