//! What callboard needs of its surroundings, checked one by one.
//!
//! Invariant: every check says what it found, and what to do where that is not as it should be; none changes anything, and
//! one that fails does not keep the others from being made. Deliberately absent: mending.

mod check;
mod host;
mod notices;
mod rounds;
mod runs;
mod services;
mod shelf;

pub(crate) use check::{Check, Verdict};
pub(crate) use rounds::examine;
