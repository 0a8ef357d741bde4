//! A supervisor that stands still: what happened meanwhile is read before any clock is believed, and the time is nobody's.

use std::process::Child;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::harness::runs::{begin, only, read_until, reason, send, until};
use crate::harness::shelf::Shelf;

/// A run whose command has said that it is there.
struct Run {
    shelf: Shelf,
    child: Child,
    begun: Instant,
}

impl Run {
    /// Starts `sh -c SCRIPT` with these options.
    fn start(options: &[&str], script: &str) -> Self {
        let shelf = Shelf::empty();
        let script = format!("echo there; {script}");
        let arguments = [&["run"], options, &["--", "sh", "-c", &script]].concat();
        let mut command = shelf.command(&arguments);
        let mut child = begin(command.current_dir(shelf.file("")));
        let begun = Instant::now();
        read_until(&mut child.stdout.as_mut().unwrap_or_else(|| panic!("stdout is piped")), "there");
        Self { shelf, child, begun }
    }

    /// Stops the supervisor until this much of the run has gone by and something is so.
    fn freeze(&self, until_age: Duration, mut is_so: impl FnMut() -> bool) {
        let pid = u64::from(self.child.id());
        send("STOP", pid);
        until("the event in the gap", || (is_so() && self.begun.elapsed() > until_age).then_some(()));
        send("CONT", pid);
    }

    /// Waits for the end: the exit code, and the run as it is shown.
    fn end(self) -> (Option<i32>, Value) {
        let output = self.child.wait_with_output().unwrap_or_else(|error| panic!("{error}"));
        (output.status.code(), only(&self.shelf))
    }
}

/// The pid of the command, once it is recorded.
fn command_of(run: &Run) -> u64 {
    until("the record of the start", || only(&run.shelf)["pid"].as_u64())
}

/// The state of a process in the table, if it is there.
fn state_of(pid: u64) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

fn seconds(view: &Value, name: &str) -> f64 {
    let found = view["facts"][name].as_f64().or_else(|| view["timeout"][name].as_f64());
    found.unwrap_or_else(|| panic!("{name}: {view}"))
}

#[test]
fn a_command_that_exited_before_its_bound_while_nobody_looked_is_not_timed_out() {
    let run = Run::start(&["--timeout", "2s"], "sleep 0.5; exit 0");
    let command = command_of(&run);
    run.freeze(Duration::from_secs(3), || state_of(command) == Some('Z'));
    let (code, view) = run.end();
    assert_eq!((code, reason(&view)), (Some(0), "run.completed.ok"), "{}", view["state"]);
    assert!(seconds(&view, "elapsed_s") < 2.0, "{}", view["facts"]);
    assert!(seconds(&view, "suspended_s") > 1.0, "{}", view["facts"]);
    let evidence = view["state"]["reasons"][0]["evidence"].to_string();
    assert!(evidence.contains("in which its supervisor did not run"), "{evidence}");
}

#[test]
fn a_command_that_failed_while_nobody_looked_failed_with_its_own_code() {
    let run = Run::start(&["--timeout", "2s", "--idle-timeout", "1s"], "sleep 0.2; exit 7");
    let command = command_of(&run);
    run.freeze(Duration::from_secs(3), || state_of(command) == Some('Z'));
    let (code, view) = run.end();
    assert_eq!((code, reason(&view)), (Some(7), "run.failed.exit_nonzero"), "{}", view["state"]);
}

#[test]
fn a_command_that_wrote_all_the_time_is_not_silent() {
    let script = "while [ ! -e enough ]; do echo x; sleep 0.05; done";
    let run = Run::start(&["--idle-timeout", "3s"], script);
    run.freeze(Duration::from_secs(5), || true);
    std::fs::write(run.shelf.file("enough"), "").unwrap_or_else(|error| panic!("{error}"));
    let (code, view) = run.end();
    assert_eq!((code, reason(&view)), (Some(0), "run.completed.ok"), "{}", view["state"]);
}

#[test]
fn the_sleep_of_a_laptop_is_counted_on_no_clock() {
    let run = Run::start(&["--timeout", "3s", "--idle-timeout", "3s"], "mkfifo gate; read x < gate; exit 0");
    // Everybody stands still, as on a suspended host.
    let command = command_of(&run);
    until("the gate", || run.shelf.file("gate").exists().then_some(()));
    send("STOP", command);
    run.freeze(Duration::from_secs(6), || true);
    send("CONT", command);
    std::fs::write(run.shelf.file("gate"), "go\n").unwrap_or_else(|error| panic!("{error}"));
    let (code, view) = run.end();
    assert_eq!((code, reason(&view)), (Some(0), "run.completed.ok"), "{}", view["state"]);
    assert!(seconds(&view, "elapsed_s") < 3.0, "{}", view["facts"]);
}

#[test]
fn a_bound_that_is_reached_after_a_gap_is_reached() {
    let run = Run::start(&["--timeout", "1s", "--grace", "5s"], "exec sleep 60");
    run.freeze(Duration::from_secs(3), || true);
    let (code, view) = run.end();
    assert_eq!((code, reason(&view)), (Some(124), "run.timed_out.deadline"), "{}", view["state"]);
    assert!(seconds(&view, "suspended_s") > 1.0, "{}", view["facts"]);
}
