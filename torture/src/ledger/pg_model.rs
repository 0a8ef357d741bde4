//! `pg-model`: the sequences of `model` on a real PostgreSQL server.
//!
//! Invariant: the same as of `model`, with the same code; the dice make the same sequences for the same seed, so the
//! engines answer the same commands alike. A full run is 20,000 sequences, CI runs 2,000. Deliberately absent: faults;
//! `pg-nemesis` brings those.

use crate::harness::cluster::Cluster;
use crate::harness::driver::{Plan, Tally, Torture};
use crate::harness::stage::Stage;
use crate::ledger::model;
use crate::ledger::model::belief::Answers;
use crate::ledger::model::wild::Wild;

pub(crate) const TORTURE: Torture = Torture {
    name: "pg-model",
    about: "the same random command sequences on PostgreSQL (CI: 2,000 of 20,000)",
    mutants: &["look_up_keys", "look_before_deciding", "group_all_or_none", "check_the_epoch"],
    run,
    child: None,
};

/// Sequences in one store.
const STORE: u64 = 10_000;

fn run(plan: &Plan) -> Tally {
    let mut tally = Tally::default();
    let wild = Wild::new();
    let sequences = plan.count(20_000);
    let mut answers = Answers::default();
    let cluster = Cluster::start();
    let mut first = 0;
    while first < sequences && tally.failures.is_empty() {
        let last = (first + STORE).min(sequences);
        let done = Stage::fresh(&cluster, &format!("model_{first}"))
            .and_then(|stage| model::one_store(plan, &wild, stage, first..last, &mut tally, &mut answers));
        if let Err(error) = done {
            tally.failures.push(format!("{error:#}"));
        }
        first = last;
    }
    model::note(&mut tally, first, "PostgreSQL", answers);
    tally
}
