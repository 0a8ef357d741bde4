//! `migrate`: making a store is killed at each step, and the next program finishes it.
//!
//! Invariant: whatever the kill left, the next open succeeds, the format number is right, the store is whole and takes
//! a record; several first starts at once make one store; a store of a newer format is refused with not a byte
//! changed. Deliberately absent: stores of older formats, which the tests of the ledger open.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use callboard_ledger::{Ledger, OpenError, Options, mutant};
use rusqlite::Connection;

use crate::harness::aftermath;
use crate::harness::commands;
use crate::harness::dice::Dice;
use crate::harness::driver::{Plan, Tally, Torture};
use crate::harness::process::{self, Ack, Said, Victim, say};
use crate::harness::scene::{Scene, with_suffix};

pub(crate) const TORTURE: Torture = Torture {
    name: "migrate",
    about: "a store killed while it is made or brought up to date is finished by the next program",
    mutants: &["number_the_format_last"],
    run,
    child: Some(child),
};

/// The longest a child lives; making a store takes about as long.
const LIFE_MICROS: u64 = 25_000;
/// The newest format.
const FORMAT: i64 = 7;
/// Programs that start on one fresh store at once.
const RACERS: u64 = 4;

fn run(plan: &Plan) -> Tally {
    let mut tally = Tally::default();
    let parts = [at_each_step, at_random, racing, newer];
    for part in parts {
        if let Err(error) = part(plan, &mut tally) {
            tally.failures.push(format!("{error:#}"));
        }
    }
    tally
}

/// Ends the child at every `stride`-th point of the migration.
fn at_each_step(plan: &Plan, tally: &mut Tally) -> Result<()> {
    let stride = plan.choose(1, 10, 50);
    let (mut step, mut crashes) = (1, 0);
    loop {
        let mut scene = Scene::new()?;
        let mut command = process::child("migrate", &scene.store(), &["1".to_owned()], plan)?;
        command.env(mutant::CRASH_AT, format!("{}:{step}", mutant::MIGRATE_POINT));
        let (status, said) = process::run(command)?;
        if status.success() {
            break;
        }
        let outcome = if status.signal() == Some(SIGABRT) {
            finished(&scene.store(), &said)
        } else {
            Err(anyhow::anyhow!("the child ended with {status}: {:?}", said.trouble))
        };
        tally.trial(outcome.map_err(|error| error.context(format!("step {step}"))), || scene.keep(plan));
        crashes += 1;
        step += stride;
    }
    tally.notes.push(format!("{crashes} crashes at steps of the migration, which has about {step}"));
    tally.check(crashes > 3, || "the migration has no steps to crash at".to_owned());
    Ok(())
}

/// How a process that aborts is ended.
const SIGABRT: i32 = 6;

fn at_random(plan: &Plan, tally: &mut Tally) -> Result<()> {
    let mut dice = Dice::of(plan.seed, 0);
    let kills = plan.choose(1_000, 100, 10);
    let mut acknowledged = 0;
    for kill in 0..kills {
        let mut scene = Scene::new()?;
        let victim = Victim::start(process::child("migrate", &scene.store(), &["1".to_owned()], plan)?)?;
        // The instant of the kill is the fault itself, so this wait is not for anything.
        std::thread::sleep(Duration::from_micros(dice.roll(LIFE_MICROS)));
        let said = victim.kill()?;
        acknowledged += said.acks.len();
        let outcome = finished(&scene.store(), &said);
        tally.trial(outcome.map_err(|error| error.context(format!("kill {kill}"))), || scene.keep(plan));
    }
    tally
        .notes
        .push(format!("{kills} kills at random instants, {acknowledged} of them after the first record"));
    Ok(())
}

