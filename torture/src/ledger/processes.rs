//! `processes`: many processes write to one store at once, each to its own entities and all to one.
//!
//! Invariant: everything acknowledged is there, versions have no gaps, every compare-and-set on the shared entity that
//! was acknowledged made exactly one version of its own, and verify is clean, also while they write and while the
//! views are rebuilt under them. A full run is 64 processes for 30 s, CI 8 for 3 s. Deliberately absent: kills;
//! `crash` has those. A wait for the lock that reaches its bound is answered with `Busy`, which is counted and no
//! failure.

use std::collections::HashSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use callboard_kernel::RefusalCode;
use callboard_ledger::{AppendError, Fault, Ledger, Options, Page, ReadError, RecordScope};
use rusqlite::ErrorCode;

use crate::harness::aftermath;
use crate::harness::commands::{create, observe, request, session, whole_run};
use crate::harness::driver::{Plan, Tally, Torture};
use crate::harness::process::{self, Ack, Said, Victim, say};
use crate::harness::scene::Scene;

pub(crate) const TORTURE: Torture = Torture {
    name: "processes",
    about: "many processes on one file lose no update (CI: 8 for 3 s, full: 64 for 30 s)",
    mutants: &["look_before_deciding", "fold_what_came_late"],
    run,
    child: Some(child),
};

/// The process that does nothing but rebuild the views.
const REBUILDER: u64 = 0;
const BUSY: Option<ErrorCode> = Some(ErrorCode::DatabaseBusy);
/// The entity they all write to.
const SHARED: u128 = u128::MAX - 1;

fn run(plan: &Plan) -> Tally {
    let mut tally = Tally::default();
    match Scene::new() {
        Ok(mut scene) => {
            let outcome = all_at_once(plan, &scene, &mut tally);
            tally.trial(outcome, || scene.keep(plan));
        }
        Err(error) => tally.failures.push(format!("{error:#}")),
    }
    tally
}

