//! Every edge of the machines of tasks, workers and turns, walked by what really happens: people and programs use the board through its
//! surfaces, agents run under `callboard work`, processes die, leases end.
//!
//! Invariant: what is expected is the table that the program prints, and what was walked is the log that it prints. Nothing here sets a state.

mod agents;
mod hands;
pub(crate) mod surfaces;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::stage::Stage;

/// The edges of each kind.
type Edges = BTreeMap<String, BTreeSet<(String, String)>>;

const KINDS: [&str; 3] = ["task", "worker", "task_turn"];

#[test]
fn every_edge_of_tasks_workers_and_turns_is_walked() {
    let mut walked = Edges::new();
    for stage in [hands::play(), agents::play(), agents::play_crash()] {
        for (kind, edges) in recorded(&stage) {
            walked.entry(kind).or_default().extend(edges);
        }
        assert!(stage.ledger().verify().unwrap().ok);
    }
    let (table, none) = (declared(&Stage::new()), BTreeSet::new());
    let seen = |kind: &str| walked.get(kind).unwrap_or(&none);
    let count = |kind: &str| format!("{kind} {}/{}", seen(kind).len(), table[kind].len());
    println!("edges walked: {}", KINDS.map(count).join(", "));
    for kind in KINDS {
        let missing: Vec<_> = table[kind].difference(seen(kind)).collect();
        assert!(missing.is_empty(), "nothing walked these edges of {kind}: {missing:?}");
    }
}

/// The edges of the tables, as the program prints them.
fn declared(stage: &Stage) -> Edges {
    let document: Value = serde_json::from_str(&stage.well(&["machines", "--json"])).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let edges = |machine: &Value| -> BTreeSet<(String, String)> {
        let rows = machine["rows"].as_array().unwrap();
        rows.iter().map(|row| (text(&row["from"]), text(&row["to"]))).collect()
    };
    let machines = document["machines"].as_array().unwrap();
    machines.iter().map(|machine| (text(&machine["kind"]), edges(machine))).collect()
}

/// The edges that the records of a store went along, as the program prints them.
fn recorded(stage: &Stage) -> Edges {
    let mut edges = Edges::new();
    for line in stage.well(&["events", "--json"]).lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        let states = (record["from"].as_str(), record["to"].as_str());
        if let (Some(from), Some(to)) = states
            && from != to
        {
            let kind = record["entity"]["kind"].as_str().unwrap();
            edges.entry(kind.to_owned()).or_default().insert((from.to_owned(), to.to_owned()));
        }
    }
    edges
}
