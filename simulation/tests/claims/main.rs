//! A model of claims, leases, renewal, expiry and late writers, explored to the end: every order in which workers, the service, recovery,
//! the janitor and a person can act on a board, with the real acts of the engine on a real store in memory.

#[cfg(test)]
mod board;
#[cfg(test)]
mod model;

use std::process::Command;
use std::time::Instant;

use stateright::{Checker, Model};

use model::{Claims, Shape, Verb};

const ALL: &[Verb] =
    &[Verb::Heartbeat, Verb::Begin, Verb::Done, Verb::Fail, Verb::Block, Verb::Release, Verb::Split];
const SPLIT: &[Verb] = &[Verb::Heartbeat, Verb::Begin, Verb::Done, Verb::Split];
const FEW: &[Verb] = &[Verb::Heartbeat, Verb::Begin, Verb::Done];

/// Two workers and one task, with everything that they can do.
const PAIR: Shape = Shape { workers: 2, tasks: 1, tasks_max: 1, late_max: 2, retries: 1, verbs: ALL };

fn explore(what: &str, shape: Shape) {
    let began = Instant::now();
    let checker = Claims::new(shape).checker().spawn_bfs().join();
    let seconds = began.elapsed().as_secs_f64();
    let (states, depth) = (checker.unique_state_count(), checker.max_depth());
    println!("{what}: {states} states, depth {depth}, {seconds:.1}s");
    checker.assert_properties();
    assert_eq!(checker.model().graph().lost(), 0, "states from which no run closes every task");
}

/// The safeguards that are removed one at a time, and the fault that this plants.
const MUTANTS: &[(&str, &str)] = &[
    ("check_the_epoch", "an act of an earlier claim is taken"),
    ("renewals_count", "a lease ends although it was renewed"),
    ("claim_with_its_turn", "a claim forgets its turn"),
];

/// Explores for the test below, in a process in which a safeguard is removed.
#[test]
#[ignore = "the test that removes safeguards runs it"]
fn without_a_safeguard() {
    explore("without a safeguard", PAIR);
}

#[test]
fn each_planted_fault_is_found() {
    for (mutant, fault) in MUTANTS {
        let test = ["without_a_safeguard", "--exact", "--ignored", "--nocapture"];
        let mut command = Command::new(std::env::current_exe().unwrap());
        let output = command.args(test).env(callboard_ledger::mutant::VARIABLE, mutant).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        let found = told.lines().find(|line| {
            ["counterexample", "Discovery for", "no run closes"].iter().any(|word| line.contains(word))
        });
        println!("without {mutant} ({fault}): {}", found.unwrap_or("NOT FOUND"));
        assert!(!output.status.success() && found.is_some(), "without {mutant}: {told}");
    }
}

#[test]
fn two_workers_and_one_task() {
    explore("two workers, one task", PAIR);
}

#[test]
fn three_workers_and_one_task() {
    explore("three workers, one task", Shape { workers: 3, late_max: 1, retries: 0, verbs: FEW, ..PAIR });
}

#[test]
fn a_task_that_is_split() {
    let shape = Shape { workers: 1, tasks_max: 2, late_max: 1, retries: 0, verbs: SPLIT, ..PAIR };
    explore("one worker, a task that is split", shape);
}

#[test]
fn two_workers_and_two_tasks() {
    let shape = Shape { tasks: 2, tasks_max: 2, late_max: 0, retries: 0, verbs: FEW, ..PAIR };
    explore("two workers, two tasks", shape);
}
