//! The real binary: what it writes where, and how it ends.
//!
//! Invariant: nothing of the caller's environment decides a test. Deliberately absent: what a terminal shows; the
//! tables are tested at fixed widths instead.

mod after_exit;
mod archive;
mod bad_input;
mod checkup;
mod conditions;
mod derive;
mod driver;
mod exchange;
mod feed;
mod filters;
mod fleet;
mod gaps;
mod hanging;
#[path = "../../../supervisor/tests/supervisor/held_exec.rs"]
mod held_exec;
mod help;
mod ids;
mod inside;
mod leftovers;
mod lists;
mod lives;
mod machines;
mod nesting;
mod notices;
mod outcomes;
mod output;
mod past;
mod proof;
mod reaping;
mod reasons;
mod receiver;
mod rights;
mod runs;
mod sandbox;
mod sandbox_calls;
mod sandbox_doctor;
mod sandbox_network;
mod secrets;
mod server;
mod shared;
mod shelf;
mod silence;
mod starting;
mod streams;
mod terminal;
mod unconfirmed;
mod unwritable;
mod vantage;
mod waits;
