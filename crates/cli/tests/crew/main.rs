//! The task board with the real program: workers, worktrees, verification, merges, crashes.

#![cfg(test)]

#[path = "../../../ledger/tests/common/cluster.rs"]
mod cluster;
mod gates;
mod many;
mod stage;
mod twenty;
