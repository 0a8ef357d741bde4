//! The simulation: the real kernel, ledger and engine on a world that is drawn from a seed.
//!
//! Invariant: the same seed gives the same trace, byte by byte. A seed that fails is printed with what does not hold, reduced to the choices
//! that matter, and with the command that replays it. Deliberately absent: real time, files, processes and threads that run
//! at once; the tortures have those.

mod actors;
mod board;
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

use std::ops::Range;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context, bail};
use callboard_notify::Settings;

use crate::choices::{Choices, Schedule};
use crate::play::{Played, play, settings};

const HELP: &str = "usage: simulate [--scene runs|board] [--seed N | --seeds COUNT | --schedule PLACE:CHOICE,... | mutants] [--trace] [--mutant NAME]";
/// How many lines of a trace are shown if not all of it is asked for.
const LINES: usize = 40;

/// What is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Setting {
    /// Runs and those who look after them.
    Runs,
    /// The task board.
    Board,
}

impl Setting {
    const ALL: [Self; 2] = [Self::Runs, Self::Board];

    const fn name(self) -> &'static str {
        match self {
            Self::Runs => "runs",
            Self::Board => "board",
        }
    }

    /// How many seeds are played if nobody says otherwise.
    const fn seeds(self) -> u64 {
        match self {
            Self::Runs => 6_000,
            Self::Board => 4_000,
        }
    }

    fn play(self, choices: Choices, settings: &Arc<Settings>) -> Played {
        match self {
            Self::Runs => play(choices, settings),
            Self::Board => board::play(choices),
        }
    }
}

/// What is asked for.
struct Args {
    /// Both if none is named.
    setting: Option<Setting>,
    /// As many as the scene has if none are named.
    seeds: Option<Range<u64>>,
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
        let setting = args.setting.unwrap_or(Setting::Runs);
        let played = setting.play(Choices::of_schedule(schedule), &settings);
        return Ok(report(&played, &args, setting, None));
    }
    for setting in Setting::ALL.into_iter().filter(|one| args.setting.is_none_or(|named| named == *one)) {
        let code = scene(setting, &args, &settings);
        if code != ExitCode::SUCCESS {
            return Ok(code);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Plays the seeds of one scene.
fn scene(setting: Setting, args: &Args, settings: &Arc<Settings>) -> ExitCode {
    let began = Instant::now();
    let seeds = args.seeds.clone().unwrap_or(1..setting.seeds() + 1);
    let (failed, records) = all(setting, seeds.clone(), settings);
    let (name, count, seconds) = (setting.name(), seeds.end - seeds.start, began.elapsed().as_secs_f64());
    match failed {
        None => {
            println!("{name}: {count} seeds, {records} records, {seconds:.1}s: 0 failed");
            if args.is_traced {
                let played = setting.play(Choices::of_seed(seeds.start), settings);
                return report(&played, args, setting, None);
            }
            ExitCode::SUCCESS
        }
        Some(seed) => {
            let played = setting.play(Choices::of_seed(seed), settings);
            report(&reduced(setting, played, settings), args, setting, Some(seed))
        }
    }
}

fn read(mut words: impl Iterator<Item = String>) -> anyhow::Result<Option<Args>> {
    let mut args = Args { setting: None, seeds: None, schedule: None, is_traced: false, mutant: None };
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("{word} needs a value\n{HELP}"));
        match word.as_str() {
            "--scene" => {
                let name = value()?;
                let found = Setting::ALL.into_iter().find(|setting| setting.name() == name);
                args.setting = Some(found.with_context(|| format!("unknown scene {name}\n{HELP}"))?);
            }
            "--seed" => {
                let seed: u64 = value()?.parse().context("invalid seed")?;
                args.seeds = Some(seed..seed + 1);
            }
            "--seeds" => {
                let count: u64 = value()?.parse().context("invalid number of seeds")?;
                args.seeds = Some(1..count + 1);
            }
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
fn all(setting: Setting, seeds: Range<u64>, settings: &Arc<Settings>) -> (Option<u64>, u64) {
    let next = AtomicU64::new(seeds.start);
    let (failed, records) = (Mutex::new(None::<u64>), AtomicU64::new(0));
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::SeqCst);
                    if seed >= seeds.end {
                        return;
                    }
                    let played = setting.play(Choices::of_seed(seed), settings);
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
fn reduced(setting: Setting, played: Played, settings: &Arc<Settings>) -> Played {
    let sort = |problem: &str| {
        problem.split(' ').filter(|word| !word.contains(char::is_numeric)).collect::<String>()
    };
    let Some(wanted) = played.problem.as_deref().map(sort) else { return played };
    let schedule = shrink::shrink(played.schedule, |tried| {
        let again = setting.play(Choices::of_schedule(tried.clone()), settings);
        (again.problem.as_deref().map(sort) == Some(wanted.clone())).then_some(again.schedule)
    });
    setting.play(Choices::of_schedule(schedule), settings)
}

fn report(played: &Played, args: &Args, setting: Setting, seed: Option<u64>) -> ExitCode {
    let scene = setting.name();
    let skipped = if args.is_traced { 0 } else { played.trace.len().saturating_sub(LINES) };
    if seed.is_some() || args.is_traced || played.problem.is_some() {
        played.trace.iter().skip(skipped).for_each(|line| println!("{line}"));
    }
    let mutant = args.mutant.as_ref().map_or_else(String::new, |name| format!(" --mutant {name}"));
    match (&played.problem, seed) {
        (Some(problem), Some(seed)) => {
            println!("seed {seed} fails: {problem}");
            println!("replay it: cargo xtask simulate --scene {scene} --seed {seed}{mutant}");
            println!(
                "reduced to {} choices: cargo xtask simulate --scene {scene}{mutant} --schedule {}",
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
        for (setting, seed) in
            Setting::ALL.into_iter().flat_map(|setting| (1..30).map(move |at| (setting, at)))
        {
            let first = setting.play(Choices::of_seed(seed), &settings);
            let second = setting.play(Choices::of_seed(seed), &settings);
            assert_eq!(first.trace, second.trace, "{setting:?}, seed {seed}");
            let third = setting.play(Choices::of_schedule(first.schedule), &settings);
            assert_eq!(third.trace, second.trace, "{setting:?}, the schedule of seed {seed}");
        }
    }
}
