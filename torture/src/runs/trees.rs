//! `trees`: random trees of processes that do what they can to outlive their run, on every rung that works here.
//!
//! Invariant: when a run has ended nobody of its tree is alive: not those who forked twice, left the session, emptied
//! their environment, ignored every signal that can be ignored, or went on forking. Survivors are looked for by what is
//! in their command line, which the supervisor does not use. Deliberately absent: a judgement of the times, which are
//! printed.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use callboard_supervisor::{Climb, Observer, Rung, Spec, StopCause, Stopper, Stream, start};

use crate::harness::dice::Dice;
use crate::harness::driver::{Plan, Tally, Torture};

pub(crate) const TORTURE: Torture = Torture {
    name: "trees",
    about: "nobody of a random tree of processes outlives its run",
    mutants: &["group_kill", "whole_tree"],
    run,
    child: None,
};

const DEPTH_MAX: u64 = 4;
/// Nodes of one tree, so that a thousand trees fit into a coffee break.
const NODES_MAX: usize = 24;

fn run(plan: &Plan) -> Tally {
    let mut tally = Tally::default();
    let count = plan.choose(1_000, 100, 6);
    let mut times = [Vec::new(), Vec::new()];
    let mut fallen = None;
    for number in 0..count {
        let climb = if number % 2 == 0 { Climb::Highest } else { Climb::Tree };
        let outcome = one(plan, number, climb, &mut fallen);
        if let Ok(took) = &outcome {
            times[number as usize % 2].push(*took);
        }
        tally.trial(outcome.map(|_| ()), || format!("tree {number}, {climb:?}"));
    }
    for (name, times) in ["control group", "tree"].into_iter().zip(&mut times) {
        times.sort_unstable();
        if let Some(last) = times.last() {
            let p99 = times[(times.len() * 99 / 100).min(times.len() - 1)];
            tally.notes.push(format!(
                "{name}: {} trees, the kill took {p99:.1?} at p99, {last:.1?} at most",
                times.len()
            ));
        }
    }
    tally.notes.extend(fallen.map(|why| format!("no control group here: {why}")));
    tally
}

/// Grows one tree, stops it somewhere on the way, and looks for survivors.
fn one(plan: &Plan, number: u64, climb: Climb, fallen: &mut Option<String>) -> Result<Duration> {
    let mut dice = Dice::of(plan.seed, number);
    let directory = tempfile::Builder::new().prefix("callboard-tree-").tempdir()?;
    let token = format!("7{:09}.{number}", std::process::id());
    let mut wood = Wood { directory: directory.path(), token: &token, nodes: 0 };
    let trunk = wood.grow(&mut dice, DEPTH_MAX)?;
    let marker = format!("tree-{}-{number}-{:x}", std::process::id(), dice.next());
    let mut spec = Spec::new("/bin/sh", marker.clone()).args([trunk]);
    spec.climb = climb;
    spec.timers.grace = Duration::from_millis(dice.roll(40));
    spec.timers.leak = Duration::from_millis(dice.roll(40));
    let running = start(spec).context("the trunk does not start")?;
    if let (Climb::Highest, Rung::Tree { why }) = (climb, &running.containment().rung) {
        *fallen = Some(why.clone());
    }
    let lives = Duration::from_micros(dice.roll(60_000));
    let mut axe = Axe { stopper: running.stopper(), falls_at: Instant::now() + lives, felled: None };
    let end = running.watch(&mut axe);
    let took = axe.felled.unwrap_or_else(Instant::now).elapsed();
    let words = [token.as_str(), &directory.path().to_string_lossy()];
    let survivors = survivors(&words);
    if end.left > 0 || !survivors.is_empty() {
        // Without the safeguard under test a group may be left too.
        put_down(&words);
        callboard_supervisor::process::end_all(&marker, None, Duration::ZERO);
        bail!("{} survived, and the end counts {} left: {end:?}", survivors.len(), end.left);
    }
    Ok(took)
}

/// Stops the run at its moment, and does not wait for the grace period twice.
struct Axe {
    stopper: Stopper,
    falls_at: Instant,
    felled: Option<Instant>,
}

impl Observer for Axe {
    fn output(&mut self, _: Stream, _: &[u8], _: Duration) {}

    fn due(&mut self) -> Option<Duration> {
        self.felled.is_none().then(|| self.falls_at.saturating_duration_since(Instant::now()))
    }

    fn tick(&mut self) {
        self.felled = Some(Instant::now());
        self.stopper.stop(StopCause::Operator);
    }
}

/// Scripts that start each other.
struct Wood<'a> {
    directory: &'a Path,
    token: &'a str,
    nodes: usize,
}

impl Wood<'_> {
    /// Writes a script and everything it starts, and gives back its path.
    fn grow(&mut self, dice: &mut Dice, depth: u64) -> Result<PathBuf> {
        let path = self.directory.join(format!("node-{}.sh", self.nodes));
        self.nodes += 1;
        let mut script = String::new();
        if dice.roll(2) == 0 {
            script.push_str("trap '' TERM INT HUP QUIT\n");
        }
        let children = if depth == 0 { 0 } else { 1 + dice.roll(3) };
        for _ in 0..children {
            if self.nodes >= NODES_MAX {
                break;
            }
            let child = self.grow(dice, depth - 1)?;
            let child = child.display();
            match dice.roll(5) {
                0 => writeln!(script, "sh {child} &")?,
                1 => writeln!(script, "(sh {child} &)")?,
                2 => writeln!(script, "(setsid sh {child} >/dev/null 2>&1 </dev/null &)")?,
                3 => writeln!(script, "setsid sh -c '(setsid sh {child} >&- 2>&- <&- &)' &")?,
                _ => writeln!(script, "(env -i PATH=\"$PATH\" setsid sh {child} >/dev/null 2>&1 &)")?,
            }
        }
        match dice.roll(8) {
            0 => writeln!(script, "while :; do (setsid sleep {} &) ; sleep 0.02; done", self.token)?,
            1 => writeln!(script, "while :; do sleep {} & sleep 0.02; done", self.token)?,
            2 => writeln!(script, "kill -STOP $$; exec sleep {}", self.token)?,
            3 if depth < DEPTH_MAX => writeln!(script, "exit 0")?,
            _ => writeln!(script, "echo here; exec sleep {}", self.token)?,
        }
        std::fs::write(&path, script)?;
        Ok(path)
    }
}

/// Everybody alive with one of these words in the command line.
fn survivors(words: &[&str]) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| *pid != std::process::id())
        .filter(|pid| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).into_owned();
            words.iter().any(|word| line.contains(word))
        })
        .collect()
}

/// Ends the survivors of a tree of ours, also those who are being born.
fn put_down(words: &[&str]) {
    for _ in 0..ROUNDS {
        let survivors = survivors(words);
        for pid in &survivors {
            if let Ok(Some(identity)) = callboard_supervisor::process::of(*pid) {
                drop(callboard_supervisor::process::signal(&identity, KILL));
            }
        }
        if survivors.is_empty() {
            break;
        }
    }
}

const ROUNDS: usize = 200;
const KILL: i32 = 9;
