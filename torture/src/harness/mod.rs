//! What all tortures share: the driver, seeds, places, the real program and server, a small HTTP client.

pub(crate) mod aftermath;
#[path = "../../../crates/ledger/tests/common/cluster.rs"]
pub(crate) mod cluster;
pub(crate) mod commands;
pub(crate) mod dice;
pub(crate) mod dispositions;
pub(crate) mod driver;
pub(crate) mod http;
pub(crate) mod mutants;
pub(crate) mod process;
pub(crate) mod program;
pub(crate) mod scene;
pub(crate) mod service;
pub(crate) mod stage;
