//! Any moment of the past, by time and by record, judged with the clock it had.

use serde_json::{Value, json};

use crate::harness::fleet::fleet;
use crate::harness::shelf::{Shelf, at, session};

fn chains(shelf: &Shelf, arguments: &[&str]) -> Vec<Value> {
    let document = shelf.json(&[&["ps", "session", "--json"], arguments].concat());
    let items = document["items"].as_array().unwrap_or_else(|| panic!("{document}"));
    items.iter().map(|item| item["chain"].clone()).collect()
}

#[test]
fn a_list_shows_what_was_alive_then() {
    let shelf = fleet();
    assert_eq!(chains(&shelf, &["--at", "2025-03-01T11:59:59Z"]), Vec::<Value>::new());
    assert_eq!(chains(&shelf, &["--at", &at(30).to_string()]), ["Running · Health unknown"]);
    assert_eq!(chains(&shelf, &["--as-of", "1"]), ["Pending · Infra OK"]);
    assert_eq!(chains(&shelf, &["--as-of", "2"]), ["Running · Health unknown"]);
    assert_eq!(chains(&shelf, &["--as-of", "0"]), Vec::<Value>::new());
    let at_the_end = chains(&shelf, &["--at", &at(520).to_string(), "--all"]);
    assert_eq!(
        at_the_end,
        ["Failed · Infra OK · Trace present", "Running", "Pending · Infra OK", "Completed"]
    );
}

#[test]
fn health_is_judged_with_the_clock_of_then() {
    let shelf = fleet();
    let id = session(3).to_string();
    let health = |second: i64| {
        let view = shelf.json(&["inspect", &id, "--json", "--at", &at(second).to_string()]);
        assert_eq!(view["state"]["evaluated_at"], json!(at(second)));
        view["state"]["health"].clone()
    };
    assert_eq!(health(500), "running");
    assert_eq!(health(3_601), "disconnected", "its lease ran out");
}

#[test]
fn one_entity_is_told_as_it_was() {
    let shelf = fleet();
    let id = session(2).to_string();
    let then = shelf.json(&["inspect", &id, "--json", "--as-of", "5"]);
    assert_eq!(
        (&then["state"]["lifecycle"], &then["version"], &then["ended_at"]),
        (&json!("running"), &json!(2), &json!(null))
    );
    let why = shelf.json(&["why", &id, "--json", "--as-of", "5"]);
    assert_eq!(why["records"].as_array().map(Vec::len), Some(2));
    assert_eq!(why["records"][0]["to"], "running", "the newest is first");
    let attention = shelf.json(&["attention", "--json", "--as-of", "5"]);
    assert_eq!(attention["total"], 0);
    assert_eq!(shelf.json(&["attention", "--json"])["total"].as_u64().map(|total| total >= 1), Some(true));
    let ran = shelf.run(&["inspect", &id, "--as-of", "1"]);
    assert_eq!(ran.code, Some(4));
    assert!(
        ran.stderr.starts_with(&format!("error: there was no {id}\n  because: it was recorded after ")),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_moment_that_is_none_is_told() {
    let shelf = fleet();
    let ran = shelf.run(&["ps", "--as-of", "999"]);
    let expected =
        "error: there is no record 999\n  because: the log ends at 10\n  try: a number from 0 to that\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(4), expected));
    let ran = shelf.run(&["ps", "--at", "yesterday"]);
    let expected = "error: the command line is not understood\n  because: \"yesterday\" is no time\n  \
                    try: 2026-11-15T19:19:18Z, or how long ago: 5m, 2h, 1d\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(2), expected));
    assert_eq!(shelf.run(&["ps", "--at", "5m", "--as-of", "1"]).code, Some(2));
    assert_eq!(shelf.run(&["ps", "--at", "-5m"]).code, Some(0));
}
