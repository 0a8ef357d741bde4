//! Installs what the tests need and a fresh machine does not have.
//!
//! Invariant: nothing is installed that is there already, on PATH or where the distribution puts it. Not here: what a
//! build needs; cargo fetches that by itself.

mod agents;
mod needs;
mod page;
mod postgresql;
mod programs;
mod schemathesis;

pub(crate) use agents::report_agents;
pub(crate) use needs::{agents_ahead, browser, nextest, page, torture};
