//! `kills`: the real program supervises random commands, and SIGKILL hits the supervisor at a random moment.
//!
//! Invariant: after a reap every recorded run has ended exactly once and for a true reason: the one its supervisor
//! acknowledged, or a reason of health if it could not. Every record that anybody saw is there, byte for byte; nobody of
//! any run is alive and no control group is left; a process that got the pid of a dead supervisor is neither taken for it
//! nor touched; another reap changes nothing, and verify is clean. Several runs share a store, and reapers, waiters and
//! stoppers race with the kills. Deliberately absent: how fast; `orphans` measures that.

mod batch;
mod cast;
mod judge;

use std::time::Instant;

use anyhow::{Context, Result};

use crate::harness::dice::Dice;
use crate::harness::driver::{Plan, Tally, Torture};
use crate::harness::program::Board;
use crate::harness::scene::Scene;
use crate::runs::kills::batch::Batch;

pub(crate) const TORTURE: Torture = Torture {
    name: "kills",
    about: "kill -9 of the supervisor at random moments: one true end each, nobody left (CI: 30 of 1,000)",
    mutants: &["end_leftovers", "spare_the_living", "supervisor_start_time"],
    run,
    child: None,
};

/// Runs on one store at once.
const AT_ONCE: u64 = 8;
/// More runs than this for each kill would mean that they are not hit.
const RUNS_PER_KILL: u64 = 4;

/// What the runs came to.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    pub(crate) killed: u64,
    /// Not recorded at all, because the supervisor died before.
    pub(crate) unrecorded: u64,
    /// Ended by a reaper: while pending, and while running.
    pub(crate) reaped: [u64; 2],
    /// Killed, and yet its end was acknowledged before.
    pub(crate) in_time: u64,
    pub(crate) seen: u64,
    /// Of them processes were left, which a reaper ended.
    pub(crate) with_leftovers: u64,
}

fn run(plan: &Plan) -> Tally {
    let mut tally = Tally::default();
    let kills = plan.choose(1_000, 30, 16);
    let mut figures = Figures::default();
    let started = Instant::now();
    let mut number = 0;
    // Some runs end before they are hit, and some are spared.
    while figures.killed < kills && number < kills * RUNS_PER_KILL && tally.failures.is_empty() {
        let last = number + AT_ONCE;
        let dice = Dice::of(plan.seed, number);
        if let Err(error) = one_store(plan, number..last, dice, &mut tally, &mut figures) {
            tally.failures.push(format!("{error:#}"));
        }
        number = last;
    }
    tally.check(!tally.failures.is_empty() || figures.killed >= kills, || {
        format!("{number} runs were started, and the supervisors of {} were hit", figures.killed)
    });
    let Figures { killed, unrecorded, reaped: [pending, running], in_time, seen, with_leftovers } = figures;
    tally.notes.push(format!(
        "{number} runs in {:.0} s, {killed} supervisors killed: {unrecorded} before the first record, {pending} before the \
         start was recorded, {running} while it ran or ended, {in_time} after the end was recorded; {seen} records seen \
         before and there afterwards; processes were left of {with_leftovers} runs, and ended by reapers",
        started.elapsed().as_secs_f64()
    ));
    tally
}

fn one_store(
    plan: &Plan,
    runs: std::ops::Range<u64>,
    mut dice: Dice,
    tally: &mut Tally,
    figures: &mut Figures,
) -> Result<()> {
    let mut scene = Scene::new()?;
    let board = Board::new(&scene.store(), plan)?;
    let batch = Batch::cast(&board, scene.path(), runs.clone(), &mut dice)?;
    let outcome = batch.play().and_then(|history| {
        let judged = judge::all(&board, &history, figures);
        if judged.is_err() {
            let text = format!("{history:#?}\n");
            std::fs::write(scene.path().join("history.txt"), text).context("failed to keep the history")?;
        }
        judged
    });
    let count = runs.end - runs.start;
    if outcome.is_err() {
        board.sweep(&format!("kills-{}-", std::process::id()))?;
    }
    match outcome {
        Ok(()) => tally.passed += count,
        Err(error) => {
            let kept = scene.keep(plan);
            tally.failures.push(format!("runs {} to {}: {error:#}; {kept}", runs.start, runs.end - 1));
        }
    }
    Ok(())
}
