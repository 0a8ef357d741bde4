//! The simulation: the real kernel, ledger and engine on a world that is drawn from a seed.
//!
//! Invariant: the same seed gives the same trace, byte by byte. A seed that fails is printed with what does not hold, reduced to the choices
//! that matter, and with the command that replays it. Deliberately absent: real time, files, processes and threads that run
//! at once; the tortures have those.

mod actors;
mod choices;
mod command;
mod invariants;
mod mutants;
mod nemesis;
mod play;
mod scene;
mod shrink;
mod stage;
mod world;

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context, bail};
use callboard_notify::Settings;

use crate::choices::{Choices, Schedule};
use crate::play::{Played, play, settings};

const HELP: &str = "usage: simulate [--seed N | --seeds COUNT | --schedule PLACE:CHOICE,... | mutants] [--trace] [--mutant NAME]";
/// How many seeds are played if nobody says otherwise.
const SEEDS: u64 = 10_000;
/// How many lines of a trace are shown if not all of it is asked for.
const LINES: usize = 40;

/// What is asked for.
struct Args {
    seeds: std::ops::Range<u64>,
    schedule: Option<Schedule>,
    is_traced: bool,
    mutant: Option<String>,
}

fn main() -> anyhow::Result<ExitCode> {
    let mut words = std::env::args().skip(1).peekable();
    if words.peek().map(String::as_str) == Some("mutants") {
        return mutants::run();
    }
    let Some(args) = read(words)? else {
        println!("{HELP}");
        return Ok(ExitCode::SUCCESS);
    };
    if let Some(mutant) = &args.mutant {
        callboard_ledger::mutant::remove(mutant);
        callboard_engine::mutant::remove(mutant);
    }
    let settings = settings()?;
    if let Some(schedule) = args.schedule.clone() {
        let played = play(Choices::of_schedule(schedule), &settings);
        return Ok(report(&played, &args, None));
    }
    let began = Instant::now();
    let (failed, records) = all(&args, &settings);
    let count = args.seeds.end - args.seeds.start;
    let seconds = began.elapsed().as_secs_f64();
    match failed {
        None => {
            println!("{count} seeds, {records} records, {seconds:.1}s: 0 failed");
            if args.is_traced {
                let played = play(Choices::of_seed(args.seeds.start), &settings);
                return Ok(report(&played, &args, None));
            }
            Ok(ExitCode::SUCCESS)
        }
        Some(seed) => {
            let played = play(Choices::of_seed(seed), &settings);
            Ok(report(&reduced(played, &settings), &args, Some(seed)))
        }
    }
}

fn read(mut words: impl Iterator<Item = String>) -> anyhow::Result<Option<Args>> {
    let mut args = Args { seeds: 1..SEEDS + 1, schedule: None, is_traced: false, mutant: None };
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("{word} needs a value\n{HELP}"));
        match word.as_str() {
            "--seed" => {
                let seed: u64 = value()?.parse().context("invalid seed")?;
                args.seeds = seed..seed + 1;
            }
            "--seeds" => args.seeds = 1..value()?.parse::<u64>().context("invalid number of seeds")? + 1,
            "--schedule" => args.schedule = Some(value()?.parse().map_err(anyhow::Error::msg)?),
            "--mutant" => args.mutant = Some(value()?),
            "--trace" => args.is_traced = true,
            "--help" => return Ok(None),
            _ => bail!("unknown argument {word}\n{HELP}"),
        }
    }
    Ok(Some(args))
}

/// Plays all seeds on all cores; the first that fails, and how many records were written.
fn all(args: &Args, settings: &Arc<Settings>) -> (Option<u64>, u64) {
    let next = AtomicU64::new(args.seeds.start);
    let (failed, records) = (Mutex::new(None::<u64>), AtomicU64::new(0));
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::SeqCst);
                    if seed >= args.seeds.end {
                        return;
                    }
                    let played = play(Choices::of_seed(seed), settings);
                    records.fetch_add(played.records, Ordering::SeqCst);
                    if played.problem.is_some() {
                        let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                        *failed = Some(failed.map_or(seed, |other| other.min(seed)));
                        // Seeds before it are being played; none after it is begun.
                        next.store(u64::MAX / 2, Ordering::SeqCst);
                    }
                }
            });
        }
    });
    let failed = *failed.lock().unwrap_or_else(PoisonError::into_inner);
    (failed, records.into_inner())
}

/// The same failure with fewer choices.
fn reduced(played: Played, settings: &Arc<Settings>) -> Played {
    let sort = |problem: &str| {
        problem.split(' ').filter(|word| !word.contains(char::is_numeric)).collect::<String>()
    };
    let Some(wanted) = played.problem.as_deref().map(sort) else { return played };
    let schedule = shrink::shrink(played.schedule, |tried| {
        let again = play(Choices::of_schedule(tried.clone()), settings);
        (again.problem.as_deref().map(sort) == Some(wanted.clone())).then_some(again.schedule)
    });
    play(Choices::of_schedule(schedule), settings)
}

fn report(played: &Played, args: &Args, seed: Option<u64>) -> ExitCode {
    let skipped = if args.is_traced { 0 } else { played.trace.len().saturating_sub(LINES) };
    if seed.is_some() || args.is_traced || played.problem.is_some() {
        played.trace.iter().skip(skipped).for_each(|line| println!("{line}"));
    }
    let mutant = args.mutant.as_ref().map_or_else(String::new, |name| format!(" --mutant {name}"));
    match (&played.problem, seed) {
        (Some(problem), Some(seed)) => {
            println!("seed {seed} fails: {problem}");
            println!("replay it: cargo xtask simulate --seed {seed}{mutant}");
            println!(
                "reduced to {} choices: cargo xtask simulate{mutant} --schedule {}",
                played.schedule.0.len(),
                played.schedule
            );
        }
        (Some(problem), None) => println!("it fails: {problem}"),
        (None, _) => println!("nothing failed"),
    }
    if played.problem.is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_trace() {
        let settings = settings().unwrap();
        for seed in 1..40 {
            let first = play(Choices::of_seed(seed), &settings);
            let second = play(Choices::of_seed(seed), &settings);
            assert_eq!(first.trace, second.trace, "seed {seed}");
            let third = play(Choices::of_schedule(first.schedule), &settings);
            assert_eq!(third.trace, second.trace, "the schedule of seed {seed}");
        }
    }
}
