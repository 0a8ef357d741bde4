//! `cargo xtask torture NAME [--full] [--seed N] [--mutant NAME]`: faults on purpose, and what must hold afterwards.
//!
//! Invariant: a torture prints its seed and ends with `N passed, N failed`; the same seed gives the same faults; each
//! torture has a mutant, a safeguard taken away by a switch that only exists in this build, which must make it fail.
//! Deliberately absent: timing. A torture that needs luck to find a fault tries more often instead.

mod harness;
mod ledger;
mod list;
mod runs;
mod server;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Err(error) = harness::dispositions::reset(&arguments) {
        eprintln!("torture: {error:#}");
        return ExitCode::from(2);
    }
    harness::driver::main(&arguments, list::TORTURES)
}
