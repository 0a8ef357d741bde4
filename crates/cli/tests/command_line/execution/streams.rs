//! What passes through a run: every byte, whatever the other side does.

use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

use serde_json::json;

use crate::harness::runs::{CALLBOARD, begin, detached, only, read_until, reason, supervisor, until, view};
use crate::harness::shelf::{Shelf, text};

/// Bytes without a pattern, the same every time.
fn noise(count: usize) -> Vec<u8> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..count).map(|_| next()).collect()
}

#[test]
fn every_byte_of_argv_stdin_and_stdout_passes_as_it_is() {
    let shelf = Shelf::empty();
    let bytes = noise(1 << 20);
    std::fs::write(shelf.file("input"), &bytes).unwrap();
    let input = std::fs::File::open(shelf.file("input")).unwrap();
    let output = shelf.command(&["run", "--quiet", "--", "cat"]).stdin(input).output().unwrap();
    assert!(output.stdout == bytes && output.stderr.is_empty() && output.status.success());

    let odd = OsStr::from_bytes(b"a\n\xff\xfe \"b");
    let mut command = shelf.command(&["run", "--quiet", "--", "printf", "%s"]);
    assert_eq!(command.arg(odd).output().unwrap().stdout, odd.as_bytes());
    shelf.well(&["verify"]);
}

#[test]
fn a_child_that_closes_its_output_and_lives_has_not_ended() {
    let shelf = Shelf::empty();
    let ran = shelf.run(&["run", "--", "sh", "-c", "exec >&- 2>&-; sleep 0.3; exit 3"]);
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    let view = only(&shelf);
    assert!(view["timeout"]["elapsed_s"].as_f64().is_some_and(|s| s >= 0.1), "{}", view["timeout"]);
}

#[test]
fn a_reader_that_leaves_ends_who_writes_and_nobody_else() {
    let shelf = Shelf::empty();
    let script = "yes | head -c 400000000; : > done; exit 5";
    let mut command = shelf.command(&["run", "--", "sh", "-c", script]);
    let mut child = begin(command.current_dir(shelf.file("")));
    let mut first = [0; 2];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let status = child.wait_with_output().unwrap().status;
    assert_eq!((&first, status.code()), (b"y\n", Some(5)));
    assert!(shelf.file("done").exists());
    let output = only(&shelf)["facts"]["output"].clone();
    assert_eq!(output["reader_closed"], json!(true));
    assert!(output["stdout_bytes"].as_u64().is_some_and(|count| count < 400_000_000), "{output}");
}

#[test]
fn process_substitution_works() {
    let shelf = Shelf::empty();
    let script = format!("{CALLBOARD} run --quiet -- cat <(echo one) <(echo two)");
    let output = Command::new("bash").args(["-c", &script]).env("CALLBOARD_STORE", shelf.path()).output();
    assert_eq!(output.unwrap().stdout, b"one\ntwo\n");
}

#[test]
fn a_full_disk_costs_output_and_not_the_run() {
    let shelf = Shelf::empty();
    std::fs::create_dir(shelf.file("runs")).unwrap();
    let inside = format!(
        "mount -t tmpfs -o size=256k none runs && exec {CALLBOARD} run --quiet -- \
         sh -c 'head -c 4000000 /dev/zero; : > done'"
    );
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", &inside]).current_dir(shelf.file(""));
    let output = command.env("CALLBOARD_STORE", shelf.path()).output().unwrap();
    if !shelf.path().exists() {
        eprintln!("skipped: no private mount can be made here: {}", String::from_utf8_lossy(&output.stderr));
        return;
    }
    assert!(shelf.file("done").exists());
    let view = only(&shelf);
    let count = |name: &str| view["facts"]["output"][name].as_u64().unwrap_or_default();
    // A reader that is slower than the command needs the disk too; what it did not get is told.
    let end = if count("unread_bytes") == 0 {
        (Some(0), "run.completed.ok")
    } else {
        (Some(1), "run.failed.output_refused")
    };
    assert_eq!((output.status.code(), reason(&view)), end, "{}", view["facts"]["output"]);
    assert_eq!(count("stdout_bytes"), 4_000_000);
    assert!(count("lost_bytes") > 3_000_000, "{}", view["facts"]["output"]);
    assert_eq!(output.stdout.len() as u64 + count("unread_bytes"), 4_000_000);
}

#[test]
fn a_stopped_child_is_shown_as_such_and_can_be_let_go_on_or_stopped() {
    let shelf = Shelf::empty();
    let id =
        detached(&shelf, &["--", "sh", "-c", "kill -STOP $$; : > \"$0\"; sleep 60", text(&shelf.file("on"))]);
    let is_paused = || {
        let view = view(&shelf, &id);
        let says = |reason: &serde_json::Value| reason["code"] == "run.health.paused";
        view["state"]["reasons"].as_array().is_some_and(|reasons| reasons.iter().any(says)).then_some(view)
    };
    let shown = until("a pause", is_paused);
    assert_eq!(shown["state"]["health"], "paused");
    until("the record of it", || is_paused().filter(|view| view["facts"]["is_stopped"] == true));
    let pid = shown["pid"].as_u64().unwrap();
    crate::harness::runs::send("CONT", pid);
    until("a health that says that it goes on", || is_paused().is_none().then_some(()));
    until("its next step", || shelf.file("on").exists().then_some(()));
    crate::harness::runs::send("STOP", pid);
    until("another pause", is_paused);
    let stopped = shelf.run(&["stop", &id]);
    assert_eq!(stopped.code, Some(0), "{}", stopped.stderr);
    let view = view(&shelf, &id);
    assert_eq!((reason(&view), &view["facts"]["killed"]), ("run.cancelled.operator", &json!(false)));
}

#[test]
fn nohup_is_kept() {
    let shelf = Shelf::empty();
    let mut command = Command::new("nohup");
    command.args([CALLBOARD, "run", "--quiet", "--", "sh", "-c", "echo there; read go; echo survived"]);
    let (input, go) = std::io::pipe().unwrap();
    let mut child = begin(command.env("CALLBOARD_STORE", shelf.path()).stdin(input));
    let mut output = child.stdout.take().unwrap();
    read_until(&mut output, "there");
    assert_eq!(supervisor(&only(&shelf)), u64::from(child.id()));
    crate::harness::runs::send("HUP", child.id().into());
    std::io::Write::write_all(&mut &go, b"go\n").unwrap();
    drop(go);
    read_until(&mut output, "survived");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
