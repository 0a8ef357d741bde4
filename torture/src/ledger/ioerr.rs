//! `ioerr`: the k-th call of the disk fails, for every k, every sort of call, once and for ever.
//!
//! Invariant: whatever fails, nobody is told that a record is durable unless a power cut at that moment would leave it
//! there, nobody is told that it is absent unless it stays absent, a spent fault costs nothing more, and a healed disk
//! gives a sound store that takes every command that was not acknowledged. Deliberately absent: failing memory and
//! locks; faults of the key file and the lock files, which are not on this disk.

mod run;
mod script;

use std::path::PathBuf;

use self::run::Run;
use self::script::{Script, old_store};
use crate::harness::dice::Dice;
use crate::harness::driver::{Plan, Tally, Torture};
use crate::ledger::vfs::{Call, Effect, Fault, Image, Lasts, in_parallel};

/// What a full run reaches at least.
const POINTS: u64 = 20_000;

/// A sort of fault.
struct Sort {
    name: &'static str,
    call: Option<Call>,
    effect: Effect,
}

const SORTS: &[Sort] = &[
    Sort { name: "write EIO", call: Some(Call::Write), effect: Effect::Nothing },
    Sort { name: "ENOSPC, in place", call: Some(Call::Grow), effect: Effect::Full },
    Sort { name: "ENOSPC, copy on write", call: Some(Call::Write), effect: Effect::Full },
    Sort { name: "short write", call: Some(Call::Write), effect: Effect::Half },
    Sort { name: "write EIO, yet written", call: Some(Call::Write), effect: Effect::Whole },
    Sort { name: "read EIO", call: Some(Call::Read), effect: Effect::Nothing },
    Sort { name: "sync EIO", call: Some(Call::Sync), effect: Effect::Nothing },
    Sort { name: "sync EIO, pages lost", call: Some(Call::Sync), effect: Effect::Lost },
    Sort { name: "truncate", call: Some(Call::Truncate), effect: Effect::Nothing },
    Sort { name: "delete", call: Some(Call::Delete), effect: Effect::Nothing },
    Sort { name: "open", call: Some(Call::Open), effect: Effect::Nothing },
    Sort { name: "any call", call: None, effect: Effect::Nothing },
];

/// One fault in one script.
struct Point {
    script: usize,
    sort: usize,
    lasts: Lasts,
    at: u64,
}

pub(crate) const TORTURE: Torture = Torture {
    name: "ioerr",
    about: "the k-th call of the disk fails, for every k, once and for ever",
    mutants: &["stop_after_failed_sync", "settle_after_failure", "settle_on_opening"],
    run: torture,
    child: None,
};

fn torture(plan: &Plan) -> Tally {
    match prepare(plan) {
        Ok(points) => points.run(plan),
        Err(problem) => Tally { failures: vec![problem], ..Tally::default() },
    }
}

/// The scripts, and every point at which one of them is to fail.
struct Points {
    places: Vec<tempfile::TempDir>,
    scripts: Vec<Script>,
    points: Vec<Point>,
}

fn prepare(plan: &Plan) -> Result<Points, String> {
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let place = || tempfile::tempdir().map_err(|error| format!("no directory for the key: {error}"));
    let places = (0..workers).map(|_| place()).collect::<Result<Vec<_>, _>>()?;
    let old = old_store(&store(&places[0]))?;
    // With another key more would be read, so that a fault would strike elsewhere or not at all.
    let key = |place: &tempfile::TempDir| store(place).with_extension("db.key");
    for place in &places[1..] {
        std::fs::copy(key(&places[0]), key(place))
            .map_err(|error| format!("the key is not there: {error}"))?;
    }
    let mut prepared = Points { places, scripts: Vec::new(), points: Vec::new() };
    let (mut all, mut number) = (0, 0);
    while all < POINTS {
        let base = if number % 2 == 0 { (Image::new(), 0) } else { old.clone() };
        let script = Script::new(Dice::of(plan.seed, number).next(), base);
        all += prepared.add(plan, script)?;
        number += 1;
    }
    Ok(prepared)
}

fn store(place: &tempfile::TempDir) -> PathBuf {
    place.path().join("store.db")
}

impl Points {
    /// Adds every point of a script, or the sample of them; gives back how many there are.
    fn add(&mut self, plan: &Plan, script: Script) -> Result<u64, String> {
        let calls: Vec<Option<Call>> = SORTS.iter().map(|sort| sort.call).collect();
        let counts = Run::new(&script, &store(&self.places[0]), None).calls_without_fault(&calls)?;
        let script_number = self.scripts.len();
        let mut all = 0;
        for (sort, count) in counts.into_iter().enumerate() {
            // Syncs are few, and what a mutant does wrong it does around them.
            let mutant = if SORTS[sort].call == Some(Call::Sync) { 1 } else { u64::MAX };
            let every = plan.choose(1, 10, mutant);
            for (lasts, at) in [Lasts::Once, Lasts::Forever]
                .into_iter()
                .flat_map(|lasts| (1..=count).map(move |at| (lasts, at)))
            {
                all += 1;
                if plan.seed.wrapping_add(all).is_multiple_of(every) {
                    self.points.push(Point { script: script_number, sort, lasts, at });
                }
            }
        }
        self.scripts.push(script);
        Ok(all)
    }

    fn run(self, plan: &Plan) -> Tally {
        let mut tally = in_parallel(self.points.len() as u64, |worker, unit| {
            let point = &self.points[unit as usize];
            let sort = &SORTS[point.sort];
            let fault = Fault { call: sort.call, effect: sort.effect, lasts: point.lasts, at: point.at };
            let script = &self.scripts[point.script];
            let problems = Run::new(script, &store(&self.places[worker as usize]), Some(fault)).finish();
            let mut tally = Tally::default();
            tally.check(problems.is_empty(), || {
                format!(
                    "seed {}, script {}, {} {:?}, k = {}: {}",
                    plan.seed,
                    point.script,
                    sort.name,
                    point.lasts,
                    point.at,
                    problems.join("; ")
                )
            });
            tally
        });
        for (number, sort) in SORTS.iter().enumerate() {
            let points = self.points.iter().filter(|point| point.sort == number).count();
            if points > 0 {
                tally.notes.push(format!("{:<24} {points:>6} points", sort.name));
            }
        }
        tally.notes.push(format!("{} scripts, {} points", self.scripts.len(), self.points.len()));
        tally
    }
}
