//! `crashpoints`: a script of every sort of command, ended at every point of the write path, one after the other.
//!
//! Invariant: for each point and each time it is passed, what was acknowledged is there, the store is whole, and the
//! same script sent again ends with exactly the log of a run without a crash: nothing twice, nothing missing. A
//! point that the script never passes is a failure. A full run has a script of 160 steps, CI one of 24.
//! Deliberately absent: kills between the points; `crash` has those.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use callboard_kernel::RefusalCode;
use callboard_ledger::{AppendError, Ledger, Receipt, Request, mutant};
use callboard_lifecycle::session::SessionState;

use crate::aftermath;
use crate::commands::{create, go, keyed, observe, request, session};
use crate::driver::{Plan, Tally, Torture};
use crate::process::{self, Ack, say};
use crate::scene::Scene;

pub(crate) const TORTURE: Torture = Torture {
    name: "crashpoints",
    about: "a crash at every point of the write path, and the script sent again ends with the same log",
    mutants: &["view_in_the_same_transaction", "answer_after_commit"],
    run,
    child: Some(child),
};

/// Records that are there before the script, so that a short one passes a checkpoint too.
const BEFORE: u64 = 250;

fn run(plan: &Plan) -> Tally {
    let mut tally = Tally::default();
    let steps = plan.choose(160, 24, 8);
    if let Err(error) = every_point(plan, steps, &mut tally) {
        tally.failures.push(format!("{error:#}"));
    }
    tally
}

fn every_point(plan: &Plan, steps: u64, tally: &mut Tally) -> Result<()> {
    let pristine = Scene::new()?;
    prepare(&pristine.store())?;
    let undisturbed = Scene::new()?;
    undisturbed.fill_from(&pristine.store())?;
    let head = {
        let ledger = aftermath::open(&undisturbed.store())?;
        script(&ledger, steps, |_| {}).context("the script does not run even without a crash")?;
        ledger.head()?
    };
    for point in mutant::WRITE_POINTS {
        let mut passed = 0;
        loop {
            let mut scene = Scene::new()?;
            scene.fill_from(&pristine.store())?;
            let crash_at = format!("{point}:{}", passed + 1);
            match one_crash(plan, &scene.store(), steps, &crash_at, head) {
                Ok(Ended::Whole) => break,
                Ok(Ended::Crashed) => tally.passed += 1,
                Err(error) => {
                    tally.failures.push(format!("{crash_at}: {error:#}; {}", scene.keep(plan)));
                    if plan.mutant.is_some() || tally.failures.len() > FAILURES_MAX {
                        return Ok(());
                    }
                }
            }
            passed += 1;
        }
        tally.notes.push(format!("{point}: {passed} crashes"));
        tally.check(passed > 0, || format!("the script never passes {point}"));
    }
    Ok(())
}

/// More of them would say nothing new.
const FAILURES_MAX: usize = 20;

/// How the child ended.
enum Ended {
    Crashed,
    Whole,
}

fn one_crash(plan: &Plan, store: &Path, steps: u64, crash_at: &str, head: u64) -> Result<Ended> {
    let mut command = process::child("crashpoints", store, &[steps.to_string()], plan)?;
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
    let ledger = aftermath::open(store)?;
    aftermath::check_acks(&ledger, 0, &said.acks)?;
    aftermath::check_whole(&ledger)?;
    script(&ledger, steps, |_| {}).context("the script sent again")?;
    let again = ledger.head()?;
    if again != head {
        bail!("sent again, the script ends at record {again} instead of {head}");
    }
    aftermath::check_next(&ledger, u128::MAX)?;
    aftermath::check_whole(&ledger)?;
    Ok(Ended::Crashed)
}

/// How a process that aborts is ended.
const SIGABRT: i32 = 6;

/// A store with a few records fewer than a checkpoint needs.
fn prepare(store: &Path) -> Result<()> {
    let ledger = aftermath::open(store)?;
    let tickets: Vec<_> = (0..BEFORE)
        .map(|number| ledger.submit(request(session(u128::from(number) << 32), 0, create("before"))))
        .collect();
    for ticket in tickets {
        ticket.wait()?;
    }
    Ok(())
}

fn child(arguments: &[String]) -> ExitCode {
    let [store, steps] = arguments else { return ExitCode::from(2) };
    let (store, Ok(steps)) = (PathBuf::from(store), steps.parse::<u64>()) else { return ExitCode::from(2) };
    let ran =
        aftermath::open(&store).and_then(|ledger| script(&ledger, steps, |receipt| Ack::tell(receipt, "")));
    match ran {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("! {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Steps of every sort in turn. All are keyed or refused, so that sending the script twice is sending it once.
fn script(ledger: &Ledger, steps: u64, each: impl Fn(&Receipt)) -> Result<()> {
    for step in 0..steps {
        let round = u128::from(step / SORTS) + 1;
        let named = |part: u64, order| {
            keyed(request(session(round), step as i64, order), format!("step {step} part {part}"))
        };
        match step % SORTS {
            0 => taken(ledger, named(0, create("a run")), &each)?,
            1 => taken(ledger, named(0, go(SessionState::Running, "run.started.ok")), &each)?,
            2 => taken(ledger, named(0, observe("beats", step as i64)), &each)?,
            3 => {
                let mut conditional = named(0, observe("beats", step as i64));
                conditional.command.if_version = Some(3);
                taken(ledger, conditional, &each)?;
            }
            4 => {
                let tickets: Vec<_> =
                    (0..3).map(|part| ledger.submit(named(part, observe("part", part as i64)))).collect();
                for ticket in tickets {
                    each(&ticket.wait().context("one of a batch")?);
                }
            }
            5 => {
                let stale = request(session(round), step as i64, create("again"));
                match ledger.append(stale) {
                    Err(AppendError::Refused(refusal)) if refusal.code == RefusalCode::Exists => {}
                    other => bail!("a second creation was answered with {other:?}"),
                }
            }
            6 => taken(ledger, named(0, go(SessionState::Completed, "run.completed.ok")), &each)?,
            _ => ledger.rebuild()?,
        }
    }
    Ok(())
}

/// Sorts of steps in the script.
const SORTS: u64 = 8;

fn taken(ledger: &Ledger, request: Request, each: impl Fn(&Receipt)) -> Result<()> {
    let what = format!("{:?} of {}", request.command.key, request.command.entity);
    each(&ledger.append(request).with_context(|| format!("{what} was not taken"))?);
    Ok(())
}
