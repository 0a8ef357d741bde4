//! The fleet: what is alive and what needs somebody, kept in memory as the ledger has it.
//!
//! Invariant: an answer holds everything that was recorded before it was asked for, whoever wrote it. Deliberately
//! absent: judging, which the engine does when something is shown.

mod board;
mod cursor;
mod filter;
mod glance;
mod listing;

pub(crate) use board::Fleet;
pub(crate) use listing::{Wanted, list};
