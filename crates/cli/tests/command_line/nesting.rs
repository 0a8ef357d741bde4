//! Runs inside of runs: in the foreground they belong together, in the background they do not.

use std::time::SystemTime;

use callboard_kernel::{Facts, Moment, Order};
use callboard_lifecycle::session::{SessionState, SessionTrigger};
use serde_json::{Value, json};

use crate::driver::finish;
use crate::runs::{CALLBOARD, detached, reason, send, supervisor, titled, until, view};
use crate::shelf::{Shelf, begin, go, record, session};

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
    let wish = |at: &str| {
        let wish = Facts::none().with("cause", "operator").with("by", "ann").with("at", at);
        Facts::none().with("stop_wish", callboard_kernel::Value::Map(wish))
    };
    let (wished, long_ago) = (wish(&now()), wish("2025-03-01T12:00:01Z"));
    let stopping = Facts::none().with("cause", "deadline").with("since", "2025-03-01T12:00:01Z");
    let stopping = Facts::none().with("stopping", callboard_kernel::Value::Map(stopping));
    let rows = [
        (wished.clone(), Place::Inside, "TERM", "run.cancelled.parent", 143),
        (wished.clone(), Place::Inside, "KILL", "run.cancelled.parent", 143),
        (stopping, Place::Inside, "KILL", "run.cancelled.parent", 143),
        (wished.clone(), Place::Inside, "SEGV", "run.failed.signal", 139),
        (Facts::none(), Place::Inside, "TERM", "run.failed.signal", 143),
        (wished, Place::Beside, "TERM", "run.failed.signal", 143),
        (long_ago, Place::Inside, "KILL", "run.failed.signal", 137),
    ];
    for (facts, place, signal, expected, code) in rows {
        let shelf = Shelf::empty();
        drop(record(&shelf.ledger(), session(1), 0, begin(SessionState::Pending, facts)));
        assert_eq!(kill_itself(&shelf, place, signal), Some(code), "{signal}");
        let inner = titled(&shelf, "inner").unwrap();
        assert_eq!(reason(&inner), expected, "{signal}: {}", inner["state"]);
    }
}

#[expect(clippy::disallowed_methods, reason = "a wish is compared with the real time")]
fn now() -> String {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Moment::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX)).to_string()
}

#[test]
fn a_run_around_that_ended_long_ago_explains_nothing() {
    let shelf = Shelf::empty();
    let ledger = shelf.ledger();
    drop(record(&ledger, session(1), 0, begin(SessionState::Pending, Facts::none())));
    let cancelled = go(SessionState::Cancelled, "run.cancelled.sigterm", "m", "seen", Facts::none());
    let ended = Order::Transition(match cancelled {
        Order::Transition(transition) => transition.caused_by(SessionTrigger::StopAsked),
        Order::Create(_) | Order::Observe(_) => panic!("not a transition"),
    });
    drop(record(&ledger, session(1), 1, ended));
    drop(ledger);
    assert_eq!(kill_itself(&shelf, Place::Inside, "KILL"), Some(137));
    assert_eq!(reason(&titled(&shelf, "inner").unwrap()), "run.failed.signal");
}

/// Where the inner run is started.
#[derive(Clone, Copy)]
enum Place {
    /// Inside of the outer one.
    Inside,
    /// Elsewhere, and the outer one is only named as its parent.
    Beside,
}

/// Runs a command that ends itself with a signal; the exit code.
fn kill_itself(shelf: &Shelf, place: Place, signal: &str) -> Option<i32> {
    let outer = session(1).to_string();
    let script = format!("kill -{signal} $$");
    let parent = match place {
        Place::Inside => vec![],
        Place::Beside => vec!["--parent", outer.as_str()],
    };
    let arguments = [&["run"], parent.as_slice(), &["--title", "inner", "--", "sh", "-c", &script]].concat();
    let mut command = shelf.command(&arguments);
    if matches!(place, Place::Inside) {
        command.env("CALLBOARD_RUN", &outer);
    }
    finish(&mut command).code
}

