//! `orphans`: many runs in the background lose their supervisors at once; how long until that is seen, and until it is
//! put right.
//!
//! Invariant: the first look after the kill says of every one of them that its process is dead; a reaper that goes round
//! once a second has ended each of them, with all its processes, within five seconds at the 99th percentile. Some of
//! them leave processes that ignore TERM. Deliberately absent: other hosts; what a lapsed lease means is tested with the
//! reaper.

use std::collections::HashMap;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::harness::dice::Dice;
use crate::harness::driver::{Plan, Tally, Torture};
use crate::harness::program::{Board, Holder, TOKEN, groups, holders, until};
use crate::harness::scene::Scene;

pub(crate) const TORTURE: Torture = Torture {
    name: "orphans",
    about: "runs whose supervisors were killed are seen at once and ended in 5 s (CI: 30 of 500)",
    mutants: &["see_the_dead", "end_leftovers"],
    run,
    child: None,
};

/// Runs that lose their supervisors at the same time.
const AT_ONCE: u64 = 25;
/// How often the reaper goes round.
const ROUND: Duration = Duration::from_secs(1);
/// What is promised of 99 of 100.
const PROMISED: Duration = Duration::from_secs(5);
/// How long they are waited for at all.
const PATIENCE: Duration = Duration::from_secs(30);

const SCRIPTS: [&str; 4] = [
    "sleep 300",
    "sleep 300 & (setsid sleep 300 </dev/null >/dev/null 2>&1 &); sleep 300",
    "yes a line that comes again and again",
    "(trap '' TERM; setsid sh -c 'while :; do sleep 0.1; done' </dev/null >/dev/null 2>&1 &); sleep 300",
];

fn run(plan: &Plan) -> Tally {
    let mut tally = Tally::default();
    let runs = plan.choose(500, 30, 6);
    let (mut times, mut looks) = (Vec::new(), Vec::new());
    let mut number = 0;
    while number < runs && tally.failures.is_empty() {
        let many = AT_ONCE.min(runs - number);
        let outcome = Scene::new().and_then(|mut scene| {
            let outcome = one_round(plan, &scene, many, Dice::of(plan.seed, number), &mut looks);
            outcome.with_context(|| scene.keep(plan))
        });
        match outcome {
            Ok(took) => {
                tally.passed += took.len() as u64;
                times.extend(took);
            }
            Err(error) => tally.failures.push(format!("{error:#}")),
        }
        number += many;
    }
    times.sort_unstable();
    looks.sort_unstable();
    let at = |sorted: &[Duration], percent: usize| {
        let place = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
        sorted.get(place).copied().unwrap_or_default()
    };
    let ms = |time: Duration| time.as_millis();
    tally.notes.push(format!(
        "{} orphans: every one seen as dead by the first look ({} ms at the longest); ended with all its processes after \
         {} ms (median), {} ms (p99), {} ms (longest), by a reaper that goes round every {} ms",
        times.len(),
        ms(at(&looks, 100)),
        ms(at(&times, 50)),
        ms(at(&times, 99)),
        ms(at(&times, 100)),
        ms(ROUND),
    ));
    tally.check(at(&times, 99) < PROMISED, || format!("the 99th percentile is {:?}", at(&times, 99)));
    tally
}

/// Starts them, kills their supervisors and waits until they are ended: how long that took for each.
fn one_round(
    plan: &Plan,
    scene: &Scene,
    many: u64,
    mut dice: Dice,
    looks: &mut Vec<Duration>,
) -> Result<Vec<Duration>> {
    let board = Board::new(&scene.store(), plan)?;
    let token = format!("orphans-{}-{:08x}", std::process::id(), dice.roll(1 << 32));
    let mut ids = Vec::new();
    for _ in 0..many {
        let script = *dice.pick(&SCRIPTS);
        let mut command = board.command(&["run", "--detach", "--", "sh", "-c", script]);
        let output = command.env(TOKEN, &token).stderr(Stdio::inherit()).output()?;
        let id = String::from_utf8(output.stdout)?.trim().to_owned();
        if !output.status.success() || id.is_empty() {
            bail!("a run did not start: {}", output.status);
        }
        ids.push(id);
    }
    let outcome = lose(&board, &token, &ids, looks);
    if outcome.is_err() {
        board.sweep(&token)?;
    }
    outcome
}

fn lose(board: &Board, token: &str, ids: &[String], looks: &mut Vec<Duration>) -> Result<Vec<Duration>> {
    let shims = board.supervisors(token);
    if shims.len() != ids.len() {
        bail!("{} runs have {} supervisors", ids.len(), shims.len());
    }
    let killed = Instant::now();
    for shim in &shims {
        shim.kill(token)?;
    }
    // A signal is sent at once; a busy machine takes its time to let the process die of it.
    until(PATIENCE, || shims.iter().all(Holder::is_gone).then_some(()))?
        .context("a killed process that lives")?;
    let died = Instant::now();
    let listed = board.json(&["ps", "session", "--json"])?;
    looks.push(died.elapsed());
    let items = listed["items"].as_array().context("a list without items")?;
    let dead = items.iter().filter(|item| item["state"]["health"] == "process_dead").count();
    if dead != ids.len() {
        bail!("{} supervisors were killed, and the first look sees {dead} of them dead", ids.len());
    }
    let is_over = AtomicBool::new(false);
    let ended = std::thread::scope(|scope| {
        let watching = scope.spawn(|| watch(board, killed, &is_over));
        let reaped = go_round(board, killed, ids.len());
        is_over.store(true, Ordering::SeqCst);
        let ended = watching.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        reaped.and(ended)
    })?;
    if ended.len() < ids.len() {
        bail!("{} of {} were ended within {} s", ended.len(), ids.len(), PATIENCE.as_secs());
    }
    if let Some(holder) = holders(token).first() {
        bail!("all are ended, and {} lives: {}", holder.pid, holder.words);
    }
    if let Some(group) = groups(ids).first() {
        bail!("the control group {} is left", group.display());
    }
    board.ask(&["verify"])?;
    Ok(ended.into_values().collect())
}

/// Lets the reaper go round until it has ended all of them.
fn go_round(board: &Board, killed: Instant, all: usize) -> Result<()> {
    let mut ended = 0;
    while ended < all && killed.elapsed() < PATIENCE {
        let began = Instant::now();
        let reaped = board.json(&["reap", "--json"])?;
        ended += reaped["ended"].as_u64().unwrap_or_default() as usize;
        if ended < all {
            std::thread::sleep(ROUND.saturating_sub(began.elapsed()));
        }
    }
    Ok(())
}

/// Reads the log until it is over, once more after that: when the end of each run was first seen.
fn watch(board: &Board, killed: Instant, is_over: &AtomicBool) -> Result<HashMap<String, Duration>> {
    let mut ended = HashMap::new();
    let mut last = 0;
    loop {
        let is_last = is_over.load(Ordering::SeqCst);
        for line in board.ask(&["events", "--json", "--since", &last.to_string()])?.lines() {
            let record: Value = serde_json::from_str(line)?;
            last = record["seq"].as_u64().context("a record without a number")?;
            if record["to"] == "aborted"
                && let Some(id) = record["entity"]["id"].as_str()
                && ended.insert(id.to_owned(), killed.elapsed()).is_some()
            {
                bail!("a run was ended twice: {line}");
            }
        }
        if is_last {
            return Ok(ended);
        }
    }
}
