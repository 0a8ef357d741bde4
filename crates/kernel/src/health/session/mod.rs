//! The health of a run, first match wins: what it left behind, whether it lives, whether it moves.
//!
//! Invariant: who cannot see a process says so. A look at the command outranks what its supervisor recorded of it, because
//! the supervisor may stand still itself.

mod ended;
mod facts;
mod gone;
mod held;
mod judge;
mod living;
mod phrases;
#[cfg(test)]
mod tests;

#[cfg(test)]
pub(crate) use facts::samples;
pub use facts::{CompletedWith, SessionFacts, Since, Stopping};
pub(crate) use held::{hold, told};
pub use judge::judge_session;
