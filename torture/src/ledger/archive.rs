//! `archive`: the oldest part of the log moves to a file, ended at each step of it.
//!
//! Invariant: whatever step it was ended at, every record can be read, `verify` is clean, the views are what folding
//! gives, and archiving again finishes what was begun. Deliberately absent: power cuts; the file is synced before the
//! store is touched, and the store's own syncs are tried by others.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use callboard_ledger::{ArchiveError, Ledger, Page, Record, RecordScope, mutant};

use crate::harness::aftermath;
use crate::harness::commands::{create, go, observe, request, session};
use crate::harness::driver::{Plan, Tally, Torture};
use crate::harness::process::{self, say};
use crate::harness::scene::Scene;
use callboard_lifecycle::session::SessionState;

pub(crate) const TORTURE: Torture = Torture {
    name: "archive",
    about: "ended at each step of archiving, the log is whole or the segment is",
    mutants: &["name_the_segment_before_removing"],
    run,
    child: Some(child),
};

/// How far a child archives.
const UNTIL: u64 = 600;

fn run(plan: &Plan) -> Tally {
    let mut tally = Tally::default();
    let records = plan.choose(6_000, 800, 700);
    if let Err(error) = every_step(plan, records, &mut tally) {
        tally.failures.push(format!("{error:#}"));
    }
    tally
}

fn every_step(plan: &Plan, records: u64, tally: &mut Tally) -> Result<()> {
    let pristine = Scene::new()?;
    prepare(&pristine.store(), records)?;
    let expected = read(&aftermath::open(&pristine.store())?)?;
    let mut steps = 0;
    loop {
        let mut scene = Scene::new()?;
        scene.fill_from(&pristine.store())?;
        let crash_at = format!("{}:{}", mutant::ARCHIVE_POINT, steps + 1);
        let mut command = process::child("archive", &scene.store(), &[], plan)?;
        command.env(mutant::CRASH_AT, &crash_at);
        let (status, said) = process::run(command)?;
        if let Some(trouble) = said.trouble.first() {
            bail!("{crash_at}: {trouble}");
        }
        if status.success() {
            break;
        }
        let outcome = if status.signal() == Some(SIGABRT) {
            check(&scene.store(), &expected)
        } else {
            Err(anyhow::anyhow!("the child ended with {status}"))
        };
        tally.trial(outcome.map_err(|error| error.context(crash_at)), || scene.keep(plan));
        steps += 1;
    }
    tally.notes.push(format!("{records} records, ended at each of {steps} steps"));
    tally
        .check(steps >= 6 || plan.mutant.is_some(), || format!("archiving has only {steps} steps to end at"));
    Ok(())
}

/// How a process that aborts is ended.
const SIGABRT: i32 = 6;

fn check(store: &Path, expected: &[Record]) -> Result<()> {
    let ledger = aftermath::open(store)?;
    if read(&ledger)? != expected {
        bail!("the log does not read as before");
    }
    aftermath::check_whole(&ledger)?;
    match archive(&ledger, store) {
        Ok(()) | Err(ArchiveError::Nothing { .. }) => {}
        Err(error) => return Err(error).context("archiving again"),
    }
    let segments = ledger.info()?.segments;
    if segments.is_empty() {
        bail!("nothing is archived after archiving again");
    }
    if read(&ledger)? != expected {
        bail!("the log does not read as before, after archiving again");
    }
    aftermath::check_next(&ledger, u128::MAX)?;
    aftermath::check_whole(&ledger)
}

fn read(ledger: &Ledger) -> Result<Vec<Record>> {
    Ok(ledger.records(Page { after: 0, limit: usize::MAX, scope: RecordScope::All })?)
}

fn archive(ledger: &Ledger, store: &Path) -> Result<(), ArchiveError> {
    let directory = store.parent().unwrap_or(Path::new("."));
    ledger.archive(UNTIL, directory).map(|_| ())
}

/// Sessions that started, beat and sometimes ended, so that there is something to take out and something to keep.
fn prepare(store: &Path, records: u64) -> Result<()> {
    let ledger = aftermath::open(store)?;
    let mut tickets = Vec::new();
    for number in 0..records / 10 {
        let id = session(u128::from(number) + 1);
        tickets.push(ledger.submit(request(id, 0, create("a run"))));
        tickets.push(ledger.submit(request(id, 1, go(SessionState::Running, "run.started.ok"))));
        tickets.extend((0..7).map(|beat| ledger.submit(request(id, 2, observe("beats", beat)))));
        if number % 2 == 0 {
            tickets.push(ledger.submit(request(id, 3, go(SessionState::Completed, "run.completed.ok"))));
        }
        // A checkpoint is taken at the end of a batch, so that none of them may be long.
        for ticket in tickets.drain(..) {
            ticket.wait()?;
        }
    }
    Ok(())
}

fn child(arguments: &[String]) -> ExitCode {
    let [store] = arguments else { return ExitCode::from(2) };
    let store = PathBuf::from(store);
    let done = aftermath::open(&store).and_then(|ledger| Ok(archive(&ledger, &store)?));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("! {error:#}"));
            ExitCode::FAILURE
        }
    }
}
