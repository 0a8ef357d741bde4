//! The reaper on the real binary: who is ended, for which reason, and who is never touched.

use callboard_kernel::{Facts, Value};
use callboard_lifecycle::session::SessionState;
use callboard_supervisor::process::{self, Identity};
use serde_json::json;

use crate::runs::{begin, carriers, detached, only, reason, send, supervisor, until, view};
use crate::shelf::{Shelf, at, begin as create, record, session, text};

const FUTURE: &str = "2999-01-01T00:00:00Z";
const PAST: &str = "2020-01-01T00:00:00Z";

/// A run that was begun by this supervisor.
fn recorded(shelf: &Shelf, number: u64, second: i64, supervisor: &Identity, lease: Option<&str>) -> String {
    let process = Facts::none()
        .with("pid", i64::from(supervisor.pid))
        .with("started_ticks", i64::try_from(supervisor.started_ticks).unwrap_or(0));
    let mut data = Facts::none()
        .with("host", supervisor.host.as_str())
        .with("boot", supervisor.boot.as_str())
        .with("supervisor", Value::Map(process));
    if let Some(until) = lease {
        data.set("lease_until", until);
    }
    record(&shelf.ledger(), session(number), second, create(SessionState::Pending, data));
    session(number).to_string()
}

fn this() -> Identity {
    process::this().unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn c15_another_host_keeps_its_runs_as_long_as_its_lease() {
    let shelf = Shelf::empty();
    let there = Identity { host: "elsewhere".to_owned(), ..this() };
    let held = recorded(&shelf, 1, 0, &there, Some(FUTURE));
    let unknown = recorded(&shelf, 2, 0, &there, None);
    let lapsed = recorded(&shelf, 3, 0, &there, Some(PAST));
    let reaped = shelf.json(&["reap", "--json"]);
    assert_eq!(reaped["ended"], 1, "{reaped}");
    for id in [&held, &unknown] {
        assert_eq!(view(&shelf, id)["state"]["lifecycle"], "pending");
    }
    assert_eq!(reason(&view(&shelf, &lapsed)), "system.health.lease_expired");
}

#[test]
fn b11_who_has_the_pid_of_a_dead_supervisor_is_not_taken_for_it() {
    let shelf = Shelf::empty();
    let living = recorded(&shelf, 1, 0, &this(), None);
    let earlier = Identity { started_ticks: this().started_ticks - 1, ..this() };
    let reused = recorded(&shelf, 2, 0, &earlier, None);
    let before_the_boot = recorded(&shelf, 3, 0, &Identity { boot: "another".to_owned(), ..this() }, None);
    assert_eq!(shelf.json(&["reap", "--json", "--dry-run"])["ended"], 0);
    assert_eq!(shelf.json(&["reap", "--json"])["ended"], 2);
    assert_eq!(view(&shelf, &living)["state"]["lifecycle"], "pending");
    assert_eq!(reason(&view(&shelf, &reused)), "system.health.orphaned");
    assert_eq!(reason(&view(&shelf, &before_the_boot)), "system.health.host_restarted");
}

#[test]
fn a21_a_clock_that_was_set_back_keeps_nobody_who_is_dead() {
    let shelf = Shelf::empty();
    let dead = Identity { started_ticks: 1, ..this() };
    let hundred_years = 100 * 365 * 86_400;
    let ids = [recorded(&shelf, 1, hundred_years, &dead, None), recorded(&shelf, 2, 0, &dead, None)];
    assert!(at(hundred_years) > at(0));
    assert_eq!(shelf.json(&["reap", "--older-than", "1h", "--json"])["ended"], 2);
    for id in &ids {
        assert_eq!(reason(&view(&shelf, id)), "system.health.orphaned");
    }
}

#[test]
fn a_living_run_is_never_touched_and_one_that_was_heard_of_lately_not_yet() {
    let shelf = Shelf::empty();
    let id = detached(&shelf, &["--", "sleep", "60"]);
    let reaped = shelf.json(&["reap", "--json"]);
    assert_eq!((&reaped["ended"], &reaped["items"][0]["act"]), (&json!(0), &json!("left_alone")));
    send("KILL", supervisor(&view(&shelf, &id)));
    until("the death", || (view(&shelf, &id)["state"]["health"] == "process_dead").then_some(()));
    assert_eq!(shelf.json(&["reap", "--older-than", "1h", "--json"])["ended"], 0);
    assert_eq!(shelf.json(&["reap", "--json"])["ended"], 1);
    assert_eq!(shelf.json(&["reap", "--json"])["ended"], 0, "it ends once");
}

#[test]
fn b09_b10_a_killed_supervisor_is_seen_at_once_and_what_it_left_is_ended() {
    let shelf = Shelf::empty();
    let token = format!("callboard-test-{}-b09", std::process::id());
    let script =
        "(trap '' TERM; setsid sh -c 'while :; do sleep 0.1; done' </dev/null >/dev/null 2>&1 &); sleep 60";
    let mut command = shelf.command(&["run", "--detach", "--", "sh", "-c", script]);
    let started = crate::driver::finish(command.env("TOKEN_OF_THE_TEST", &token)).well();
    let id = started.trim_end();
    until("its daemon", || (carriers(&token).len() > 3).then_some(()));
    send("KILL", supervisor(&view(&shelf, id)));
    until("the death", || (view(&shelf, id)["state"]["health"] == "process_dead").then_some(()));
    shelf.well(&["reap"]);
    let view = view(&shelf, id);
    assert_eq!(
        (reason(&view), &view["facts"]["leftovers"]),
        ("system.health.process_dead_no_terminal", &json!(0))
    );
    assert!(view["state"]["reasons"][0].to_string().contains("were still there and were ended"), "{view}");
    assert_eq!(carriers(&token), [] as [u32; 0]);
    assert_eq!(shelf.run(&["wait", id]).code, Some(130));
}

/// The checks of a contract are processes of the run too.
#[test]
fn b10_what_a_check_left_is_ended_when_the_supervisor_was_killed() {
    let shelf = Shelf::empty();
    let token = format!("callboard-test-{}-b10", std::process::id());
    let checking = shelf.file("checking");
    let check = format!(
        "artifacts:\n  - id: check\n    command: [sh, -c, \"test -e {0} && exit 1; (setsid sleep 60 </dev/null \
         >/dev/null 2>&1 &); : > {0}; sleep 60\"]\n",
        text(&checking)
    );
    std::fs::write(shelf.file("contract.yaml"), check).unwrap();
    let mut command = shelf.command(&["run", "--contract", text(&shelf.file("contract.yaml")), "--", "true"]);
    let mut child = begin(command.env("TOKEN_OF_THE_TEST", &token).current_dir(shelf.file("")));
    until("the check", || checking.exists().then_some(()));
    child.kill().unwrap();
    child.wait().unwrap();
    shelf.well(&["reap"]);
    assert_eq!(reason(&only(&shelf)), "system.health.process_dead_no_terminal");
    assert_eq!(carriers(&token), [] as [u32; 0]);
}
