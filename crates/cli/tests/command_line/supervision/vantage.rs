//! What is said of a run from another namespace, under another host name, and while its processes are held or outlive their
//! supervisor: whoever cannot see says so, and nobody who lives is called dead or shown as running when nothing runs.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use callboard_kernel::{
    Actor, EvidenceRef, Facts, Observe, Order, StateReason, SupervisorSeen, Transition, Value,
};
use callboard_ledger::Request;
use callboard_lifecycle::session::{SessionState, SessionTrigger};
use callboard_lifecycle::{ActorClass, reason as registered};
use callboard_supervisor::process;
use serde_json::json;

use crate::harness::driver::finish;
use crate::harness::runs::{begin, detached, reason, send, supervisor, until, view};
use crate::harness::shelf::{Shelf, at, begin as create, go, record, session, text};

type Json = serde_json::Value;

/// The program on a store, started by another program such as `unshare`.
fn within(shelf: &Shelf, outer: &[&str], arguments: &[&str]) -> Command {
    let inner = shelf.command(arguments);
    let mut command = Command::new(outer[0]);
    command.args(&outer[1..]).arg(inner.get_program()).args(inner.get_args());
    for (name, value) in inner.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
}

/// Can this be done here? A test that cannot be set up says so and is left out.
fn can(outer: &[&str]) -> bool {
    let done = Command::new(outer[0]).args(&outer[1..]).arg("true").status();
    let is_possible = done.is_ok_and(|status| status.success());
    if !is_possible {
        eprintln!("left out: {outer:?} is not possible here");
    }
    is_possible
}

const PID_NAMESPACE: [&str; 4] = ["unshare", "--pid", "--fork", "--mount-proc"];
const TIME_NAMESPACE: [&str; 5] = ["unshare", "--time", "--boottime", "100000", "--fork"];

fn pid(view: &Json) -> u64 {
    view["pid"].as_u64().unwrap_or_else(|| panic!("{view}"))
}

fn running(shelf: &Shelf, id: &str) -> Json {
    until("the command", || Some(view(shelf, id)).filter(|view| view["state"]["lifecycle"] == "running"))
}

fn judged(view: &Json) -> &str {
    view["state"]["reasons"].as_array().and_then(|all| all.last()?["code"].as_str()).unwrap_or_default()
}

/// Health, chain and phase of a run.
fn shown(view: &Json) -> [&str; 3] {
    let state = &view["state"];
    [&state["health"], &view["chain"], &state["phase"]["name"]].map(|word| word.as_str().unwrap_or_default())
}

fn is_alive(pid: u64) -> bool {
    let pid = u32::try_from(pid).unwrap_or_else(|error| panic!("{error}"));
    process::glance(pid).is_ok_and(|seen| seen.is_some_and(|seen| !seen.is_zombie))
}

#[test]
fn who_cannot_see_a_living_run_says_so_and_never_ends_it() {
    let shelf = Shelf::empty();
    let id = detached(&shelf, &["--", "sleep", "60"]);
    let here = running(&shelf, &id);
    let cases = [(&PID_NAMESPACE[..], "PID namespace"), (&TIME_NAMESPACE[..], "time namespace")];
    for (outer, word) in cases {
        if !can(outer) {
            continue;
        }
        let there = finish(&mut within(&shelf, outer, &["inspect", &id, "--json"])).json();
        assert_eq!((shown(&there)[0], judged(&there)), ("unknown", "run.health.unknown"), "{there}");
        assert!(there["state"]["reasons"].to_string().contains(word), "{there}");
        let reaped = finish(&mut within(&shelf, outer, &["reap", "--json"])).json();
        assert_eq!((&reaped["ended"], &reaped["items"][0]["act"]), (&json!(0), &json!("left_alone")));
        assert!(reaped["items"][0]["because"].to_string().contains(word), "{reaped}");
        let asked = finish(&mut within(&shelf, outer, &["stop", "--no-wait", &id])).well();
        assert!(asked.contains(word), "{asked}");
        assert!(is_alive(pid(&here)) && is_alive(supervisor(&here)));
        assert_eq!(view(&shelf, &id)["state"]["lifecycle"], "running");
    }
    assert_eq!(shelf.run(&["stop", "--now", &id]).code, Some(0));
}

