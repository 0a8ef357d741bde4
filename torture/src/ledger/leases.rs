//! `leases`: callers want the leases of a few entities, act with the epoch they were given, renew, stall and act late.
//!
//! Invariant: an epoch is given once; no two callers hold the lease of one entity at once; what is sent with an epoch that was ended,
//! followed by another one or outlived is refused, also when the next caller is the same; and nobody is turned away whose lease
//! lasts. It is asked of what each caller was told, and of the log. Deliberately absent: crashes and partitions; `crashpoints`
//! and `pg-nemesis` have those, with the same question about the log.

pub(crate) mod callers;
pub(crate) mod history;

use anyhow::{Context, Result};
use callboard_ledger::Ledger;

use crate::harness::cluster::Cluster;
use crate::harness::commands::{create, request, session};
use crate::harness::driver::{Plan, Tally, Torture};
use crate::harness::stage::Stage;
use crate::ledger::leases::callers::{Caller, Told};

pub(crate) const TORTURE: Torture = Torture {
    name: "leases",
    about: "callers claim, renew, stall and act late; no act of an epoch that is over is recorded",
    mutants: &["check_the_epoch"],
    run,
    child: None,
};

/// Entities whose leases are wanted.
const ENTITIES: u64 = 3;
/// Those who want them.
const CALLERS: u64 = 8;
/// Handles that they share, so that each finds what another one wrote.
const HANDLES: u64 = 3;

fn run(plan: &Plan) -> Tally {
    let mut tally = Tally::default();
    let on_file = Stage::file().and_then(|stage| one_store(plan, stage, &mut tally));
    if let Err(error) = on_file {
        tally.failures.push(format!("on SQLite: {error:#}"));
    }
    let cluster = Cluster::start();
    let on_server = Stage::fresh(&cluster, "leases").and_then(|stage| one_store(plan, stage, &mut tally));
    if let Err(error) = on_server {
        tally.failures.push(format!("on PostgreSQL: {error:#}"));
    }
    tally
}

fn one_store(plan: &Plan, mut stage: Stage<'_>, tally: &mut Tally) -> Result<()> {
    let handles: Vec<Ledger> = (0..HANDLES).map(|_| stage.open()).collect::<Result<_>>()?;
    for number in 0..ENTITIES {
        let born = request(session(u128::from(number)), 0, create("wanted"));
        handles[0].append(born).context("an entity cannot be made")?;
    }
    let rounds = plan.choose(600, 60, 20);
    let told: Vec<Told> = std::thread::scope(|scope| {
        let callers: Vec<_> = (0..CALLERS)
            .map(|number| Caller::new(number, plan.seed, &handles[(number % HANDLES) as usize]))
            .map(|caller| scope.spawn(move || caller.call(rounds, ENTITIES)))
            .collect();
        let told = callers.into_iter().map(|caller| caller.join());
        told.map(|told| told.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    });
    let told = Told::of_all(told);
    tally.notes.push(format!("{}: {told}", stage.engine()));
    tally.passed += told.answers();
    let outcome = told.check().and_then(|()| history::check(&handles[0])).and_then(|records| {
        tally.check(records >= told.recorded(), || format!("the log has {records} records, {told}"));
        stage.check_whole(&handles[0])
    });
    tally.trial(outcome, || stage.keep(plan));
    Ok(())
}
