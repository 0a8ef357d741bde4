//! `tamper`: somebody edits the store behind the ledger's back, and `verify` must find every edit.
//!
//! Invariant: first every attempt of `rewrites` once, on both engines; then random edits, one a trial, on a fresh copy of
//! a store with records of every kind and several checkpoints, made with the triggers off and the views mended where a
//! careful forger would mend them. An edit of one record is found with that record's place as the first. The limit of the
//! design is not tried: whoever has the key can sign, and is found only by a root that was kept elsewhere. Deliberately
//! absent: damaged files; `ioerr` and `powerloss` have those.

pub(crate) mod forgery;
pub(crate) mod rewrites;

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use callboard_ledger::{Ledger, Page, Record, RecordScope};
use rusqlite::Connection;

use crate::harness::aftermath;
use crate::harness::dice::Dice;
use crate::harness::driver::{Plan, Tally, Torture};
use crate::harness::scene::Scene;
use crate::ledger::model::belief::Sequence;
use crate::ledger::model::wild::Wild;
use crate::ledger::tamper::forgery::{Made, Original};

pub(crate) const TORTURE: Torture = Torture {
    name: "tamper",
    about: "edits, deletions, swaps, truncations and forgeries of the store are all found by verify",
    mutants: &[
        "hash_every_record",
        "check_checkpoints",
        "fold_the_views",
        "seal_every_commit",
        "decide_anew",
        "compare_the_schema",
        "count_what_was_written",
        "keep_what_does_not_match",
        "tell_of_unsealed_records",
        "remember_the_seal",
        "group_all_or_none",
    ],
    run,
    child: None,
};

/// Records in the store that is edited.
const RECORDS: u64 = 1_000;
/// Groups behind the single commands of each sequence.
const GROUPS: u64 = 4;
/// Edits of one store; then another one is made.
const STORE: u64 = 1_000;

fn run(plan: &Plan) -> Tally {
    let mut tally = Tally::default();
    let edits = plan.choose(10_000, 1_000, 100);
    let mut found: BTreeMap<&'static str, u64> = BTreeMap::new();
    if let Err(error) = rewrites::run(plan, &mut tally) {
        tally.failures.push(format!("{error:#}"));
    }
    let mut first = 0;
    while first < edits {
        let last = (first + STORE).min(edits);
        if let Err(error) = one_store(plan, first..last, &mut tally, &mut found) {
            tally.failures.push(format!("{error:#}"));
            break;
        }
        first = last;
    }
    let found: Vec<String> = found.iter().map(|(sort, count)| format!("{sort} {count}")).collect();
    tally.notes.push(format!("found: {}", found.join(", ")));
    tally
}

fn one_store(
    plan: &Plan,
    edits: std::ops::Range<u64>,
    tally: &mut Tally,
    found: &mut BTreeMap<&'static str, u64>,
) -> Result<()> {
    let pristine = Scene::new()?;
    let original = prepare(&pristine, Dice::of(plan.seed, u64::MAX - edits.start).next())?;
    for edit in edits {
        let mut dice = Dice::of(plan.seed, edit);
        let mut scene = Scene::new()?;
        let made = loop {
            scene.fill_from(&pristine.store())?;
            if let Some(made) = forge(&scene, &mut dice, &original)? {
                break made;
            }
        };
        let outcome = look(&scene, &made).with_context(|| format!("edit {edit}, {}", made.what));
        if outcome.is_ok() {
            *found.entry(made.sort).or_default() += 1;
        }
        tally.trial(outcome, || scene.keep(plan));
    }
    Ok(())
}

/// A closed store with records of every kind, and what is in it.
fn prepare(scene: &Scene, seed: u64) -> Result<Original> {
    let wild = Wild::new();
    let ledger = aftermath::open(&scene.store())?;
    let mut number = 0;
    while ledger.head()? < RECORDS {
        number += 1;
        let mut sequence = Sequence::new(number, seed, &wild);
        let tickets: Vec<_> = (0..30).map(|_| ledger.submit(sequence.next(&wild).request)).collect();
        for ticket in tickets {
            // Refusals are part of it; the store has what was taken.
            drop(ticket.wait());
        }
        for _ in 0..GROUPS {
            drop(ledger.append_group(sequence.next_group(&wild).group));
        }
    }
    aftermath::check_whole(&ledger)?;
    let records: Vec<Record> =
        ledger.records(Page { after: 0, limit: usize::MAX, scope: RecordScope::All })?;
    drop(ledger);
    let connection = Connection::open(scene.store())?;
    let mut statement = connection.prepare("SELECT seq FROM checkpoint ORDER BY seq")?;
    let checkpoints: Vec<u64> = statement
        .query_map([], |row| row.get::<_, i64>(0))?
        .map(|seq| seq.map(|seq| seq as u64))
        .collect::<Result<_, _>>()?;
    if checkpoints.len() < 3 {
        bail!("the store to edit has only {} checkpoints", checkpoints.len());
    }
    Ok(Original { records, checkpoints })
}

/// Makes one edit with the triggers off; none if the dice chose one that cannot be made.
fn forge(scene: &Scene, dice: &mut Dice, original: &Original) -> Result<Option<Made>> {
    let connection = Connection::open(scene.store())?;
    connection.pragma_update(None, "synchronous", "OFF")?;
    connection.pragma_update(None, "foreign_keys", "OFF")?;
    connection.pragma_update(None, "ignore_check_constraints", "ON")?;
    let triggers: Vec<(String, String)> = connection
        .prepare("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    for (name, _) in &triggers {
        connection.execute_batch(&format!("DROP TRIGGER {name}"))?;
    }
    let made = match forgery::make(&connection, dice, original) {
        // A unique index is the one rule that does not go away with the triggers.
        Err(error) if is_constraint(&error) => None,
        other => other?,
    };
    for (_, sql) in &triggers {
        connection.execute_batch(sql)?;
    }
    connection.close().map_err(|(_, error)| error)?;
    if let Some(Made { mend: true, .. }) = made {
        aftermath::open(&scene.store())?.rebuild().context("the forger could not mend the views")?;
    }
    Ok(made)
}

fn is_constraint(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(rusqlite::ErrorCode::ConstraintViolation)
}

/// `verify` finds it, and where it is.
fn look(scene: &Scene, made: &Made) -> Result<()> {
    let ledger: Ledger = aftermath::open(&scene.store())?;
    let report = ledger.verify().context("verify could not read the store, and does not say where")?;
    let Some(first) = report.problems.first() else { bail!("it was not found") };
    if made.at.is_some() && first.seq != made.at {
        bail!("it is at {:?}, and verify names {first:?} first", made.at);
    }
    Ok(())
}
