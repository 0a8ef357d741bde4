//! The fleet: what is alive and what needs somebody, kept in memory as the ledger has it.
//!
//! Invariant: an answer holds everything that was recorded before it was asked for, whoever wrote it. Deliberately
//! absent: how something is judged, which the engine knows.

mod board;
mod cached_process_table;
mod compact_entity;
mod cursor;
mod desk;
mod entry;
mod filter;
mod listing;
mod standings;

pub(crate) use board::{Board, Changed};
pub(crate) use desk::Fleet;
pub(crate) use entry::{Entry, Shown};
pub(crate) use listing::{Listed, Wanted, list};
