//! What follows the exit of a command: a reader that is slow, gone or full, and the check of its artifacts.

use std::fs::File;
use std::io::Read;

use serde_json::{Value, json};

use crate::harness::runs::{begin, only, reason, titled, until};
use crate::harness::shelf::{Shelf, text};

/// What its evidence says, in one text.
fn evidence(view: &Value) -> String {
    view["state"]["reasons"][0]["evidence"].to_string()
}

/// The run, once it is in this phase.
fn in_phase(shelf: &Shelf, title: &str, phase: &str) -> Value {
    until(phase, || titled(shelf, title).filter(|view| view["facts"]["phase"] == phase))
}

#[test]
fn a_reader_that_leaves_ends_the_command_as_sigpipe_would() {
    let shelf = Shelf::empty();
    let mut child = begin(&mut shelf.command(&["run", "--", "yes"]));
    let mut first = [0; 4];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let output = child.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((&first, output.status.code()), (b"y\ny\n", Some(141)), "{told}");
    assert!(told.contains("the reader of its output went away"), "{told}");
    let view = only(&shelf);
    assert_eq!(reason(&view), "run.failed.closed_output");
    let id = view["id"].as_str().unwrap();
    assert!(shelf.well(&["logs", id]).starts_with("y\ny\n"), "what came before is kept");
}

#[test]
fn a_reader_that_leaves_is_told_to_a_command_that_has_not_written_since() {
    let shelf = Shelf::empty();
    let script = "echo there; trap 'exit 9' PIPE; while sleep 0.02; do [ -e go ] && echo more; done";
    let mut command = shelf.command(&["run", "--", "sh", "-c", script]);
    let mut child = begin(command.current_dir(shelf.file("")));
    let mut first = [0; 6];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    // The first write after the reader has left is the one that fails.
    std::fs::write(shelf.file("go"), "").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(9), "{}", String::from_utf8_lossy(&output.stderr));
    let view = only(&shelf);
    assert_eq!(view["facts"]["output"]["reader_closed"], json!(true));
    assert!(evidence(&view).contains("the reader of its output went away"), "{view}");
}

#[test]
fn output_that_could_not_be_passed_on_is_no_success() {
    let shelf = Shelf::empty();
    let full = || File::options().write(true).open("/dev/full").unwrap();
    let mut command = shelf.command(&["run", "--", "sh", "-c", "echo hello"]);
    let output = command.stdout(full()).stderr(std::process::Stdio::piped()).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{told}");
    let said = "6 bytes of its output could not be passed on: No space left on device";
    assert!(told.contains(said), "{told}");
    let view = only(&shelf);
    assert_eq!((reason(&view), &view["exit"]["code"]), ("run.failed.output_refused", &json!(0)));
    assert_eq!(shelf.well(&["logs", view["id"].as_str().unwrap()]), "hello\n", "it is kept");

    let mut command = shelf.command(&["run", "--title", "own", "--", "sh", "-c", "echo hello; exit 3"]);
    let output = command.stdout(full()).stderr(std::process::Stdio::piped()).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "the command's own code stays");
    let view = titled(&shelf, "own").unwrap();
    assert_eq!(reason(&view), "run.failed.exit_nonzero");
    assert!(evidence(&view).contains(said), "{view}");
}

#[test]
fn an_exit_is_recorded_while_a_slow_reader_is_waited_for_and_a_stop_passes_it_on() {
    let shelf = Shelf::empty();
    let script = "head -c 3000000 /dev/zero; exit 7";
    let child = begin(&mut shelf.command(&["run", "--title", "slow", "--", "sh", "-c", script]));
    let view = in_phase(&shelf, "slow", "draining");
    assert_eq!(
        (&view["state"]["lifecycle"], &view["facts"]["exited"]["code"]),
        (&json!("running"), &json!(7))
    );
    shelf.well(&["stop", view["id"].as_str().unwrap()]);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(7), "{}", String::from_utf8_lossy(&output.stderr));
    let view = only(&shelf);
    assert_eq!((reason(&view), &view["exit"]["code"]), ("run.failed.exit_nonzero", &json!(7)));
    assert!(evidence(&view).contains("not passed on, because a stop was asked for"), "{view}");
}

#[test]
fn what_is_wished_for_while_the_reader_is_slow_did_not_end_the_command() {
    let shelf = Shelf::empty();
    let script = "head -c 3000000 /dev/zero; kill -KILL $$";
    let child = begin(&mut shelf.command(&["run", "--title", "killed", "--", "sh", "-c", script]));
    let view = in_phase(&shelf, "killed", "draining");
    assert_eq!(view["facts"]["exited"]["signal"], json!(9));
    shelf.well(&["stop", view["id"].as_str().unwrap()]);
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(137));
    assert_eq!(reason(&only(&shelf)), "run.failed.signal");
}

#[test]
fn a_check_is_a_phase_that_a_stop_ends_without_a_verdict() {
    let shelf = Shelf::empty();
    std::fs::write(
        shelf.file("contract.yaml"),
        "artifacts: [{id: slow, command: [sleep, '600'], timeout_s: 900}]",
    )
    .unwrap();
    let contract = shelf.file("contract.yaml");
    let run = |title: &str, script: &str| {
        let words = ["run", "--title", title, "--contract", text(&contract), "--", "sh", "-c", script];
        let child = begin(&mut shelf.command(&words));
        let view = in_phase(&shelf, title, "checking");
        shelf.well(&["stop", view["id"].as_str().unwrap()]);
        let output = child.wait_with_output().unwrap();
        (view, output, titled(&shelf, title).unwrap())
    };
    let (before, output, after) = run("clean", "true");
    assert_eq!(
        (&before["state"]["lifecycle"], &before["facts"]["exited"]["code"]),
        (&json!("running"), &json!(0))
    );
    assert_eq!(output.status.code(), Some(143), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!((reason(&after), &after["state"]["delivery"]), ("run.cancelled.operator", &json!("unknown")));
    assert!(String::from_utf8_lossy(&output.stderr).contains("while its artifacts were checked"));

    let (_, output, after) = run("dirty", "exit 3");
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!((reason(&after), &after["state"]["delivery"]), ("run.failed.exit_nonzero", &json!("unknown")));
}

#[test]
fn last_weeks_file_is_not_what_this_run_delivered() {
    let shelf = Shelf::empty();
    std::fs::write(shelf.file("review.md"), "last week's words").unwrap();
    let run = |expected: &str, script: &str| {
        let words = ["run", "--title", expected, "--expect", expected, "--", "sh", "-c", script];
        let output = shelf.command(&words).current_dir(shelf.file("")).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, told) = run("review.md", "echo wrote it");
    assert!(code == Some(1) && told.contains("Failed · review.md not written by this run"), "{told}");
    let view = titled(&shelf, "review.md").unwrap();
    assert_eq!(reason(&view), "run.failed.missing_artifact");
    assert!(evidence(&view).contains("is there, unchanged since before the run"), "{view}");
    assert_eq!(run("review.md:existing", "true").0, Some(0));
    assert_eq!(run("./review.md", "echo words > review.md").0, Some(0));
}
