//! HTTP, the live feed, metrics and the dashboard over the engine.
//!
//! Invariant: it shows what the engine judges and sends what the kernel decides; it owns no truth and derives no state.
//! Deliberately absent: supervising, which every run's own supervisor does, and the command line.

mod access;
mod address;
mod app;
mod assets;
mod connection;
mod deaths;
mod feed;
#[cfg(test)]
mod in_process;
mod memory;
mod problem;
mod query;
mod router;
mod routes;
mod runner;
mod server;
mod traces;

pub use access::{IssuedToken, KeyError, Keyring, NewToken, Scope};
pub use address::{address_in, serving_in, start_in};
pub use deaths::watchable;
pub use router::document;
pub use runner::{NotStarted, Runner};
pub use server::{Config, ServeError, Server, Stopper, page};
pub use traces::{TraceSettings, Untraceable};
