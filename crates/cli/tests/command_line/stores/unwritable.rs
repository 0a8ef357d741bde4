//! A store that fails while a run is under way: the exit code is the command's, the end is kept and recorded when the store
//! is back, and nobody else can keep one.

use std::process::Command;

use serde_json::{Value, json};

use crate::harness::driver::{command, finish};
use crate::harness::runs::{CALLBOARD, detached, until, view};
use crate::harness::shelf::{Shelf, text};

/// The run that the store holds alone.
fn only(shelf: &Shelf) -> Value {
    let listed = shelf.json(&["ps", "--all", "--json"]);
    let items = listed["items"].as_array().cloned().unwrap_or_default();
    assert_eq!(items.len(), 1, "{listed}");
    items[0].clone()
}

/// The record that ended a run.
fn end_of(shelf: &Shelf, id: &str) -> Value {
    let text = shelf.well(&["events", "--json"]);
    let parsed =
        |line: &str| serde_json::from_str::<Value>(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    let mut ends = text
        .lines()
        .map(parsed)
        .filter(|record| record["entity"]["id"] == id && record["type"] == "transitioned");
    ends.next_back().unwrap_or_else(|| panic!("no end: {text}"))
}

#[track_caller]
fn is_kept_end(shelf: &Shelf, id: &str) {
    let end = end_of(shelf, id);
    assert_eq!(end["actor"]["type"], "system", "{end}");
    let shown = end["reasons"][0]["evidence"].to_string();
    assert!(shown.contains("kept beside the output by its supervisor since"), "{end}");
    assert!(!shelf.file("runs").join(id).join("end").exists(), "it is recorded, so nothing is kept");
    assert_eq!(shelf.json(&["verify", "--json"])["ok"], true);
}

/// Every end that a script leads to, with its options, its exit code and the state it is recorded as.
const ENDS: [(&[&str], &str, i32, &str); 4] = [
    (&[], "exit 0", 0, "completed"),
    (&[], "exit 7", 7, "failed"),
    (&["--timeout", "200ms"], "exec sleep 60", 124, "timed_out"),
    (&["--expect", "nothing.md"], "exit 0", 1, "failed"),
];

#[test]
fn a_store_that_is_moved_away_and_back_learns_every_end_and_the_exit_code_is_the_commands() {
    for (options, script, code, state) in ENDS {
        let shelf = Shelf::empty();
        let (store, away) = (shelf.path(), shelf.file("away.db"));
        let script = format!("mv {} {}; {script}", text(&store), text(&away));
        let words = [&["run"], options, &["--", "sh", "-c", &script]].concat();
        let ran = shelf.run(&words);
        assert_eq!(ran.code, Some(code), "{}", ran.stderr);
        assert!(ran.stderr.contains("its end is not recorded; it is kept in"), "{}", ran.stderr);
        assert!(!store.exists(), "another store was made");
        std::fs::rename(&away, &store).unwrap();
        let run = only(&shelf);
        assert_eq!(
            (&run["state"]["lifecycle"], &run["state"]["health"]),
            (&json!(state), &json!("ok")),
            "{run}"
        );
        is_kept_end(&shelf, run["id"].as_str().unwrap());
    }
}

#[test]
fn an_end_that_was_kept_is_recorded_by_the_reaper_and_waited_for() {
    for verb in ["reap", "wait"] {
        let shelf = Shelf::empty();
        let (store, away) = (shelf.path(), shelf.file("away.db"));
        let gate = shelf.file("gate");
        let script = format!("until [ -e {} ]; do sleep 0.02; done; exit 3", text(&gate));
        let id = detached(&shelf, &["--", "sh", "-c", &script]);
        let supervisor = view(&shelf, &id)["facts"]["supervisor"]["pid"].as_i64().unwrap();
        std::fs::rename(&store, &away).unwrap();
        std::fs::write(&gate, "").unwrap();
        until("the end of the supervisor", || {
            let stat = std::fs::read_to_string(format!("/proc/{supervisor}/stat")).ok();
            stat.is_none_or(|stat| stat.contains(") Z ")).then_some(())
        });
        assert!(!store.exists(), "another store was made");
        std::fs::rename(&away, &store).unwrap();
        let ran = if verb == "wait" { shelf.run(&["wait", &id]) } else { shelf.run(&["reap", "--json"]) };
        assert_eq!(ran.code, Some(if verb == "wait" { 3 } else { 0 }), "{} {}", ran.stdout, ran.stderr);
        assert_eq!(view(&shelf, &id)["state"]["lifecycle"], "failed");
        is_kept_end(&shelf, &id);
    }
}

#[test]
fn an_end_that_somebody_else_put_there_is_ignored_and_that_is_said() {
    let shelf = Shelf::empty();
    let id = detached(&shelf, &["--", "sleep", "60"]);
    let supervisor = view(&shelf, &id)["facts"]["supervisor"]["pid"].as_i64().unwrap();
    let body = json!({"run": id, "kept_at": "2026-01-01T00:00:00Z", "because": "none", "moves": [{
        "key": "end", "to": "completed", "trigger": "exited_clean", "data": {},
        "reasons": [{"code": "run.completed.ok", "message": "exited with 0"}],
    }]});
    let forged = json!({"body": body.to_string(), "signature": "ab".repeat(64)});
    std::fs::write(shelf.file("runs").join(&id).join("end"), forged.to_string()).unwrap();
    let pid = rustix::process::Pid::from_raw(i32::try_from(supervisor).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    until("a dead supervisor", || (view(&shelf, &id)["state"]["health"] == "process_dead").then_some(()));
    shelf.well(&["reap"]);
    let end = end_of(&shelf, &id);
    assert_eq!((&end["to"], &end["actor"]["type"]), (&json!("aborted"), &json!("system")), "{end}");
    assert!(end.to_string().contains("is not signed by its supervisor and was ignored"), "{end}");
}

/// Runs a script as root of a mount namespace of its own; nothing where that is not allowed.
fn in_own_mounts(script: &str, shelf: &Shelf) -> Option<crate::harness::driver::Ran> {
    let mut probe = Command::new("unshare");
    if !probe
        .args(["-m", "mount", "-t", "tmpfs", "none", "/mnt"])
        .output()
        .is_ok_and(|ran| ran.status.success())
    {
        println!("skipped: this host allows no mounts in a namespace of its own");
        return None;
    }
    let mut own = command(&[]);
    let mut ran = Command::new("unshare");
    ran.args(["-m", "sh", "-euc", script]).env("C", CALLBOARD).env("D", shelf.file("disk"));
    for (name, value) in own.stdin(std::process::Stdio::null()).get_envs() {
        match value {
            Some(value) => ran.env(name, value),
            None => ran.env_remove(name),
        };
    }
    ran.env("CALLBOARD_STORE", shelf.file("disk").join("store.db"));
    Some(finish(&mut ran))
}

#[test]
fn a_disk_that_is_full_or_read_only_at_the_end_changes_no_exit_code_and_loses_no_end() {
    let deeds = [
        ("dd if=/dev/zero of=$D/fill bs=4k 2>/dev/null", "rm $D/fill"),
        ("mount -t tmpfs -o ro none $D", "umount $D"),
    ];
    for (deed, undo) in deeds {
        let shelf = Shelf::empty();
        let script = format!(
            "mkdir $D; mount -t tmpfs -o size=4m none $D; code=0
             $C run -- sh -c '{deed}; exit 7' || code=$?
             {undo}; echo $code; $C ps --all --json; $C events --json; $C verify; ls $D/runs/*"
        );
        let Some(ran) = in_own_mounts(&script, &shelf) else { return };
        assert!(ran.stdout.starts_with("7\n"), "{deed}: {} {}", ran.stdout, ran.stderr);
        assert!(ran.stderr.contains("its end is not recorded; it is kept in"), "{deed}: {}", ran.stderr);
        assert!(ran.stdout.contains("\"lifecycle\": \"failed\""), "{deed}: {}", ran.stdout);
        assert!(
            ran.stdout.contains("kept beside the output by its supervisor since"),
            "{deed}: {}",
            ran.stdout
        );
        assert!(!ran.stdout.contains("wrote no end"), "{deed}: {}", ran.stdout);
    }
}

#[test]
fn a_report_that_cannot_be_written_is_said_before_anything_is_started() {
    let shelf = Shelf::empty();
    let (begun, dir) = (shelf.file("begun"), shelf.file("dir"));
    std::fs::create_dir(&dir).unwrap();
    for report in [shelf.file("none/report.json"), dir] {
        let ran = shelf.run(&["run", "--report", text(&report), "--", "touch", text(&begun)]);
        assert_eq!(ran.code, Some(1), "{}", ran.stderr);
        assert!(ran.stderr.contains("cannot be written") && !begun.exists(), "{}", ran.stderr);
        assert!(!shelf.path().exists(), "something was recorded");
    }
    // What is there stays until it is replaced.
    let report = shelf.file("report.json");
    std::fs::write(&report, "before").unwrap();
    let script = format!("grep -q before {} && exit 5", text(&report));
    let ran = shelf.run(&["run", "--report", text(&report), "--", "sh", "-c", &script]);
    assert_eq!(ran.code, Some(5), "{}", ran.stderr);
    let told: Value = serde_json::from_slice(&std::fs::read(&report).unwrap()).unwrap();
    assert_eq!(told["state"]["lifecycle"], "failed");
}
