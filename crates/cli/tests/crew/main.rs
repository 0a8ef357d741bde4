//! The task board with the real program: workers, worktrees, verification, merges, crashes.

#![cfg(test)]

mod approved;
#[path = "../../../ledger/tests/common/cluster.rs"]
mod cluster;
mod diffs;
mod edges;
mod gates;
mod handing;
mod many;
mod requests;
mod set_back;
mod stage;
mod timeouts;
mod twenty;
#[expect(dead_code, reason = "the tests of the server need more of it")]
#[path = "../serve/wire.rs"]
mod wire;
mod workers;
mod worktrees;
