//! `crashpoints`: scripts of every sort of command, ended at every point of the write path, one after the other.
//!
//! Invariant: for each point and each time it is passed, what was acknowledged is there, the store is whole, and the
//! same script sent again ends with exactly the log of a run without a crash: nothing twice, nothing missing. A
//! point that no script passes is a failure. Deliberately absent: kills between the points; `crash` has those.

mod script;

use std::collections::HashMap;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use callboard_ledger::mutant;

use crate::harness::aftermath;
use crate::harness::cluster::Cluster;
use crate::harness::commands::{create, request, session};
use crate::harness::driver::{Plan, Tally, Torture};
use crate::harness::process::{self, Ack, say};
use crate::harness::stage::Stage;
use script::{Script, Sort};

pub(crate) const TORTURE: Torture = Torture {
    name: "crashpoints",
    about: "a crash at every point of the write path, and the script sent again ends with the same log",
    mutants: &["view_in_the_same_transaction", "answer_after_commit", "group_all_or_none", "check_the_epoch"],
    run,
    child: Some(child),
};

/// Records that are there before the script, so that a short one passes a checkpoint too.
const BEFORE: u64 = 250;
const BATCH_MAX: usize = 512;

/// The scripts for SQLite, and how many steps each has.
fn on_sqlite(plan: &Plan) -> Vec<Script> {
    used(&[
        (Sort::Single, 1, BATCH_MAX, plan.choose(160, 16, 8)),
        (Sort::Single, 2, BATCH_MAX, plan.choose(48, 0, 0)),
        (Sort::Burst, 1, BATCH_MAX, plan.choose(30, 3, 0)),
        (Sort::Burst, 1, 2, plan.choose(15, 0, 0)),
        (Sort::Burst, 2, 4, plan.choose(15, 0, 0)),
        (Sort::Group, 1, BATCH_MAX, plan.choose(20, 3, 2)),
        (Sort::Group, 2, BATCH_MAX, plan.choose(10, 0, 0)),
        (Sort::Lease, 1, BATCH_MAX, plan.choose(20, 2, 1)),
        (Sort::Lease, 2, 2, plan.choose(10, 0, 0)),
    ])
}

/// The same for PostgreSQL, where one handle and two take different ways to a commit. The safeguards that can be
/// removed are of the other engine, so a mutant needs none of these.
fn on_postgres(plan: &Plan) -> Vec<Script> {
    used(&[
        (Sort::Single, 1, BATCH_MAX, plan.choose(48, 8, 0)),
        (Sort::Single, 2, BATCH_MAX, plan.choose(32, 0, 0)),
        (Sort::Burst, 1, BATCH_MAX, plan.choose(15, 0, 0)),
        (Sort::Burst, 2, 2, plan.choose(10, 0, 0)),
        (Sort::Group, 1, BATCH_MAX, plan.choose(15, 3, 0)),
        (Sort::Group, 2, BATCH_MAX, plan.choose(10, 0, 0)),
        (Sort::Lease, 1, BATCH_MAX, plan.choose(15, 1, 0)),
        (Sort::Lease, 2, 2, plan.choose(10, 0, 0)),
    ])
}

/// The scripts that have any steps.
fn used(scripts: &[(Sort, u64, usize, u64)]) -> Vec<Script> {
    let script = |&(sort, handles, batch_max, steps)| Script { sort, steps, handles, batch_max };
    scripts.iter().map(script).filter(|script| script.steps > 0).collect()
}

fn run(plan: &Plan) -> Tally {
    let mut tally = Tally::default();
    let pristine = Stage::file();
    let outcome = pristine
        .and_then(|pristine| engine(plan, &pristine, mutant::WRITE_POINTS, &on_sqlite(plan), &mut tally));
    if let Err(error) = outcome {
        tally.failures.push(format!("on SQLite: {error:#}"));
    }
    let scripts = on_postgres(plan);
    if scripts.is_empty() {
        return tally;
    }
    let cluster = Cluster::start();
    let outcome = Stage::fresh(&cluster, "pristine")
        .and_then(|pristine| engine(plan, &pristine, mutant::SERVER_POINTS, &scripts, &mut tally));
    if let Err(error) = outcome {
        tally.failures.push(format!("on PostgreSQL: {error:#}"));
    }
    tally
}

