//! `mutants`: every torture without each of its safeguards, and each of these runs must fail.
//!
//! Invariant: a run that fails in another way than by its own verdict (it panics, it is killed, it does not know the
//! mutant) does not count, and a run of the same size with every safeguard must pass. A torture without a mutant
//! proves nothing and is a failure itself.

use std::process::{Command, ExitCode};
use std::time::Instant;

use crate::harness::driver::Torture;

/// Runs the mutants of all tortures, or of the one that is named.
pub(crate) fn run(tortures: &[Torture], only: Option<&str>) -> ExitCode {
    let is_chosen = |torture: &&Torture| only.is_none_or(|name| name == torture.name);
    let chosen: Vec<&Torture> = tortures.iter().filter(is_chosen).collect();
    let (mut passed, mut failed) = (0, usize::from(chosen.is_empty()));
    for torture in chosen {
        if torture.mutants.is_empty() {
            println!("{:<12} FAILED: it has no mutant", torture.name);
            failed += 1;
        }
        for mutant in std::iter::once(None).chain(torture.mutants.iter().copied().map(Some)) {
            let started = Instant::now();
            let verdict = verdict(torture.name, mutant);
            let seconds = started.elapsed().as_secs_f64();
            let how =
                mutant.map_or_else(|| "with every safeguard".to_owned(), |name| format!("without {name}"));
            match verdict {
                Ok(line) => {
                    println!("{:<12} {how}: as it must be ({line}), {seconds:.1}s", torture.name);
                    passed += 1;
                }
                Err(problem) => {
                    println!("{:<12} {how}: FAILED: {problem}, {seconds:.1}s", torture.name);
                    failed += 1;
                }
            }
        }
    }
    println!("{passed} passed, {failed} failed");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The last line of a run that ended as it must, or what it did instead.
fn verdict(torture: &str, mutant: Option<&str>) -> Result<String, String> {
    let driver =
        std::env::current_exe().map_err(|error| format!("the driver does not find itself: {error}"))?;
    let output = Command::new(driver)
        .args([torture, "--small"])
        .args(mutant.into_iter().flat_map(|mutant| ["--mutant", mutant]))
        .output()
        .map_err(|error| format!("failed to start the driver: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let last = text.lines().last().unwrap_or_default().to_owned();
    match (output.status.code(), mutant) {
        (Some(1), Some(_)) | (Some(0), None) if last.ends_with(" failed") => Ok(last),
        (Some(0), Some(_)) => Err(format!("nothing was noticed ({last})")),
        (_, _) => {
            Err(format!("it ended with {}: {text}{}", output.status, String::from_utf8_lossy(&output.stderr)))
        }
    }
}