#[test]
fn a_run_that_was_started_in_a_namespace_is_not_dead_from_outside() {
    for (outer, word) in [(&PID_NAMESPACE[..], "PID namespace"), (&TIME_NAMESPACE[..], "time namespace")] {
        if !can(outer) {
            continue;
        }
        let shelf = Shelf::empty();
        let go_on = shelf.file("go-on");
        let script = "until [ -e \"$0\" ]; do sleep 0.05; done";
        let arguments = ["run", "--title", "inside", "--", "sh", "-c", script, text(&go_on)];
        let mut child = begin(&mut within(&shelf, outer, &arguments));
        let inside = until("the run", || {
            let view = crate::harness::runs::titled(&shelf, "inside")?;
            (view["state"]["lifecycle"] == "running").then_some(view)
        });
        assert_eq!(shown(&inside)[0], "unknown", "{inside}");
        assert!(inside["state"]["reasons"].to_string().contains(word), "{inside}");
        assert_eq!(shelf.json(&["reap", "--json"])["ended"], 0);
        assert!(child.try_wait().is_ok_and(|ended| ended.is_none()), "it goes on");
        fs::write(&go_on, "").unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(child.wait().ok().and_then(|status| status.code()), Some(0));
        assert_eq!(crate::harness::runs::only(&shelf)["chain"], "Completed");
    }
}

#[test]
fn a_host_that_was_renamed_still_knows_its_dead() {
    let outer = ["unshare", "--uts", "sh", "-c", "hostname renamed && exec \"$@\"", "sh"];
    if !can(&outer) {
        return;
    }
    let shelf = Shelf::empty();
    let (living, dead) = (detached(&shelf, &["--", "sleep", "60"]), detached(&shelf, &["--", "sleep", "60"]));
    send("KILL", supervisor(&running(&shelf, &dead)));
    until("the death", || (shown(&view(&shelf, &dead))[0] == "process_dead").then_some(()));
    let there = finish(&mut within(&shelf, &outer, &["inspect", &dead, "--json"])).json();
    assert_eq!(shown(&there)[0], "process_dead", "{there}");
    assert_eq!(finish(&mut within(&shelf, &outer, &["reap", "--json"])).json()["ended"], 1);
    assert_eq!(view(&shelf, &living)["state"]["lifecycle"], "running");
    assert_eq!(finish(&mut within(&shelf, &outer, &["stop", "--now", &living])).code, Some(0));
    assert_eq!(reason(&view(&shelf, &living)), "run.cancelled.operator", "it was woken under the new name");
}

#[test]
fn a_stopped_command_is_paused_whether_or_not_its_supervisor_is() {
    let shelf = Shelf::empty();
    let id = detached(&shelf, &["--", "sleep", "60"]);
    let here = running(&shelf, &id);
    assert_eq!(shown(&here), ["running", "Running", "working"]);
    send("STOP", supervisor(&here));
    until("the stop", || (shown(&view(&shelf, &id))[1] == "Running · Supervisor stopped").then_some(()));
    send("STOP", pid(&here));
    let paused = until("the pause", || Some(view(&shelf, &id)).filter(|view| shown(view)[0] == "paused"));
    assert_eq!(shown(&paused), ["paused", "Running · Paused (stop signal)", "paused"]);
    assert_eq!((judged(&paused), &paused["state"]["severity"]), ("run.health.paused", &json!("warning")));
    send("KILL", pid(&here));
    let exited = "Running · Exited, supervisor stopped";
    until("the exit", || (shown(&view(&shelf, &id))[1] == exited).then_some(()));
    send("CONT", supervisor(&here));
    assert_eq!(
        shelf.run(&["wait", &id]).code,
        Some(137),
        "what ended it is told when the supervisor goes on"
    );
}

/// A control group of this test, of version 1 or 2, and how it is frozen.
struct Freezer {
    group: PathBuf,
    file: &'static str,
    words: [&'static str; 2],
}

impl Freezer {
    fn all() -> Vec<Self> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let mut found = Vec::new();
        for line in mounts.lines() {
            let Some((before, after)) = line.split_once(" - ") else { continue };
            let point = PathBuf::from(before.split(' ').nth(4).unwrap_or_default());
            let group = point.join(format!("callboard-test-{}", std::process::id()));
            let (file, words) = match after.split(' ').next() {
                Some("cgroup2") => ("cgroup.freeze", ["1", "0"]),
                Some("cgroup") if after.contains("freezer") => ("freezer.state", ["FROZEN", "THAWED"]),
                Some(_) | None => continue,
            };
            if fs::create_dir(&group).is_ok() {
                found.push(Self { group, file, words });
            }
        }
        found
    }

