//! The scene of the task board: the real acts and the real service, workers that fail, stall, die and come back late, a janitor, a recovery
//! and a person.
//!
//! Invariant: everybody but the watcher can be killed at every step, forgets everything and begins again. Deliberately absent: processes,
//! worktrees and git, which the acts do not touch.

mod office;
mod play;
mod rounds;
mod truth;
mod worker;

pub(crate) use play::play;
pub(crate) use truth::Truth;
