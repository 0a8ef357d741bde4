//! `cargo xtask torture NAME [--full] [--seed N] [--mutant NAME]`: faults on purpose, and what must hold afterwards.
//!
//! Invariant: a torture prints its seed and ends with `N passed, N failed`; the same seed gives the same faults; each
//! torture has a mutant, a safeguard taken away by a switch that only exists in this build, which must make it fail.
//! Deliberately absent: timing. A torture that needs luck to find a fault tries more often instead.

mod aftermath;
mod archive;
mod authz;
mod belief;
mod board;
#[path = "../../crates/ledger/tests/common/cluster.rs"]
mod cluster;
mod commands;
mod crash;
mod crashpoints;
mod dice;
mod dispositions;
mod driver;
mod flood;
mod forgery;
mod hostile_agent;
mod idem;
mod ioerr;
mod kills;
mod list;
mod migrate;
mod model;
mod mutants;
mod nemesis;
mod origin;
mod orphans;
mod paths;
mod pg_model;
mod pidreuse;
mod powerloss;
mod process;
mod processes;
mod rewrites;
mod scene;
mod secrets;
mod service;
mod silence;
mod sse;
mod stage;
mod tamper;
mod trees;
mod truth;
mod vfs;
mod wild;
mod wire;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Err(error) = dispositions::reset(&arguments) {
        eprintln!("torture: {error:#}");
        return ExitCode::from(2);
    }
    driver::main(&arguments, list::TORTURES)
}
