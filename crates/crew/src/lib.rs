//! The crew: the workers and the merge queue of the task board.
//!
//! Invariant: whatever runs here on behalf of a task works beside the user's checkout, never in it. Deliberately absent:
//! the states of tasks, which the kernel decides.

pub mod git;
