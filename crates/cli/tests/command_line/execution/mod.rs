//! Runs: how they start, what passes through them, how they end.

pub(crate) mod after_exit;
pub(crate) mod inside;
pub(crate) mod nesting;
pub(crate) mod outcomes;
pub(crate) mod rights;
pub(crate) mod secrets;
pub(crate) mod shared;
pub(crate) mod starting;
pub(crate) mod streams;
pub(crate) mod terminal;
pub(crate) mod waits;