/// How the outer run of a pair ends.
#[derive(Clone, Copy, Debug)]
enum Ending {
    /// Its supervisor is told to terminate.
    Terminated,
    /// Its command is killed.
    CommandKilled,
    /// Its command exits.
    CommandExits,
    /// Its bound is reached.
    TimedOut,
}

/// Runs an outer run with an inner one until the outer one has ended in this way: the inner one, and the id of the outer.
fn pair(rung: &[&str], ending: Ending) -> (Value, Value) {
    let shelf = Shelf::empty();
    let wait = match ending {
        Ending::CommandExits => "while [ ! -e enough ]; do sleep 0.02; done",
        Ending::Terminated | Ending::CommandKilled | Ending::TimedOut => "wait",
    };
    let bound = if matches!(ending, Ending::TimedOut) { "3s" } else { "10m" };
    let script = format!("{CALLBOARD} run --quiet --title inner -- sleep 60 & {wait}");
    let line = format!("exec {CALLBOARD} run --quiet --timeout {bound} --title outer -- sh -c '{script}'");
    let line = rung.iter().map(|word| (*word).to_owned()).chain([line]).collect::<Vec<_>>().join(" && ");
    let mut command = std::process::Command::new("unshare");
    command
        .args(["--mount", "sh", "-c", &line])
        .current_dir(shelf.file(""))
        .stdin(std::process::Stdio::null());
    command.env("CALLBOARD_STORE", shelf.path()).env_remove("CALLBOARD_RUN");
    let child = crate::runs::begin(&mut command);
    running(&shelf, "inner");
    let outer = running(&shelf, "outer");
    match ending {
        Ending::Terminated => send("TERM", supervisor(&outer)),
        Ending::CommandKilled => send("KILL", outer["pid"].as_u64().unwrap_or_else(|| panic!("{outer}"))),
        Ending::CommandExits => {
            std::fs::write(shelf.file("enough"), "").unwrap_or_else(|error| panic!("{error}"));
        }
        Ending::TimedOut => {}
    }
    drop(child.wait_with_output());
    let ended = |title| until(title, || titled(&shelf, title).filter(|view| !view["ended_at"].is_null()));
    (ended("inner"), ended("outer"))
}

#[test]
fn however_the_outer_run_ends_the_inner_one_was_ended_with_it() {
    let without_groups = ["mount -t tmpfs none /sys/fs/cgroup"];
    for rung in [&[][..], &without_groups] {
        for ending in [Ending::Terminated, Ending::CommandKilled, Ending::CommandExits, Ending::TimedOut] {
            let (inner, outer) = pair(rung, ending);
            let told = format!("{rung:?} {ending:?}: {} in {}", inner["state"], outer["state"]);
            assert_eq!(reason(&inner), "run.cancelled.parent", "{told}");
            let message = inner["state"]["reasons"][0]["message"].as_str().unwrap_or_default();
            assert!(message.contains(outer["id"].as_str().unwrap_or("no id")), "{told}");
            let expected = match ending {
                Ending::Terminated => "run.cancelled.sigterm",
                Ending::CommandKilled => "run.failed.signal",
                Ending::CommandExits => "run.completed.ok",
                Ending::TimedOut => "run.timed_out.deadline",
            };
            assert_eq!(reason(&outer), expected, "{told}");
        }
    }
}

#[test]
fn a_run_in_the_background_that_a_stranger_kills_was_not_stopped_with_the_run_that_started_it() {
    let shelf = Shelf::empty();
    let (outer, inner) = outer_with_inner(&shelf, "exit 0");
    assert_eq!(shelf.run(&["wait", &outer]).code, Some(0));
    send("KILL", inner["pid"].as_u64().unwrap());
    let id = inner["id"].as_str().unwrap();
    assert_eq!(shelf.run(&["wait", id]).code, Some(137));
    assert_eq!(reason(&view(&shelf, id)), "run.failed.signal");
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
