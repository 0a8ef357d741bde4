//! The task board with the real program: workers, worktrees, verification, merges, crashes.

#![cfg(test)]

mod stage;
mod twenty;
