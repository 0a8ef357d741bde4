//! The reaper on the real binary: who is ended, for which reason, and who is never touched.

use std::os::unix::process::CommandExt;
use std::process::Command;

use callboard_kernel::{Facts, Value};
use callboard_lifecycle::session::SessionState;
use callboard_supervisor::process::{self, Identity};
use serde_json::json;

use crate::harness::runs::{begin, carriers, detached, only, reason, send, supervisor, until, view};
use crate::harness::shelf::{Shelf, at, begin as create, record, session, text};

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
    recorded_as(shelf, number, second, data)
}

/// A run with these facts.
fn recorded_as(shelf: &Shelf, number: u64, second: i64, data: Facts) -> String {
    record(&shelf.ledger(), session(number), second, create(SessionState::Pending, data));
    session(number).to_string()
}

fn this() -> Identity {
    process::this().unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn another_host_keeps_its_runs_as_long_as_its_lease() {
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
    let lapsed = view(&shelf, &lapsed);
    assert_eq!(reason(&lapsed), "system.health.lease_expired");
    // Nobody has looked for its processes.
    assert_eq!(lapsed["facts"]["leftovers"], json!(null), "{lapsed}");
    assert_eq!(lapsed["state"]["health"], "unknown", "{lapsed}");
    assert!(lapsed["state"]["reasons"].to_string().contains("whether one is alive is unknown"), "{lapsed}");
}

/// It leaves its control group, clears its environment and kills its supervisor; its pid and its start time are recorded.
#[test]
fn an_agent_that_leaves_its_control_group_and_kills_its_supervisor_is_ended_and_not_only_called_so() {
    let shelf = Shelf::empty();
    let script = "for procs in /sys/fs/cgroup/unified/cgroup.procs /sys/fs/cgroup/cgroup.procs; do \
                  [ -e $procs ] && echo $$ 2>/dev/null > $procs; done; \
                  exec setpriv --pdeathsig clear env -i sh -c \"kill -9 $PPID; exec env -i sleep 600\"";
    let id = crate::harness::runs::detached(&shelf, &["--", "sh", "-c", script]);
    let seen = until("the death", || {
        Some(view(&shelf, &id)).filter(|view| view["chain"] == "Running · Unsupervised (1 alive)")
    });
    let pid = seen["pid"].as_u64().unwrap_or_else(|| panic!("{seen}"));
    let reaped = shelf.json(&["reap", "--json"]);
    assert_eq!(reaped["items"][0]["processes_ended"], 1, "{reaped}");
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    let is_alive = stat.is_ok_and(|stat| !stat.contains(") Z"));
    if is_alive {
        send("KILL", pid);
    }
    let ended = view(&shelf, &id);
    assert!(!is_alive, "{ended}");
    assert_eq!((&ended["facts"]["leftovers"], &ended["state"]["lifecycle"]), (&json!(0), &json!("aborted")));
    assert_eq!(ended["chain"], "Aborted", "{ended}");
}

#[test]
fn who_has_the_pid_of_a_dead_supervisor_is_not_taken_for_it() {
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
fn a_clock_that_was_set_back_keeps_nobody_who_is_dead() {
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
fn a_killed_supervisor_is_seen_at_once_and_what_it_left_is_ended() {
    let shelf = Shelf::empty();
    let token = format!("callboard-test-{}-b09", std::process::id());
    let script =
        "(trap '' TERM; setsid sh -c 'while :; do sleep 0.1; done' </dev/null >/dev/null 2>&1 &); sleep 60";
    let mut command = shelf.command(&["run", "--detach", "--", "sh", "-c", script]);
    let started = crate::harness::driver::finish(command.env("TOKEN_OF_THE_TEST", &token)).well();
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
fn what_a_check_left_is_ended_when_the_supervisor_was_killed() {
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
    let view = only(&shelf);
    assert_eq!(reason(&view), "system.health.process_dead_no_terminal");
    // The command had exited with 0, and whether its contract was kept is not known.
    assert_eq!(
        (&view["state"]["lifecycle"], &view["state"]["delivery"]),
        (&json!("aborted"), &json!("unknown"))
    );
    assert_eq!(carriers(&token), [] as [u32; 0]);
}

/// What is recorded of a run is data: whoever ends it must not execute it, least of all root for somebody else.
#[test]
fn a_reaper_runs_no_recorded_program_and_says_what_it_did_not_check() {
    let shelf = Shelf::empty();
    let canary = shelf.file("canary");
    let contract = format!(
        "artifacts:\n  - path: out.txt\n  - id: tests\n    command: [touch, {}]\n  - {{id: change, git_diff: true}}\n",
        text(&canary)
    );
    std::fs::write(shelf.file("contract.yaml"), contract).unwrap();
    let inited = Command::new("git").args(["init", "-q"]).current_dir(shelf.file("")).status();
    assert!(inited.is_ok_and(|status| status.success()));
    let ready = shelf.file("ready");
    let script = "echo done > out.txt; : > $0; sleep 60";
    let arguments = ["run", "--contract", "contract.yaml", "--", "sh", "-c", script, text(&ready)];
    let mut child = begin(shelf.command(&arguments).current_dir(shelf.file("")));
    until("the command", || ready.exists().then_some(()));
    child.kill().unwrap();
    child.wait().unwrap();
    shelf.well(&["reap"]);
    let view = only(&shelf);
    assert!(!canary.exists(), "{view}");
    assert_eq!(
        (&view["state"]["lifecycle"], &view["state"]["delivery"]),
        (&json!("aborted"), &json!("unknown"))
    );
    let view = crate::harness::runs::view(&shelf, view["id"].as_str().unwrap_or_default());
    assert_eq!(view["facts"]["delivery_detail"], "tests and 1 more not checked", "{view}");
    let verification = &view["artifacts"]["verification"];
    assert_eq!(verification["produced"], json!(["out-txt"]), "{view}");
    assert_eq!(verification["unknown"], json!(["tests", "change"]), "{view}");
    assert!(verification["items"][1]["because"].to_string().contains("a reaper runs no programs"), "{view}");
}

#[test]
fn a_run_of_another_user_is_neither_reaped_nor_stopped() {
    let shelf = Shelf::empty();
    let mut command = Command::new("sleep");
    let mut sleeper = begin(command.arg("60"));
    let own = i64::from(rustix::process::geteuid().as_raw());
    let with_uid = |identity: &Identity, uid: i64| {
        let process = Facts::none()
            .with("pid", i64::from(identity.pid))
            .with("started_ticks", i64::try_from(identity.started_ticks).unwrap_or(0));
        Facts::none()
            .with("host", identity.host.as_str())
            .with("boot", identity.boot.as_str())
            .with("supervisor", Value::Map(process))
            .with("uid", uid)
    };
    let dead = Identity { started_ticks: 1, ..this() };
    let theirs = recorded_as(&shelf, 1, 0, with_uid(&dead, own + 1));
    let ours = recorded_as(&shelf, 2, 0, with_uid(&dead, own));
    let reaped = shelf.json(&["reap", "--json"]);
    assert_eq!(reaped["ended"], 1, "{reaped}");
    let items = reaped["items"].as_array().map_or(&[][..], Vec::as_slice);
    let left = items.iter().find(|item| item["id"] == theirs.as_str()).unwrap_or_else(|| panic!("{reaped}"));
    assert!(left["because"].to_string().contains(&format!("belongs to uid {}", own + 1)), "{reaped}");
    assert_eq!(view(&shelf, &theirs)["state"]["lifecycle"], "pending");
    assert_eq!(reason(&view(&shelf, &ours)), "system.health.orphaned");

    let living = process::of(sleeper.id()).ok().flatten().unwrap_or_else(|| panic!("no sleeper"));
    let named = recorded_as(&shelf, 3, 0, with_uid(&living, own + 1));
    let told = shelf.well(&["stop", "--no-wait", &named]);
    assert!(told.contains("belongs to another user"), "{told}");
    assert!(sleeper.try_wait().is_ok_and(|ended| ended.is_none()), "it was signalled");
    sleeper.kill().and_then(|()| sleeper.wait()).unwrap();
}

/// A record may name any process, also one of another user.
#[test]
fn a_process_of_another_user_is_not_signalled_whatever_the_record_says() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("left out: only root can start a process of another user");
        return;
    }
    let shelf = Shelf::empty();
    let mut sleeper = begin(Command::new("sleep").arg("60").uid(65_534));
    let living = process::of(sleeper.id()).ok().flatten().unwrap_or_else(|| panic!("no sleeper"));
    let named = recorded(&shelf, 1, 0, &living, None);
    let told = shelf.well(&["stop", "--no-wait", &named]);
    assert!(told.contains("belongs to another user"), "{told}");
    assert!(sleeper.try_wait().is_ok_and(|ended| ended.is_none()), "it was signalled");
    sleeper.kill().and_then(|()| sleeper.wait()).unwrap();
}
