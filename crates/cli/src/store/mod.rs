//! The store of a verb: where it lies, opening it, reading it as of a moment, and sending commands to it.
//!
//! Invariant: a verb that needs no store opens none.

pub(crate) mod at_moment;
pub(crate) mod config;
pub(crate) mod grants;
mod open;
pub(crate) mod sending;

pub(crate) use open::{KEY_VARIABLE, Store};
