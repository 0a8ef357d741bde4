//! The real binary: what it writes where, and how it ends.
//!
//! Invariant: nothing of the caller's environment decides a test. Deliberately absent: what a terminal shows; the
//! tables are tested at fixed widths instead.

mod desk;
mod execution;
mod harness;
mod sandbox;
mod stores;
mod supervision;
mod tasks;
mod verbs;
