//! Runs inside of runs belong together, in the foreground and in the background.

use std::time::SystemTime;

use callboard_kernel::{Facts, Moment, Order};
use callboard_lifecycle::session::{SessionState, SessionTrigger};
use serde_json::{Value, json};

use crate::harness::driver::finish;
use crate::harness::runs::{CALLBOARD, detached, reason, send, supervisor, titled, until, view};
use crate::harness::shelf::{Shelf, begin, go, record, session};

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
        Order::Create(_) | Order::Observe(_) | Order::Entry(_) => panic!("not a transition"),
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
    let child = crate::harness::runs::begin(&mut command);
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
    let (outer, inner) = outer_with_inner(&shelf, "", "sleep 60");
    send("KILL", inner["pid"].as_u64().unwrap());
    let id = inner["id"].as_str().unwrap();
    assert_eq!(shelf.run(&["wait", id]).code, Some(137));
    assert_eq!(reason(&view(&shelf, id)), "run.failed.signal");
    assert_eq!(shelf.run(&["stop", &outer]).code, Some(0));
}

/// Starts an outer run that puts an inner one in the background; the id of the outer one, and the inner run.
fn outer_with_inner(shelf: &Shelf, how: &str, then: &str) -> (String, Value) {
    let store = shelf.path();
    let inner = format!("{how} {CALLBOARD} --store {} run --detach --title inner", store.display());
    let script = format!("{inner} -- sleep 60; {then}");
    let outer = detached(shelf, &["--title", "outer", "--grace", "20s", "--", "sh", "-c", &script]);
    (outer, running(shelf, "inner"))
}

/// The inner run has ended with the outer one, says so, and left nobody.
#[track_caller]
fn ended_together(shelf: &Shelf, outer: &str, inner: &Value) {
    let id = inner["id"].as_str().unwrap_or_default();
    let after = until("the end of the inner run", || {
        Some(view(shelf, id)).filter(|view| !view["ended_at"].is_null())
    });
    assert_eq!((reason(&after), &after["parent"]), ("run.cancelled.parent", &json!(outer)));
    let message = after["state"]["reasons"][0]["message"].as_str().unwrap_or_default();
    assert!(message.contains(outer), "{message}");
    let pids = [supervisor(inner), inner["pid"].as_u64().unwrap_or_default()];
    until("everybody to be gone", || {
        pids.iter().all(|pid| !std::path::Path::new(&format!("/proc/{pid}")).exists()).then_some(())
    });
}

#[test]
fn a_run_in_the_background_ends_with_the_run_it_was_started_in_and_says_so() {
    for how in ["", "env -i", "setsid"] {
        let shelf = Shelf::empty();
        let enough = shelf.file("enough");
        let then = format!("while [ ! -e {} ]; do sleep 0.02; done", enough.display());
        let (outer, inner) = outer_with_inner(&shelf, how, &then);
        std::fs::write(enough, "").unwrap();
        assert_eq!(shelf.run(&["wait", &outer]).code, Some(0), "{how}");
        assert_ne!(view(&shelf, &outer)["facts"]["escaped"], 0, "{how}");
        ended_together(&shelf, &outer, &inner);
    }
}

#[test]
fn a_run_in_the_background_ends_with_the_stop_of_the_run_it_was_started_in() {
    let shelf = Shelf::empty();
    let (outer, inner) = outer_with_inner(&shelf, "", "sleep 60");
    assert_eq!(shelf.run(&["stop", &outer]).code, Some(0));
    ended_together(&shelf, &outer, &inner);
}

#[test]
fn a_run_in_the_background_ends_when_the_run_around_it_is_reaped() {
    let shelf = Shelf::empty();
    let (outer, inner) = outer_with_inner(&shelf, "", "sleep 60");
    send("KILL", supervisor(&view(&shelf, &outer)));
    until("the death", || (view(&shelf, &outer)["state"]["health"] == "process_dead").then_some(()));
    shelf.well(&["reap"]);
    assert_eq!(reason(&view(&shelf, &outer)), "system.health.process_dead_no_terminal");
    ended_together(&shelf, &outer, &inner);
}

/// Where control groups hold limits, those of a run hold for the runs that its agent starts, however it starts them.
#[test]
fn a_run_in_the_background_stays_in_the_limits_of_the_run_it_was_started_in() {
    let shelf = Shelf::empty();
    let store = shelf.path();
    // The inner run asks for more than the outer one has, and starts more processes than that.
    let inner = format!("env -i PATH=\"$PATH\" {CALLBOARD} --store {} run --detach", store.display());
    let greedy = "i=0; while [ $i -lt 100 ]; do sleep 60 & i=$((i+1)); done; echo all of them";
    let script = format!("{inner} --title inner --processes 500 -- sh -c '{greedy}'; sleep 600");
    let limits = ["--processes", "60", "--memory", "512M"];
    let outer =
        detached(&shelf, &[&["--title", "outer"], &limits[..], &["--", "sh", "-c", &script]].concat());
    let around = view(&shelf, &outer);
    if around["facts"]["containment"]["processes"] != "cgroup" {
        eprintln!("left out: no control group limits processes here: {}", around["facts"]["containment"]);
        assert_eq!(shelf.run(&["stop", "--now", &outer]).code, Some(0));
        return;
    }
    let inner = until("the inner run", || titled(&shelf, "inner").filter(|view| view["pid"].is_u64()));
    for pid in [supervisor(&inner), inner["pid"].as_u64().unwrap()] {
        // A command that could not fork may be gone already; its supervisor stays until it has recorded that.
        let Ok(groups) = std::fs::read_to_string(format!("/proc/{pid}/cgroup")) else { continue };
        let of = |controller: &str| {
            groups
                .lines()
                .find(|line| line.split(':').nth(1) == Some(controller))
                .unwrap_or_default()
                .to_owned()
        };
        assert!(of("").contains(&outer), "{pid}: {groups}");
        let in_one_of_two = |controller| of(controller).is_empty() || of(controller).contains(&outer);
        assert!(in_one_of_two("pids") && in_one_of_two("memory"), "{pid}: {groups}");
    }
    let id = inner["id"].as_str().unwrap();
    // A shell that cannot fork says so and ends.
    let ended = until("the end", || Some(view(&shelf, id)).filter(|view| !view["ended_at"].is_null()));
    let logs = shelf.run(&["logs", id]);
    let said = format!("{}{}", logs.stdout, logs.stderr);
    assert!(said.contains("fork") && !said.contains("all of them"), "{said}");
    assert_eq!((&ended["parent"], reason(&ended)), (&json!(outer), "run.failed.exit_nonzero"));
    assert_eq!(shelf.run(&["stop", "--now", &outer]).code, Some(0));
}
