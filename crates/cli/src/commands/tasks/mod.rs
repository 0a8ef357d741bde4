//! Verbs of the task board: tasks are added, claimed, worked on, decided about and looked at.
//!
//! Invariant: nothing is decided here. A verb asks the engine as whoever calls it, and shows what became of the task. Deliberately
//! absent: working on tasks and merging them, which `callboard work` does.

mod add;
pub(crate) mod answer;
pub(crate) mod board;
mod deciding;
mod diff;
mod edit;
mod holding;
mod import;
mod ls;
mod show;
pub(crate) mod task;
mod timeline;
mod worktrees;

pub(super) use deciding::finish_approved;