    fn write(&self, file: &str, text: &str) {
        let written = fs::write(self.group.join(file), text);
        assert!(written.is_ok(), "{} {file}: {written:?}", self.group.display());
    }
}

impl Drop for Freezer {
    fn drop(&mut self) {
        drop(fs::write(self.group.join(self.file), self.words[1]));
        until("an empty group", || fs::remove_dir(&self.group).is_ok().then_some(()));
    }
}

#[test]
fn a_frozen_control_group_is_paused() {
    for freezer in Freezer::all() {
        let shelf = Shelf::empty();
        let id = detached(&shelf, &["--", "sleep", "60"]);
        let here = running(&shelf, &id);
        freezer.write("cgroup.procs", &pid(&here).to_string());
        freezer.write(freezer.file, freezer.words[0]);
        let frozen = until("the frost", || Some(view(&shelf, &id)).filter(|view| shown(view)[0] == "paused"));
        assert_eq!(shown(&frozen), ["paused", "Running · Paused (frozen)", "paused"]);
        assert_eq!(frozen["state"]["phase"]["by"], "freezer");
        freezer.write(freezer.file, freezer.words[1]);
        until("the thaw", || (shown(&view(&shelf, &id))[0] == "running").then_some(()));
        send("KILL", pid(&here));
        assert_eq!(shelf.run(&["wait", &id]).code, Some(137));
    }
}

#[test]
fn a_dead_supervisor_with_living_processes_is_unsupervised() {
    let shelf = Shelf::empty();
    // The kernel kills the command itself with its supervisor; its children live on.
    let id = detached(&shelf, &["--", "sh", "-c", "sleep 60 & sleep 60 & sleep 60 & wait"]);
    let here = running(&shelf, &id);
    let threads = format!("/proc/{0}/task/{0}/children", pid(&here));
    let children = || fs::read_to_string(&threads).unwrap_or_default().split_whitespace().count();
    until("its children", || (children() == 3).then_some(()));
    send("KILL", supervisor(&here));
    let left = until("three", || {
        Some(view(&shelf, &id)).filter(|view| view["chain"] == "Running · Unsupervised (3 alive)")
    });
    assert_eq!((shown(&left)[0], judged(&left)), ("process_dead", "run.health.unsupervised"));
    assert!(left["state"]["reasons"].to_string().contains("3 processes alive"), "{left}");
    assert_eq!(shelf.json(&["reap", "--json"])["items"][0]["processes_ended"], 3);
    assert!(!is_alive(pid(&here)));
}

#[test]
fn a_run_without_a_control_group_says_that_a_daemon_may_have_got_away() {
    let shelf = Shelf::empty();
    let dead = process::this().unwrap_or_else(|error| panic!("{error}"));
    let number = |number: u64| i64::try_from(number).unwrap_or_default();
    let supervisor = Facts::none().with("pid", i64::from(dead.pid)).with("started_ticks", 1_i64);
    let data = Facts::none()
        .with("host", dead.host.as_str())
        .with("boot", dead.boot.as_str())
        .with("pid_ns", number(dead.pid_ns.unwrap_or_default()))
        .with("supervisor", Value::Map(supervisor));
    let (ledger, id) = (shelf.ledger(), session(1));
    record(&ledger, id, 0, create(SessionState::Pending, data));
    let held = Facts::none().with("rung", "tree").with("detail", "no control groups");
    let data = Facts::none()
        .with("pid", i64::from(dead.pid))
        .with("started_ticks", 1_i64)
        .with("containment", Value::Map(held));
    record(&ledger, id, 1, go(SessionState::Running, "run.started.ok", "it was", "pid", data));
    drop(ledger);
    assert_eq!(shelf.json(&["reap", "--json"])["ended"], 1);
    let ended = view(&shelf, &id.to_string());
    assert!(ended["state"]["reasons"].to_string().contains("cannot be ruled out"), "{ended}");
}

