//! `decide`: the one place where a command becomes an event or a refusal.
//!
//! Invariant: pure; the same state, command and context always give the same answer, and a refusal changes nothing,
//! so it does not use up its key. One order, one file.

mod create;
mod entry;
mod gate;
mod observe;
mod transition;

pub use gate::{Decision, decide};
