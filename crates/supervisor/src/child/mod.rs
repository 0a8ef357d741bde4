//! One child from nothing to its wait status: made ready, cloned, executed, reaped.
//!
//! Invariant: everything that may fail is made ready before the clone, and nothing is left behind when the child does not
//! come to be. Deliberately absent: what happens while it runs, which is `watching`.

pub(crate) mod before_exec;
pub(crate) mod children;
pub(crate) mod image;
pub(crate) mod not_executable;
pub(crate) mod pty;
pub(crate) mod start;
pub(crate) mod wait_status;