/// Ends a run in the log by hand, while it goes on.
fn end_by_hand(shelf: &Shelf, id: &str) {
    let code = registered("run.cancelled.operator").unwrap_or_else(|unknown| panic!("{unknown}"));
    let why = StateReason::new(code, "by hand").shown_by(EvidenceRef::human_assertion("by hand"));
    let order = Transition::to(SessionState::Cancelled, why).caused_by(SessionTrigger::EndedByHand);
    let id = id.parse().unwrap_or_else(|error| panic!("{id}: {error}"));
    let mut command = callboard_kernel::Command::new(id, Order::Transition(order));
    // A false word: what is tested is that the truth comes out all the same.
    command.testimony.supervisor = Some(SupervisorSeen::Absent);
    let ended = shelf.ledger().append(Request {
        command,
        actor: Actor::new(ActorClass::Operator, "ann"),
        now: at(0),
        cause: None,
    });
    assert!(ended.is_ok(), "{ended:?}");
}

#[test]
fn a_run_that_was_ended_by_hand_and_lives_is_told_and_its_real_end_is_kept() {
    let shelf = Shelf::empty();
    let go_on = shelf.file("go-on");
    let script = "while ! [ -e \"$0\" ]; do sleep 0.05; done; exit 3";
    let mut command = shelf.command(&["run", "--title", "by hand", "--", "sh", "-c", script, text(&go_on)]);
    let mut child = begin(&mut command);
    let here = until("the run", || {
        crate::harness::runs::titled(&shelf, "by hand").filter(|view| view["state"]["lifecycle"] == "running")
    });
    let id = here["id"].as_str().unwrap_or_default();
    end_by_hand(&shelf, id);
    let ended = view(&shelf, id);
    assert_eq!(shown(&ended)[..2], ["degraded", "Cancelled · Still alive"], "{ended}");
    assert_eq!(judged(&ended), "run.health.alive_after_end");
    assert!(ended["state"]["reasons"].to_string().contains(&format!("pid {}", pid(&here))), "{ended}");
    let listed = |arguments: &[&str]| shelf.json(arguments)["items"][0]["chain"].clone();
    assert_eq!(listed(&["ps", "--json"]), "Cancelled · Still alive");
    assert_eq!(listed(&["attention", "--json"]), "Cancelled · Still alive");
    let doctor = shelf.run(&["doctor"]).stdout;
    assert!(
        doctor.contains(&format!("1 ended in the log, and processes of them are alive: {id}")),
        "{doctor}"
    );
    fs::write(&go_on, "").unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(child.wait().ok().and_then(|status| status.code()), Some(3), "the command's own code");
    let after = view(&shelf, id);
    assert_eq!(shown(&after)[..2], ["ok", "Cancelled"], "{after}");
    let later = &after["facts"]["later_end"];
    assert_eq!((&later["state"], &later["exit_code"]), (&json!("failed"), &json!(3)), "{after}");
    assert_eq!(judged(&after), "run.health.later_end");
}

#[test]
fn an_exit_that_was_read_is_the_end_though_the_supervisor_died() {
    for (code, state, words) in [(0, "completed", "exited with 0"), (3, "failed", "exited with 3")] {
        let shelf = Shelf::empty();
        let id = detached(&shelf, &["--", "sleep", "60"]);
        let here = running(&shelf, &id);
        let exited = Facts::none().with("code", code).with("elapsed_s", 1_i64);
        let data = Facts::none()
            .with("exited", Value::Map(exited))
            .with("phase", "draining")
            .with("phase_since", "2026-01-01T00:00:00Z");
        let of_run = id.parse().unwrap_or_else(|error| panic!("{id}: {error}"));
        record(&shelf.ledger(), of_run, 0, Order::Observe(Observe { reasons: vec![], data }));
        assert_eq!(shown(&view(&shelf, &id))[1..], ["Running · Draining", "draining"]);
        send("KILL", supervisor(&here));
        until("the death", || (shown(&view(&shelf, &id))[0] == "process_dead").then_some(()));
        shelf.well(&["reap"]);
        let ended = view(&shelf, &id);
        assert_eq!((&ended["state"]["lifecycle"], &ended["exit"]["code"]), (&json!(state), &json!(code)));
        let reason = ended["state"]["reasons"][0].to_string();
        assert!(reason.contains(words) && reason.contains("read by its supervisor"), "{reason}");
        assert_eq!(shelf.run(&["wait", &id]).code, i32::try_from(code).ok());
    }
}