/// Runs every script on one engine, and ends it everywhere.
fn engine(
    plan: &Plan,
    pristine: &Stage<'_>,
    points: &[&str],
    scripts: &[Script],
    tally: &mut Tally,
) -> Result<()> {
    prepare(pristine)?;
    let mut passed: HashMap<&str, u64> = HashMap::new();
    for (number, script) in scripts.iter().enumerate() {
        let undisturbed = pristine.copy(&format!("undisturbed_{number}"))?;
        script
            .run(&undisturbed.store(), &undisturbed.key(), |_| {})
            .context("the script does not run even without a crash")?;
        let head = undisturbed.open()?.head()?;
        for point in points {
            let crashes = every_pass(plan, pristine, *script, point, head, tally)?;
            *passed.entry(point).or_default() += crashes;
            if !tally.failures.is_empty() && (plan.mutant.is_some() || tally.failures.len() > FAILURES_MAX) {
                return Ok(());
            }
        }
    }
    let told: Vec<String> = points.iter().map(|point| format!("{point} {}", passed[point])).collect();
    tally.notes.push(format!("{}: {}", pristine.engine(), told.join(", ")));
    for point in points {
        tally.check(passed[point] > 0, || format!("no script passes {point} on {}", pristine.engine()));
    }
    Ok(())
}

/// More of them would say nothing new.
const FAILURES_MAX: usize = 20;

/// Ends the script at one point, each time it passes it; gives back how often that was.
fn every_pass(
    plan: &Plan,
    pristine: &Stage<'_>,
    script: Script,
    point: &str,
    head: u64,
    tally: &mut Tally,
) -> Result<u64> {
    let mut passed = 0;
    loop {
        let mut stage = pristine.copy("crashed")?;
        let crash_at = format!("{point}:{}", passed + 1);
        match one_crash(plan, &stage, script, &crash_at, head) {
            Ok(Ended::Whole) => return Ok(passed),
            Ok(Ended::Crashed) => tally.passed += 1,
            Err(error) => {
                let what = format!("{} {crash_at} of {script:?}", stage.engine());
                tally.failures.push(format!("{what}: {error:#}; {}", stage.keep(plan)));
                if plan.mutant.is_some() || tally.failures.len() > FAILURES_MAX {
                    return Ok(passed);
                }
            }
        }
        passed += 1;
    }
}

/// How the child ended.
enum Ended {
    Crashed,
    Whole,
}

fn one_crash(plan: &Plan, stage: &Stage<'_>, script: Script, crash_at: &str, head: u64) -> Result<Ended> {
    let (store, key) = (stage.store(), stage.key());
    let mut arguments = vec![key.display().to_string()];
    arguments.extend(script.arguments());
    let mut command = process::child("crashpoints", Path::new(&store), &arguments, plan)?;
    command.env(mutant::CRASH_AT, crash_at);
    let (status, said) = process::run(command)?;
    if let Some(trouble) = said.trouble.first() {
        bail!("{trouble}");
    }
    if status.success() {
        return Ok(Ended::Whole);
    }
    if status.signal() != Some(SIGABRT) {
        bail!("the child did not end at the point but with {status}");
    }
    let ledger = stage.open()?;
    aftermath::check_acks(&ledger, 0, &said.acks)?;
    stage.check_whole(&ledger)?;
    script.run(&store, &key, |_| {}).context("the script sent again")?;
    let again = ledger.head()?;
    if again != head {
        bail!("sent again, the script ends at record {again} instead of {head}");
    }
    aftermath::check_next(&ledger, u128::MAX)?;
    stage.check_whole(&ledger)?;
    Ok(Ended::Crashed)
}

/// How a process that aborts is ended.
const SIGABRT: i32 = 6;

/// A store with a few records fewer than a checkpoint needs.
fn prepare(stage: &Stage<'_>) -> Result<()> {
    let ledger = stage.open()?;
    let tickets: Vec<_> = (0..BEFORE)
        .map(|number| ledger.submit(request(session(u128::from(number) << 32), 0, create("before"))))
        .collect();
    for ticket in tickets {
        ticket.wait()?;
    }
    Ok(())
}

fn child(arguments: &[String]) -> ExitCode {
    let [store, key, script @ ..] = arguments else { return ExitCode::from(2) };
    let Some(script) = Script::parse(script) else { return ExitCode::from(2) };
    match script.run(store, &PathBuf::from(key), |receipt| Ack::tell(receipt, "")) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("! {error:#}"));
            ExitCode::FAILURE
        }
    }
}
