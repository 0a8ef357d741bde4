//! Faults that are planted in the engine and the ledger; the simulation must find each of them.
//!
//! Invariant: a fault counts as found only if the simulation says what does not hold and which seed shows it.

use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::Context;

/// Within how many seeds each must be found.
const SEEDS: &str = "1000";

/// The scene, the safeguard that is removed, and the fault that this plants.
const MUTANTS: &[(&str, &str, &str)] = &[
    ("runs", "spare_the_living", "the reaper ends what is alive"),
    ("runs", "end_leftovers", "a run is ended before its last process"),
    ("runs", "supervisor_start_time", "a stranger with the pid of a dead supervisor is taken for it"),
    ("runs", "namespaces", "a death is judged by the process table of another host"),
    ("runs", "look_up_keys", "what was sent twice is recorded twice"),
    ("runs", "stop_after_failed_sync", "a record is acknowledged though its sync failed"),
    ("runs", "ends_are_kept", "an end that the store did not take is lost"),
    ("runs", "claim_at_the_judged_version", "two senders claim one condition"),
    ("runs", "tell_once", "what was told is told again"),
    ("runs", "take_over_abandoned_claims", "the condition of a dead sender is never told"),
    ("runs", "check_the_epoch", "a step of an earlier holder of a lease is taken"),
    ("board", "check_the_epoch", "an act of an earlier claim is taken"),
    ("board", "claim_with_its_turn", "a claim forgets its turn"),
    ("board", "renewals_count", "a lease ends although it was renewed"),
    ("board", "look_at_dependencies", "a task waits for ever for what is there"),
    ("board", "retry_after_failure", "a failed task is not tried again and nobody is asked"),
];

pub(crate) fn run() -> anyhow::Result<ExitCode> {
    let driver = std::env::current_exe().context("the simulation does not find itself")?;
    let mut missed = 0;
    for (scene, mutant, fault) in MUTANTS {
        let began = Instant::now();
        let output =
            Command::new(&driver).args(["--scene", scene, "--seeds", SEEDS, "--mutant", mutant]).output();
        let output = output.context("failed to start the simulation")?;
        let text = String::from_utf8_lossy(&output.stdout);
        let found = text.lines().find(|line| line.starts_with("seed ") && line.contains(" fails: "));
        let seconds = began.elapsed().as_secs_f64();
        match found.filter(|_| output.status.code() == Some(1)) {
            Some(line) => println!("{scene} without {mutant} ({fault}): found, {line}, {seconds:.1}s"),
            None => {
                missed += 1;
                println!("{scene} without {mutant} ({fault}): NOT FOUND within {SEEDS} seeds, {seconds:.1}s");
            }
        }
    }
    println!("{} of {} planted faults found", MUTANTS.len() - missed, MUTANTS.len());
    Ok(if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