/// Several first starts at once.
fn racing(plan: &Plan, tally: &mut Tally) -> Result<()> {
    let races = plan.choose(500, 50, 2);
    for race in 0..races {
        let mut scene = Scene::new()?;
        let mut racers = Vec::new();
        for number in 1..=RACERS {
            let command = process::child("migrate", &scene.store(), &[number.to_string()], plan)?;
            racers.push(Victim::start(command)?);
        }
        let mut all = Said::default();
        for mut racer in racers {
            let (_, said) = racer.end()?;
            all.acks.extend(said.acks);
            all.trouble.extend(said.trouble);
        }
        let outcome = if all.acks.len() as u64 == RACERS {
            finished(&scene.store(), &all)
        } else {
            Err(anyhow::anyhow!("only {} of {RACERS} got through: {:?}", all.acks.len(), all.trouble))
        };
        tally.trial(outcome.map_err(|error| error.context(format!("race {race}"))), || scene.keep(plan));
    }
    tally.notes.push(format!("{races} races of {RACERS} first starts"));
    Ok(())
}

/// What must hold of a store that was being made.
fn finished(store: &Path, said: &Said) -> Result<()> {
    if let Some(trouble) = said.trouble.first() {
        bail!("{trouble}");
    }
    let ledger = aftermath::open(store)?;
    aftermath::check_acks(&ledger, 0, &said.acks)?;
    aftermath::check_next(&ledger, u128::MAX)?;
    aftermath::check_whole(&ledger)?;
    let format: i64 = Connection::open(store)?.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if format != FORMAT {
        bail!("the store has format {format}");
    }
    Ok(())
}

/// A store of a newer format: closed, in another journal mode, and left behind by a crash.
fn newer(plan: &Plan, tally: &mut Tally) -> Result<()> {
    for left in ["closed", "rollback journal", "crashed"] {
        let mut scene = Scene::new()?;
        let outcome = refused_untouched(&scene, left).with_context(|| format!("a newer store, {left}"));
        tally.trial(outcome, || scene.keep(plan));
    }
    Ok(())
}

fn refused_untouched(scene: &Scene, left: &str) -> Result<()> {
    let store = scene.path().join("newer.db");
    let made = scene.path().join("made.db");
    drop(aftermath::open(&made)?);
    let connection = Connection::open(&made)?;
    if left == "rollback journal" {
        connection.pragma_update(None, "journal_mode", "DELETE")?;
    }
    connection.pragma_update(None, "user_version", 99)?;
    if left == "crashed" {
        // Copied while it is open, a store looks as a crash leaves it.
        std::fs::copy(with_suffix(&made, "-wal"), with_suffix(&store, "-wal"))?;
    } else {
        connection.close().map_err(|(_, error)| error)?;
    }
    std::fs::copy(&made, &store)?;
    let bytes = || -> Result<(Vec<u8>, Vec<u8>)> {
        let wal = with_suffix(&store, "-wal");
        Ok((std::fs::read(&store)?, if wal.exists() { std::fs::read(wal)? } else { Vec::new() }))
    };
    let before = bytes()?;
    match Ledger::open(&store, Options::default()) {
        Err(OpenError::Newer { found: 99, .. }) => {}
        Err(other) => bail!("it was refused for another reason: {:#}", anyhow::Error::new(other)),
        Ok(_) => bail!("it was opened"),
    }
    if bytes()? != before {
        bail!("it was refused, and changed");
    }
    Ok(())
}

/// Opens a fresh store and records one thing.
fn child(arguments: &[String]) -> ExitCode {
    let [store, number] = arguments else { return ExitCode::from(2) };
    let (store, Ok(number)) = (PathBuf::from(store), number.parse::<u128>()) else {
        return ExitCode::from(2);
    };
    let recorded = aftermath::open(&store).and_then(|ledger| Ok(commands::one_more(&ledger, number)?));
    match recorded {
        Ok(receipt) => {
            Ack::tell(&receipt, "");
            ExitCode::SUCCESS
        }
        Err(error) => {
            say(&format!("! {error:#}"));
            ExitCode::FAILURE
        }
    }
}
