//! Programs whose terminals share a daemon: a run gets its own, and what it has done elsewhere is told.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::harness::shelf::{Shelf, text};

fn sure<T, E: std::fmt::Display>(done: Result<T, E>) -> T {
    done.unwrap_or_else(|error| panic!("{error}"))
}

/// Runs a program called `codex` that prints its arguments, in this home; what it printed, its view and `why`.
fn codex(shelf: &Shelf, arguments: &[&str]) -> (String, Value, String) {
    let program = shelf.file("codex");
    sure(fs::write(&program, "#!/bin/sh\necho \"$*\"\n"));
    sure(fs::set_permissions(&program, fs::Permissions::from_mode(0o755)));
    let mut command = shelf.command(&[&["run", "--title", "it", "--", text(&program)], arguments].concat());
    let output = sure(command.env("CODEX_HOME", shelf.file("home")).output());
    let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let view = shelf.json(&["ps", "--all", "--json"])["items"][0].clone();
    let why = shelf.well(&["why", view["id"].as_str().unwrap_or_default()]);
    (said, view, why)
}

#[test]
fn a_terminal_starts_no_daemon_and_uses_none() {
    let shelf = Shelf::empty();
    let (said, view, _) = codex(&shelf, &["fix it"]);
    assert_eq!(said, "-c features.daemon_auto_start=false fix it");
    assert_eq!(view["facts"]["added_arguments"], json!(["-c", "features.daemon_auto_start=false"]));
    assert_eq!(view["facts"]["shared"], Value::Null);
    sure(fs::create_dir_all(shelf.file("home/app-server-daemon")));
    let (said, view, why) = codex(&shelf, &["resume", "--last"]);
    assert_eq!(said, "resume --no-daemon --last");
    assert_eq!(view["facts"]["added_arguments"], json!(["--no-daemon"]));
    assert!(!why.contains("outside of this run"), "{why}");
}

#[test]
fn work_in_a_server_outside_of_the_run_is_told() {
    let shelf = Shelf::empty();
    let (said, view, why) = codex(&shelf, &["--remote", "ws://127.0.0.1:9", "fix it"]);
    assert_eq!(said, "--remote ws://127.0.0.1:9 fix it", "nothing is added");
    assert_eq!(view["facts"]["shared"], json!({"server": "ws://127.0.0.1:9", "pid": null}));
    let told = "the shared server ws://127.0.0.1:9 is outside of this run";
    assert_eq!(why.matches(told).count(), 2, "at the start and at the end: {why}");
    // The daemon of the home; here it is this test.
    let this = sure(callboard_supervisor::process::this());
    let daemon = json!({"pid": this.pid, "processIdentity": {"startTicks": this.started_ticks}});
    sure(fs::create_dir_all(shelf.file("home/app-server-daemon")));
    sure(fs::write(shelf.file("home/app-server-daemon/daemon.pid"), daemon.to_string()));
    let (_, view, why) = codex(&shelf, &["agents"]);
    assert_eq!(view["facts"]["shared"]["pid"], this.pid, "{view}");
    assert!(why.contains(&format!("app-server-control.sock (pid {})", this.pid)), "{why}");
}
