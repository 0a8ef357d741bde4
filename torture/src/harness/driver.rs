//! The driver: which torture, how large, from which seed, with which safeguard removed.

use std::process::ExitCode;
use std::time::Instant;

use crate::harness::mutants;

/// One torture: a name, what it does, its mutants, and how to run it.
pub(crate) struct Torture {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// Safeguards whose removal must make it fail.
    pub(crate) mutants: &'static [&'static str],
    pub(crate) run: fn(&Plan) -> Tally,
    /// The part that runs in a process of its own, to be killed; takes the arguments after `child NAME`.
    pub(crate) child: Option<fn(&[String]) -> ExitCode>,
}

/// What one run of a torture should do.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) size: Size,
    pub(crate) seed: u64,
    /// The safeguard that is removed: in child processes, through the environment, if the torture has any.
    pub(crate) mutant: Option<String>,
    /// The one group of situations to play, for a torture that has groups.
    pub(crate) group: Option<String>,
    /// How often everything is played, for a torture that repeats itself.
    pub(crate) rounds: u64,
    /// Other programs to compare with, separated by commas, for a torture that compares.
    pub(crate) beside: Option<String>,
}

/// How many faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    /// As few as show that a removed safeguard is noticed.
    Mutant,
    /// A tenth, for every test run.
    Tenth,
    /// The numbers of the report.
    Full,
}

impl Plan {
    /// The full number, a tenth of it, or a two-hundredth for a mutant.
    pub(crate) fn count(&self, full: u64) -> u64 {
        self.choose(full, full.div_ceil(10), full.div_ceil(200))
    }

    /// One of three numbers, by size.
    pub(crate) const fn choose(&self, full: u64, tenth: u64, mutant: u64) -> u64 {
        match self.size {
            Size::Full => full,
            Size::Tenth => tenth,
            Size::Mutant => mutant,
        }
    }
}

/// What came out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    /// What did not hold, each with what is needed to see it again.
    pub(crate) failures: Vec<String>,
    /// Figures worth reading beside the verdict.
    pub(crate) notes: Vec<String>,
}

impl Tally {
    /// Counts one check.
    pub(crate) fn check(&mut self, holds: bool, otherwise: impl FnOnce() -> String) {
        if holds { self.passed += 1 } else { self.failures.push(otherwise()) }
    }

    /// Counts one trial; `kept` says where a failure can be seen again.
    pub(crate) fn trial(&mut self, outcome: anyhow::Result<()>, kept: impl FnOnce() -> String) {
        match outcome {
            Ok(()) => self.passed += 1,
            Err(error) => self.failures.push(format!("{error:#}; {}", kept())),
        }
    }
}

const USAGE: &str = "\
Usage: cargo xtask torture <name>|all [--full|--small] [--seed N] [--mutant NAME]
       cargo xtask torture truth [--group NAME] [--rounds N] [...]
       cargo xtask torture hostile-agent [--beside bwrap,codex] [...]
       cargo xtask torture mutants [<name>]
       cargo xtask torture list";

/// A seed that every run without `--seed` starts from, so that CI repeats itself.
const SEED: u64 = 20_261_115;

pub(crate) fn main(arguments: &[String], tortures: &[Torture]) -> ExitCode {
    match arguments.first().map(String::as_str) {
        Some("list") => {
            for torture in tortures {
                println!("{:<12} {} (mutants: {})", torture.name, torture.about, torture.mutants.join(", "));
            }
            ExitCode::SUCCESS
        }
        Some("child") => {
            match tortures.iter().find(|torture| Some(torture.name) == arguments.get(1).map(String::as_str)) {
                Some(Torture { child: Some(child), .. }) => child(&arguments[2..]),
                Some(_) | None => usage("no such child"),
            }
        }
        Some("all") => run_all(arguments, tortures),
        Some("mutants") => mutants::run(tortures, arguments.get(1).map(String::as_str)),
        Some(name) => match tortures.iter().find(|torture| torture.name == name) {
            Some(torture) => run_one(arguments, torture),
            None => usage(&format!("no torture is called {name:?}")),
        },
        None => usage("which one?"),
    }
}

fn run_all(arguments: &[String], tortures: &[Torture]) -> ExitCode {
    let Ok(plan) = plan(&arguments[1..]) else { return usage("these arguments are not understood") };
    let (mut passed, mut failed) = (0, 0);
    for torture in tortures {
        let tally = report(torture, &plan);
        passed += tally.passed;
        failed += tally.failures.len();
    }
    println!("\nall tortures, seed {}", plan.seed);
    println!("{passed} passed, {failed} failed");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn run_one(arguments: &[String], torture: &Torture) -> ExitCode {
    let Ok(plan) = plan(&arguments[1..]) else { return usage("these arguments are not understood") };
    if let Some(mutant) = &plan.mutant {
        if !torture.mutants.contains(&mutant.as_str()) {
            return usage(&format!(
                "{} has no mutant {mutant:?}, only {}",
                torture.name,
                torture.mutants.join(", ")
            ));
        }
        // What checks a killed child must be whole itself.
        if torture.child.is_none() {
            callboard_ledger::mutant::remove(mutant);
            callboard_supervisor::mutant::remove(mutant);
        }
    }
    let tally = report(torture, &plan);
    println!("{} passed, {} failed", tally.passed, tally.failures.len());
    if tally.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn report(torture: &Torture, plan: &Plan) -> Tally {
    println!("\n{}: {} (seed {}, {:?})", torture.name, torture.about, plan.seed, plan.size);
    let started = Instant::now();
    let tally = (torture.run)(plan);
    for failure in tally.failures.iter().take(FAILURES_SHOWN) {
        println!("  FAILED {failure}");
    }
    if !tally.failures.is_empty() && plan.mutant.is_none() {
        let full = if plan.size == Size::Full { " --full" } else { "" };
        println!("  again: cargo xtask torture {}{full} --seed {}", torture.name, plan.seed);
    }
    for note in &tally.notes {
        println!("  {note}");
    }
    println!(
        "  {} checks held, {} did not, {:.1}s",
        tally.passed,
        tally.failures.len(),
        started.elapsed().as_secs_f64()
    );
    tally
}

/// More would hide the first.
const FAILURES_SHOWN: usize = 10;

fn plan(arguments: &[String]) -> Result<Plan, ()> {
    let mut plan = Plan { size: Size::Tenth, seed: SEED, mutant: None, group: None, rounds: 1, beside: None };
    let (mut full, mut small) = (false, false);
    let mut words = arguments.iter().map(String::as_str);
    while let Some(word) = words.next() {
        match word {
            "--full" => full = true,
            "--small" => small = true,
            "--seed" => plan.seed = words.next().ok_or(())?.parse().map_err(|_| ())?,
            "--group" => plan.group = Some(words.next().ok_or(())?.to_owned()),
            "--rounds" => plan.rounds = words.next().ok_or(())?.parse().map_err(|_| ())?,
            "--beside" => plan.beside = Some(words.next().ok_or(())?.to_owned()),
            "--mutant" => plan.mutant = Some(words.next().ok_or(())?.to_owned()),
            _ => return Err(()),
        }
    }
    plan.size = if full {
        Size::Full
    } else if small || plan.mutant.is_some() {
        Size::Mutant
    } else {
        Size::Tenth
    };
    Ok(plan)
}

fn usage(problem: &str) -> ExitCode {
    eprintln!("torture: {problem}\n{USAGE}");
    ExitCode::from(2)
}
