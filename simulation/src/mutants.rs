//! Faults that are planted in the engine and the ledger; the simulation must find each of them.
//!
//! Invariant: a fault counts as found only if the simulation says what does not hold and which seed shows it.

use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::Context;

/// Within how many seeds each must be found.
const SEEDS: &str = "1000";

/// The safeguards that are removed one at a time, and the fault that this plants.
const MUTANTS: &[(&str, &str)] = &[
    ("spare_the_living", "the reaper ends what is alive"),
    ("end_leftovers", "a run is ended before its last process"),
    ("supervisor_start_time", "a stranger with the pid of a dead supervisor is taken for it"),
    ("namespaces", "a death is judged by the process table of another host"),
    ("look_up_keys", "what was sent twice is recorded twice"),
    ("stop_after_failed_sync", "a record is acknowledged though its sync failed"),
    ("ends_are_kept", "an end that the store did not take is lost"),
    ("claim_at_the_judged_version", "two senders claim one condition"),
    ("tell_once", "what was told is told again"),
    ("take_over_abandoned_claims", "the condition of a dead sender is never told"),
    ("check_the_epoch", "a step of an earlier holder of a lease is taken"),
];

pub(crate) fn run() -> anyhow::Result<ExitCode> {
    let driver = std::env::current_exe().context("the simulation does not find itself")?;
    let mut missed = 0;
    for (mutant, fault) in MUTANTS {
        let began = Instant::now();
        let output = Command::new(&driver).args(["--seeds", SEEDS, "--mutant", mutant]).output();
        let output = output.context("failed to start the simulation")?;
        let text = String::from_utf8_lossy(&output.stdout);
        let found = text.lines().find(|line| line.starts_with("seed ") && line.contains(" fails: "));
        let seconds = began.elapsed().as_secs_f64();
        match found.filter(|_| output.status.code() == Some(1)) {
            Some(line) => println!("without {mutant} ({fault}): found, {line}, {seconds:.1}s"),
            None => {
                missed += 1;
                println!("without {mutant} ({fault}): NOT FOUND within {SEEDS} seeds, {seconds:.1}s");
            }
        }
    }
    println!("{} of {} planted faults found", MUTANTS.len() - missed, MUTANTS.len());
    Ok(if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
