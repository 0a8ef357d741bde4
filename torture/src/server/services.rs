//! `services`: the process that runs the services dies in the middle of a step, or cannot renew its lease.
//!
//! Invariant: whoever takes over deals with every record that was not dealt with to the end, and a process that could not
//! renew its lease stops acting before another one can have it. Deliberately absent: what services do; these only count.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use callboard_engine::{Clock, Duty, HostedServices, STORE_LEASE, Service, ServiceHost, Stepped};
use callboard_kernel::Moment;
use callboard_ledger::{Ledger, Options, Page, RecordScope, ServiceStep};

use crate::harness::commands::one_more;
use crate::harness::driver::{Plan, Tally, Torture};
use crate::harness::process::{self, say};

pub(crate) const TORTURE: Torture = Torture {
    name: "services",
    about: "whoever takes over skips nothing, and a process without a lease does nothing",
    mutants: &["position_after_step", "services_lease"],
    run,
    child: Some(child),
};

const NAME: &str = "counter";
const HOLDER: &str = "the child of a torture";
/// How many records there are to deal with.
const RECORDS: u64 = 20;
/// A bound for what takes seconds, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(40);

fn run(plan: &Plan) -> Tally {
    let mut tally = Tally::default();
    let deaths: &[u64] = match plan.choose(3, 2, 1) {
        3 => &[1, 7, 19, 2, 20, 13],
        2 => &[3, 7, 1],
        _ => &[3],
    };
    tally.trial(deaths_in_a_step(plan, deaths), || format!("deaths after {deaths:?} records"));
    tally.trial(lease_not_renewed(plan), || "the store was locked".to_owned());
    tally.notes.push(format!("{} deaths in the middle of a step", deaths.len()));
    tally
}

/// Each child dies after it has dealt with some records; the last one lives.
fn deaths_in_a_step(plan: &Plan, deaths: &[u64]) -> Result<()> {
    let place = tempfile::tempdir()?;
    let store = place.path().join("s.db");
    let ledger = Ledger::open(&store, Options::default())?;
    let lease = ledger.take_lease(STORE_LEASE, HOLDER, Duration::from_secs(60))?;
    let lease = lease.granted().context("nobody else is there")?;
    let step = ServiceStep { service: NAME.to_owned(), position: 0, at: Moment::default(), error: None };
    ledger.record_service_step(&lease, step)?;
    for number in 0..RECORDS {
        one_more(&ledger, u128::from(number))?;
    }
    let head = ledger.head()?;
    drop(ledger);
    let mut seen = BTreeSet::new();
    for lives in deaths.iter().copied().chain([u64::MAX]) {
        let (status, said) =
            process::run(process::child("services", &store, &["step".to_owned(), lives.to_string()], plan)?)?;
        ensure!(said.trouble.is_empty(), "{:?}", said.trouble);
        ensure!(lives < u64::MAX || status.success(), "the last child ended with {status}");
        seen.extend(said.figures.iter().filter_map(|figure| figure.parse::<u64>().ok()));
    }
    let skipped: Vec<u64> = (1..=head).filter(|seq| !seen.contains(seq)).collect();
    ensure!(skipped.is_empty(), "these records were skipped: {skipped:?}");
    Ok(())
}

fn lease_not_renewed(plan: &Plan) -> Result<()> {
    let place = tempfile::tempdir()?;
    let store = place.path().join("s.db");
    one_more(&Ledger::open(&store, Options::default())?, 1)?;
    let (status, said) = process::run(process::child("services", &store, &["hold".to_owned()], plan)?)?;
    ensure!(said.trouble.is_empty() && status.success(), "{status}: {:?}", said.trouble);
    Ok(())
}

struct Still;

impl Clock for Still {
    fn now(&self) -> Moment {
        Moment::default()
    }
}

fn child(arguments: &[String]) -> ExitCode {
    let [store, act, rest @ ..] = arguments else { return ExitCode::from(2) };
    let lives = rest.first().and_then(|lives| lives.parse().ok()).unwrap_or(u64::MAX);
    let done = match act.as_str() {
        "step" => step_until_death(Path::new(store), lives),
        _ => hold(Path::new(store)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("! {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn host(store: &Path, service: Box<dyn Service>) -> Result<HostedServices> {
    let ledger = Ledger::open(store, Options::default())?;
    let (lease, holder) = (STORE_LEASE.to_owned(), HOLDER.to_owned());
    Ok(ServiceHost { ledger, lease, holder, clock: Arc::new(Still), services: vec![service] }.start()?)
}

fn until(is: impl Fn() -> bool) -> bool {
    let deadline = Instant::now() + PATIENCE;
    while !is() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(10));
    }
    is()
}

/// Says every record, and dies after some.
struct Counter {
    lives: u64,
    is_done: Arc<AtomicBool>,
}

impl Service for Counter {
    fn name(&self) -> &str {
        NAME
    }

    fn every(&self) -> Duration {
        Duration::from_millis(50)
    }

    fn follows_log(&self) -> bool {
        true
    }

    fn step(&mut self, duty: &Duty<'_>) -> Stepped {
        let page = Page { after: duty.position, limit: 1000, scope: RecordScope::All };
        let records = match duty.ledger.records(page) {
            Ok(records) => records,
            Err(error) => return duty.failed(error.to_string()),
        };
        let mut position = duty.position;
        for record in &records {
            say(&format!("# {}", record.seq));
            position = record.seq;
            self.lives -= 1;
            if self.lives == 0 {
                std::process::abort();
            }
        }
        self.is_done.store(records.is_empty(), Ordering::Release);
        duty.done(position)
    }
}

fn step_until_death(store: &Path, lives: u64) -> Result<()> {
    let is_done = Arc::new(AtomicBool::new(false));
    let hosted = host(store, Box::new(Counter { lives, is_done: Arc::clone(&is_done) }))?;
    ensure!(until(|| is_done.load(Ordering::Acquire)), "the service did not come to the end of the log");
    hosted.stop();
    Ok(())
}

/// Acts for as long as it may, in one step.
struct Holder {
    acts: Arc<AtomicU64>,
    has_left: Arc<AtomicBool>,
}

impl Service for Holder {
    fn name(&self) -> &str {
        NAME
    }

    fn every(&self) -> Duration {
        Duration::from_secs(3600)
    }

    fn follows_log(&self) -> bool {
        false
    }

    fn step(&mut self, duty: &Duty<'_>) -> Stepped {
        let deadline = Instant::now() + PATIENCE;
        while duty.is_held() && Instant::now() < deadline {
            self.acts.fetch_add(1, Ordering::AcqRel);
            std::thread::sleep(Duration::from_millis(10));
        }
        self.has_left.store(!duty.is_held(), Ordering::Release);
        duty.done(duty.position)
    }
}

/// Nobody can write, so the lease is not renewed, and nobody else could take it either; the step must end all the same.
fn hold(store: &Path) -> Result<()> {
    let (acts, has_left) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let service = Holder { acts: Arc::clone(&acts), has_left: Arc::clone(&has_left) };
    let hosted = host(store, Box::new(service))?;
    ensure!(until(|| acts.load(Ordering::Acquire) > 0), "the service did nothing");
    let lock = rusqlite::Connection::open(store)?;
    lock.busy_timeout(PATIENCE)?;
    lock.execute_batch("BEGIN IMMEDIATE")?;
    let has_stopped = until(|| has_left.load(Ordering::Acquire));
    lock.execute_batch("ROLLBACK")?;
    ensure!(has_stopped, "a process that could not renew its lease went on");
    hosted.stop();
    Ok(())
}
