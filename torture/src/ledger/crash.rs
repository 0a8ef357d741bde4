//! `crash`: the real writer in a process of its own, killed with SIGKILL at a random instant, again and again.
//!
//! Invariant: after every kill each acknowledged record is there with its hash, the log has no gap, and the next
//! append works; every fiftieth time, and at the end, the whole store is checked, and the next cycles start from a
//! store that is not there yet. Sometimes the next writer, not the check, is the first to open after a kill.
//! Deliberately absent: lost page cache. SIGKILL keeps what was written and not synced; `powerloss` takes that too.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};
use callboard_ledger::{Ledger, Options};

use crate::harness::aftermath;
use crate::harness::commands::{keyed, request, session, whole_run};
use crate::harness::dice::Dice;
use crate::harness::driver::{Plan, Tally, Torture};
use crate::harness::process::{self, Ack, Victim, say};
use crate::harness::scene::Scene;

pub(crate) const TORTURE: Torture = Torture {
    name: "crash",
    about: "kill -9 of the writer at random instants loses nothing it acknowledged",
    mutants: &["answer_after_commit"],
    run,
    child: Some(child),
};

/// Cycles on one store.
const STORE: u64 = 50;
/// Callers in the child.
const CALLERS: u64 = 4;
/// The longest a child lives after its first acknowledgement, or after its start.
const LIFE_MICROS: u64 = 12_000;
/// Appends after which a child that nobody kills ends by itself.
const APPENDS_MAX: u64 = 20_000;

fn run(plan: &Plan) -> Tally {
    let mut tally = Tally::default();
    let cycles = plan.choose(10_000, 1_000, 150);
    let mut figures = Figures::default();
    let mut dice = Dice::of(plan.seed, 0);
    let mut first = 0;
    while first < cycles && tally.failures.is_empty() {
        let last = (first + STORE).min(cycles);
        if let Err(error) = one_store(plan, first..last, &mut dice, &mut tally, &mut figures) {
            tally.failures.push(format!("{error:#}"));
        }
        first = last;
    }
    let Figures { acks, records, silent } = figures;
    tally.notes.push(format!(
        "{cycles} kills, {acks} records acknowledged before them and all there, {records} records in the logs, \
         {silent} kills before the first acknowledgement"
    ));
    tally
}

#[derive(Default)]
struct Figures {
    acks: u64,
    records: u64,
    silent: u64,
}

fn one_store(
    plan: &Plan,
    cycles: std::ops::Range<u64>,
    dice: &mut Dice,
    tally: &mut Tally,
    figures: &mut Figures,
) -> Result<()> {
    let mut scene = Scene::new()?;
    let (mut seen, mut acks, mut unlooked) = (0, Vec::new(), 0);
    for cycle in cycles.clone() {
        let said = kill_one(plan, &scene.store(), cycle, dice)?;
        figures.acks += said.acks.len() as u64;
        figures.silent += u64::from(said.acks.is_empty());
        if let Some(trouble) = said.trouble.first() {
            tally.failures.push(format!("cycle {cycle}: {trouble}; {}", scene.keep(plan)));
            return Ok(());
        }
        acks.extend(said.acks);
        let last = cycle + 1 == cycles.end;
        if !last && dice.roll(3) == 0 {
            unlooked += 1;
            continue;
        }
        let outcome = look(&scene.store(), seen, &acks, cycle, last);
        seen = *outcome.as_ref().unwrap_or(&seen);
        acks.clear();
        let holds = outcome.is_ok();
        tally.trial(outcome.map(|_| ()).map_err(|error| error.context(format!("cycle {cycle}"))), || {
            scene.keep(plan)
        });
        if !holds {
            return Ok(());
        }
        tally.passed += std::mem::take(&mut unlooked);
    }
    figures.records += seen;
    Ok(())
}

fn kill_one(plan: &Plan, store: &Path, cycle: u64, dice: &mut Dice) -> Result<process::Said> {
    let mut victim = Victim::start(process::child("crash", store, &[cycle.to_string()], plan)?)?;
    // Mostly under load; sometimes while it opens the store.
    if dice.roll(5) > 0 {
        victim.wait_for_a_line()?;
    }
    // The instant of the kill is the fault itself, so this wait is not for anything.
    std::thread::sleep(Duration::from_micros(dice.roll(LIFE_MICROS)));
    victim.kill()
}

/// Opens what the kill left, and gives back where the log ends.
fn look(store: &Path, seen: u64, acks: &[Ack], cycle: u64, whole: bool) -> Result<u64> {
    let ledger = aftermath::open(store)?;
    let head = aftermath::check_acks(&ledger, seen, acks)?;
    let next = aftermath::check_next(&ledger, u128::from(cycle) << 64 | u128::MAX >> 64)?;
    if next != head + 1 {
        bail!("the log ended at {head}, and the next record is {next}");
    }
    if whole {
        aftermath::check_whole(&ledger)?;
    }
    Ok(next)
}

/// Appends from several callers and acknowledges until it is killed.
fn child(arguments: &[String]) -> ExitCode {
    let [store, cycle] = arguments else { return ExitCode::from(2) };
    let (store, Ok(cycle)) = (PathBuf::from(store), cycle.parse::<u64>()) else { return ExitCode::from(2) };
    let ledger = match Ledger::open(&store, Options::default()) {
        Ok(ledger) => ledger,
        Err(error) => {
            say(&format!("! the store does not open: {:#}", anyhow::Error::new(error)));
            return ExitCode::FAILURE;
        }
    };
    std::thread::scope(|scope| {
        for caller in 0..CALLERS {
            let ledger = &ledger;
            scope.spawn(move || call(ledger, cycle, caller));
        }
    });
    ExitCode::SUCCESS
}

fn call(ledger: &Ledger, cycle: u64, caller: u64) {
    let orders = whole_run();
    for number in 0..APPENDS_MAX / CALLERS {
        let run = number / orders.len() as u64;
        let id = session(u128::from(cycle) << 64 | u128::from(caller) << 32 | u128::from(run));
        let order = orders[number as usize % orders.len()].clone();
        let request = keyed(request(id, number as i64, order), format!("step {number}"));
        match ledger.append(request) {
            Ok(receipt) => Ack::tell(&receipt, ""),
            Err(error) => {
                say(&format!("! an append failed: {:#}", anyhow::Error::new(error)));
                return;
            }
        }
    }
}
