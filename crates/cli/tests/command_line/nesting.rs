//! Runs inside of runs: in the foreground they belong together, in the background they do not.

use callboard_kernel::Facts;
use callboard_lifecycle::session::SessionState;
use serde_json::{Value, json};

use crate::runs::{CALLBOARD, detached, reason, send, supervisor, titled, until, view};
use crate::shelf::{Shelf, begin, record, session};

fn running(shelf: &Shelf, title: &str) -> Value {
    until(title, || titled(shelf, title).filter(|view| view["state"]["lifecycle"] == "running"))
}

#[test]
fn stopping_a_run_stops_the_run_inside_of_it_for_that_reason() {
    let shelf = Shelf::empty();
    let script = format!("{CALLBOARD} run --quiet --title inner -- sleep 60 & wait");
    let outer = detached(&shelf, &["--title", "outer", "--", "sh", "-c", &script]);
    assert_eq!(running(&shelf, "inner")["parent"], json!(outer));
    assert_eq!(shelf.run(&["stop", &outer]).code, Some(0));
    let inner = titled(&shelf, "inner").unwrap();
    assert_eq!(reason(&inner), "run.cancelled.parent", "{}", inner["state"]);
    assert!(inner["state"]["reasons"][0]["message"].as_str().unwrap().contains(&outer), "{}", inner["state"]);
    assert_eq!(reason(&view(&shelf, &outer)), "run.cancelled.operator");
}

#[test]
fn a_command_that_a_stop_ends_before_its_supervisor_hears_of_it_was_stopped() {
    let wish = Facts::none().with("cause", "operator").with("by", "ann").with("at", "2025-03-01T12:00:01Z");
    let wished = Facts::none().with("stop_wish", callboard_kernel::Value::Map(wish));
    let rows = [
        (wished.clone(), "TERM", "run.cancelled.parent", 143),
        (wished.clone(), "KILL", "run.cancelled.parent", 143),
        (wished, "SEGV", "run.failed.signal", 139),
        (Facts::none(), "TERM", "run.failed.signal", 143),
    ];
    for (facts, signal, expected, code) in rows {
        let shelf = Shelf::empty();
        let outer = session(1).to_string();
        drop(record(&shelf.ledger(), session(1), 0, begin(SessionState::Pending, facts)));
        let script = format!("kill -{signal} $$");
        let arguments = ["run", "--parent", &outer, "--title", "inner", "--", "sh", "-c", &script];
        assert_eq!(shelf.run(&arguments).code, Some(code), "{signal}");
        let inner = titled(&shelf, "inner").unwrap();
        assert_eq!(reason(&inner), expected, "{signal}: {}", inner["state"]);
    }
}

/// Starts an outer run that puts an inner one in the background; the id of the outer one, and the inner run.
fn outer_with_inner(shelf: &Shelf, then: &str) -> (String, Value) {
    let script = format!("{CALLBOARD} run --detach --title inner -- sleep 60; {then}");
    let outer = detached(shelf, &["--title", "outer", "--", "sh", "-c", &script]);
    (outer, running(shelf, "inner"))
}

#[track_caller]
fn still_runs(shelf: &Shelf, outer: &str, inner: &Value) {
    let id = inner["id"].as_str().unwrap_or_default();
    let after = view(shelf, id);
    assert_eq!((&after["state"]["lifecycle"], &after["parent"]), (&json!("running"), &json!(outer)));
    assert_ne!(after["state"]["health"], "process_dead");
    for pid in [supervisor(inner), inner["pid"].as_u64().unwrap_or_default()] {
        let read = |file: &str| {
            let bytes = std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let environment = read("environ");
        let marker = environment.split('\0').find(|entry| entry.starts_with("CALLBOARD_RUN="));
        assert_eq!(marker, Some(format!("CALLBOARD_RUN={id}").as_str()));
        assert!(!read("cgroup").contains(outer), "{}", read("cgroup"));
    }
    assert_eq!(shelf.run(&["stop", id]).code, Some(0));
    assert_eq!(reason(&view(shelf, id)), "run.cancelled.operator");
}

#[test]
fn a_run_in_the_background_outlives_the_end_of_the_run_it_was_started_in() {
    let shelf = Shelf::empty();
    let (outer, inner) = outer_with_inner(&shelf, "exit 0");
    assert_eq!(shelf.run(&["wait", &outer]).code, Some(0));
    assert_eq!(view(&shelf, &outer)["facts"]["escaped"], 0);
    still_runs(&shelf, &outer, &inner);
}

#[test]
fn a_run_in_the_background_outlives_the_stop_of_the_run_it_was_started_in() {
    let shelf = Shelf::empty();
    let (outer, inner) = outer_with_inner(&shelf, "sleep 60");
    assert_eq!(shelf.run(&["stop", &outer]).code, Some(0));
    still_runs(&shelf, &outer, &inner);
}

#[test]
fn a_run_in_the_background_outlives_a_kill_of_the_supervisor_around_it() {
    let shelf = Shelf::empty();
    let (outer, inner) = outer_with_inner(&shelf, "sleep 60");
    send("KILL", supervisor(&view(&shelf, &outer)));
    until("the death", || (view(&shelf, &outer)["state"]["health"] == "process_dead").then_some(()));
    shelf.well(&["reap"]);
    assert_eq!(reason(&view(&shelf, &outer)), "system.health.process_dead_no_terminal");
    still_runs(&shelf, &outer, &inner);
}
