//! The log in memory: for tests, and for the simulation, which has no disk.
//!
//! Invariant: the same decisions, hashes, groups and keys as on the other engines, by the same code and the same suite. What can go
//! wrong with a disk is decided by its medium, so that a seed can choose it. Deliberately absent: whatever concerns a
//! store that others can reach beside the program: its address, its files, its triggers, archives and the second place.

mod exchange;
mod leases;
mod log;
mod medium;
mod reader;
mod snapshot;
mod store;
mod writer;

pub use medium::{Fate, Medium};
pub use store::{Held, Memory};

pub(crate) use reader::Reader;
pub(crate) use writer::Writer;
