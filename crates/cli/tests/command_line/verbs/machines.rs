//! `callboard machines`: what programs and people rely on.

use std::collections::BTreeSet;

use callboard_lifecycle::MACHINES;
use insta::{assert_snapshot, with_settings};
use serde_json::Value;

use crate::harness::driver::callboard;

const CONFORMANCE: &str = include_str!("../../../../lifecycle/tests/conformance/machines.json");

fn list<'a>(value: &'a Value, key: &str) -> &'a Vec<Value> {
    value[key].as_array().unwrap_or_else(|| panic!("{key} is no list in {value}"))
}

fn words<'a>(value: &'a Value, key: &str) -> BTreeSet<&'a str> {
    list(value, key).iter().filter_map(Value::as_str).collect()
}

#[test]
fn every_machine_has_what_other_programs_rely_on() {
    let document = callboard(&["machines", "--json"]).json();
    assert_eq!(list(&document, "machines").len(), MACHINES.len());
    for machine in list(&document, "machines") {
        assert!(machine["kind"].is_string());
        for key in ["initial", "terminal", "health", "delivery", "admin_targets"] {
            assert!(list(machine, key).iter().all(Value::is_string), "{key} of {}", machine["kind"]);
        }
        for edge in list(machine, "edges") {
            assert!(edge["from"].is_string() && edge["to"].is_string(), "{edge}");
            assert!(!words(edge, "triggers").is_empty(), "{edge}");
        }
    }
    for key in ["taxonomies", "tokens", "facts"] {
        assert!(!list(&document, key).is_empty());
    }
    assert_eq!(document["legacy"]["label"], "legacy");
}

#[test]
fn the_document_agrees_with_the_conformance_file() {
    let document = callboard(&["machines", "--json"]).json();
    let file: Value = serde_json::from_str(CONFORMANCE).unwrap();
    for expected in list(&file, "machines") {
        let machine = list(&document, "machines").iter().find(|machine| machine["kind"] == expected["kind"]);
        let machine = machine.unwrap_or_else(|| panic!("no {}", expected["kind"]));
        assert_eq!(words(machine, "initial"), words(expected, "initial"));
        assert_eq!(words(machine, "terminal"), words(expected, "terminal"));
        let edges: BTreeSet<_> =
            list(machine, "edges").iter().map(|edge| (edge["from"].as_str(), edge["to"].as_str())).collect();
        let expected_edges: BTreeSet<_> =
            list(expected, "edges").iter().map(|edge| (edge[0].as_str(), edge[1].as_str())).collect();
        assert_eq!(edges, expected_edges, "{}", expected["kind"]);
        assert_eq!(edges.len(), list(machine, "edges").len(), "{}: an edge stands once", expected["kind"]);
    }
}

#[test]
fn one_kind_gives_the_same_document_with_one_machine() {
    let all = callboard(&["machines", "--json"]).json();
    let one = callboard(&["machines", "session", "--json"]).json();
    assert_eq!(list(&one, "machines").len(), 1);
    assert!(list(&all, "machines").contains(&one["machines"][0]));
    assert_eq!(one["tokens"], all["tokens"]);
    assert_eq!(callboard(&["machines", "run", "--json"]).json(), one, "an old name of the kind");
    assert_eq!(callboard(&["machines", "session", "--format", "json"]).json(), one);
}

#[test]
fn diagrams_stand_under_their_kinds() {
    let all = callboard(&["machines", "--format", "mermaid"]).well();
    let session = callboard(&["machines", "session", "--format", "mermaid"]).well();
    assert!(session.starts_with("stateDiagram-v2\n    [*] --> pending\n"), "{session}");
    assert!(all.contains(&format!("%% session\n{session}\n%% show\n")), "{all}");
    assert_eq!(all.lines().filter(|line| line.starts_with("%% ")).count(), MACHINES.len());
    assert_eq!(all.lines().filter(|line| *line == "stateDiagram-v2").count(), MACHINES.len());
}

#[test]
fn the_list_and_an_explanation_fit_eighty_columns() {
    with_settings!({ snapshot_path => "../../snapshots", prepend_module_to_snapshot => false }, {
        assert_snapshot!("machines", callboard(&["machines", "--width", "80"]).well());
        assert_snapshot!("machines-session", callboard(&["machines", "session", "--width", "80"]).well());
        assert_snapshot!("machines-task", callboard(&["machines", "task", "--width", "80"]).well());
    });
    let document = callboard(&["machines", "--json"]).json();
    for machine in list(&document, "machines") {
        let kind = machine["kind"].as_str().unwrap();
        for line in callboard(&["machines", kind, "--width", "80"]).well().lines() {
            assert!(line.chars().count() <= 80, "{kind}: {line}");
        }
    }
}

#[test]
fn what_is_piped_is_whole() {
    let list = callboard(&["machines"]).well();
    assert!(!list.contains('…') && !list.contains("no room"), "{list}");
    assert!(list.contains("completed, partial_failed, failed, interrupted, timed_out  One prompt"), "{list}");
    let session = callboard(&["machines", "session"]).well();
    assert!(
        session.lines().any(|line| line.starts_with(
            "running  failed     contract_broken   system, supervisor  run.failed.missing_artifact, run.f"
        )),
        "{session}"
    );
}
