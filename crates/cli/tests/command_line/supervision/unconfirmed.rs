//! A stop that cannot be carried out: a process of another user stays, and every word says so.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::Value;

use crate::harness::runs::{CALLBOARD, begin, only, until};
use crate::harness::shelf::{Shelf, text};

const NOBODY: [&str; 3] = ["--reuid=65534", "--regid=65534", "--clear-groups"];

/// Ends a process that the test has left behind, also if it fails.
struct Leftover(u64);

impl Drop for Leftover {
    fn drop(&mut self) {
        drop(Command::new("kill").args(["-KILL", &self.0.to_string()]).status());
    }
}

#[test]
fn a_stop_that_another_users_process_survives_is_not_plainly_cancelled() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can make a process that its starter may not signal");
        return;
    }
    let shelf = Shelf::empty();
    let allow = |path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
            .unwrap_or_else(|error| panic!("{error}"));
    };
    allow(shelf.file(""), 0o777);
    // A program of root's that anybody may start and nobody else may signal.
    let helper = shelf.file("asroot");
    std::fs::copy("/usr/bin/setpriv", &helper).unwrap_or_else(|error| panic!("{error}"));
    allow(helper.clone(), 0o4755);
    let command_line = [text(&helper), "--reuid=0", "--regid=0", "--clear-groups", "sleep", "600"];
    let mut command = Command::new("setpriv");
    command
        .args(NOBODY)
        .args([CALLBOARD, "run", "--allow-privileges", "--grace", "200ms", "--"])
        .args(command_line);
    command
        .env("CALLBOARD_STORE", shelf.path())
        .env_remove("CALLBOARD_RUN")
        .stdin(std::process::Stdio::null());
    let child = begin(command.current_dir(shelf.file("")));
    let runs_as_root = |pid: u64| {
        let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        (name == "sleep\n").then_some(pid)
    };
    let pid =
        until("the process of root's", || only_if_there(&shelf)?["pid"].as_u64().and_then(runs_as_root));
    let leftover = Leftover(pid);
    let stopped = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
    assert!(stopped.is_ok_and(|status| status.success()));
    let output = child.wait_with_output().unwrap_or_else(|error| panic!("{error}"));
    let view = only(&shelf);
    assert_eq!(view["state"]["lifecycle"], "cancelled", "{}", view["state"]);
    assert_eq!(
        (&view["facts"]["leftovers"], &view["facts"]["survivors"][0]["pid"]),
        (&1.into(), &pid.into())
    );
    assert_eq!(view["facts"]["survivors"][0]["refused"], true, "{}", view["facts"]);
    let codes: Vec<&str> = reasons(&view).filter_map(|reason| reason["code"].as_str()).collect();
    assert!(codes.contains(&"run.health.kill_unconfirmed"), "{codes:?}");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("kill unconfirmed"), "{told}");
    drop(leftover);
}

fn reasons(view: &Value) -> impl Iterator<Item = &Value> {
    view["state"]["reasons"].as_array().into_iter().flatten()
}

/// The one run, once the store is there. Asked by the user whose store it is: one that root opened first could not be written by others.
fn only_if_there(shelf: &Shelf) -> Option<Value> {
    let mut command = Command::new("setpriv");
    command.args(NOBODY).args([CALLBOARD, "ps", "session", "--all", "--json"]);
    command.env("CALLBOARD_STORE", shelf.path()).current_dir(shelf.file(""));
    let output = command.output().unwrap_or_else(|error| panic!("{error}"));
    let items: Value = serde_json::from_slice(&output.stdout).ok()?;
    items["items"].as_array()?.first().cloned()
}
