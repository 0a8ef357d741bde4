//! Git for the task board, on real repositories.

#![expect(clippy::expect_used, reason = "what a test sets up must be there")]

mod cleaning;
mod crowd;
mod hostile;
mod merging;
mod opening;
mod place;
mod publishing;
mod replaying;
mod snapshots;
mod worktrees;