fn all_at_once(plan: &Plan, scene: &Scene, tally: &mut Tally) -> Result<()> {
    let (processes, millis) = (plan.choose(64, 8, 6), plan.choose(30_000, 3_000, 2_000));
    let ledger = aftermath::open(&scene.store())?;
    ledger.append(request(session(SHARED), 0, create("everybody's")))?;
    let mut victims = Vec::new();
    for number in 0..processes {
        let arguments = [number.to_string(), millis.to_string()];
        victims.push(Victim::start(process::child("processes", &scene.store(), &arguments, plan)?)?);
    }
    let (said, verified) = std::thread::scope(|scope| -> Result<(Vec<Said>, u64)> {
        let readers: Vec<_> =
            victims.iter_mut().map(|victim| scope.spawn(|| victim.end().map(|(_, said)| said))).collect();
        let mut verified = 0;
        let mut first_problem = None;
        while readers.iter().any(|reader| !reader.is_finished()) {
            let report = ledger.verify().context("verify while they write")?;
            first_problem = first_problem.or(report.problems.into_iter().next());
            verified += 1;
        }
        let said = readers
            .into_iter()
            .map(|reader| reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect::<Result<Vec<_>>>()?;
        match first_problem {
            Some(problem) => bail!("verify while they write found {problem:?}"),
            None => Ok((said, verified)),
        }
    })?;
    tally.passed += verified;
    note(&said, processes, millis, verified, tally);
    for said in &said {
        if let Some(trouble) = said.trouble.first() {
            bail!("{trouble}");
        }
        aftermath::check_acks(&ledger, 0, &said.acks)?;
        tally.passed += 1;
    }
    check(&ledger, said)
}

fn note(said: &[Said], processes: u64, millis: u64, verified: u64, tally: &mut Tally) {
    let acks: usize = said.iter().map(|said| said.acks.len()).sum();
    let (mut busy, mut conflicts, mut rebuilt) = (0, 0, 0);
    for figures in said.iter().flat_map(|said| &said.figures) {
        let mut numbers = figures.split(' ').filter_map(|number| number.parse::<u64>().ok());
        busy += numbers.next().unwrap_or_default();
        conflicts += numbers.next().unwrap_or_default();
        rebuilt += numbers.next().unwrap_or_default();
    }
    let fewest = said.iter().skip(1).map(|said| said.acks.len()).min().unwrap_or_default();
    tally.notes.push(format!(
        "{processes} processes, {:.1}s: {acks} records acknowledged ({fewest} by the slowest), {conflicts} version \
         conflicts, {busy} waits that reached their bound, {rebuilt} rebuilds and {verified} clean verifies meanwhile",
        millis as f64 / 1000.0
    ));
}

fn check(ledger: &Ledger, said: Vec<Said>) -> Result<()> {
    let acks: Vec<Ack> = said.into_iter().flat_map(|said| said.acks).collect();
    let head = aftermath::check_acks(ledger, 0, &acks)?;
    let distinct: HashSet<u64> = acks.iter().map(|ack| ack.seq).collect();
    if distinct.len() != acks.len() {
        bail!("{} acknowledgements name {} records", acks.len(), distinct.len());
    }
    let increments: HashSet<&str> =
        acks.iter().filter(|ack| !ack.note.is_empty()).map(|ack| ack.note.as_str()).collect();
    let shared = acks.iter().filter(|ack| !ack.note.is_empty()).count();
    if increments.len() != shared {
        bail!("{shared} updates of the shared entity were acknowledged for {} versions", increments.len());
    }
    let Some(stored) = ledger.entity(session(SHARED))? else { bail!("the shared entity is gone") };
    let records =
        ledger.records(Page { after: 0, limit: usize::MAX, scope: RecordScope::Entity(session(SHARED)) })?;
    if let Some(gap) = records.iter().enumerate().find(|(at, record)| record.version != *at as u64 + 1) {
        bail!("the versions of the shared entity have a gap: {gap:?}");
    }
    // The first version made it; what was not acknowledged was not written, as nobody was killed.
    if stored.entity.state.version != shared as u64 + 1 || head != acks.len() as u64 + 1 {
        bail!(
            "{shared} updates were acknowledged and the shared entity has version {}; {} records were acknowledged \
             and the log has {head}",
            stored.entity.state.version,
            acks.len()
        );
    }
    aftermath::check_next(ledger, u128::MAX)?;
    aftermath::check_whole(ledger)
}

fn child(arguments: &[String]) -> ExitCode {
    let [store, number, millis] = arguments else { return ExitCode::from(2) };
    let (Ok(number), Ok(millis)) = (number.parse::<u64>(), millis.parse::<u64>()) else {
        return ExitCode::from(2);
    };
    match work(&PathBuf::from(store), number, Duration::from_millis(millis)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("! process {number}: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Writes in turn to an entity of its own and to the shared one, or rebuilds the views, until the time is over.
fn work(store: &std::path::Path, number: u64, life: Duration) -> Result<()> {
    let started = Instant::now();
    let ledger = Ledger::open(store, Options::default()).context("the store does not open")?;
    let (mut busy, mut conflicts, mut rebuilt) = (0, 0, 0);
    let orders = whole_run();
    let mut step = 0;
    while started.elapsed() < life {
        if number == REBUILDER {
            match ledger.rebuild() {
                Ok(()) => rebuilt += 1,
                Err(ReadError::Sqlite(error)) if error.sqlite_error_code() == BUSY => busy += 1,
                Err(error) => return Err(error).context("a rebuild of the views"),
            }
            continue;
        }
        let own = session((u128::from(number) << 64) | (step / orders.len() as u128));
        match ledger.append(request(own, 0, orders[step as usize % orders.len()].clone())) {
            Ok(receipt) => {
                Ack::tell(&receipt, "");
                step += 1;
            }
            Err(AppendError::Fault(Fault::Busy)) => busy += 1,
            Err(error) => return Err(error).context("an append to its own entity"),
        }
        let Some(shared) = ledger.entity(session(SHARED))? else { bail!("the shared entity is not there") };
        let version = shared.entity.state.version;
        let mut update = request(session(SHARED), 0, observe("writer", number as i64));
        update.command.if_version = Some(version);
        match ledger.append(update) {
            Ok(receipt) if receipt.record.version == version + 1 => {
                Ack::tell(&receipt, &receipt.record.version.to_string());
            }
            Ok(receipt) => bail!("version {version} was asked for and {:?} written", receipt.record),
            Err(AppendError::Refused(refusal)) if refusal.code == RefusalCode::VersionConflict => {
                conflicts += 1;
            }
            Err(AppendError::Fault(Fault::Busy)) => busy += 1,
            Err(error) => return Err(error).context("an append to the shared entity"),
        }
    }
    say(&format!("# {busy} {conflicts} {rebuilt}"));
    Ok(())
}
