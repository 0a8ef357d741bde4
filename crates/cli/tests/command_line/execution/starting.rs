//! Runs that cannot begin: nothing is started, the code and the reason say why, and so do three lines or a closing line.

use crate::harness::driver::{Ran, finish};
use crate::harness::runs::{CALLBOARD, only, reason};
use crate::harness::shelf::{Shelf, text};

#[test]
fn a_command_that_cannot_be_started_has_its_own_code_and_reason() {
    let shelf = Shelf::empty();
    let (plain, directory) = (shelf.file("plain"), shelf.file("directory"));
    std::fs::write(&plain, "no program").unwrap();
    std::fs::create_dir(&directory).unwrap();
    for (command, code, why, words) in [
        ("no-such-program", 127, "run.failed.not_found", "no-such-program is not found"),
        (text(&plain), 126, "run.failed.not_executable", "cannot be executed"),
        (text(&directory), 126, "run.failed.not_executable", "cannot be executed"),
        ("", 125, "run.failed.spawn", "the command is empty"),
    ] {
        for how in [&["run"][..], &["run", "--detach"]] {
            let shelf = Shelf::empty();
            let ran = shelf.run(&[how, &["--", command]].concat());
            assert_eq!((ran.code, ran.stdout.as_str()), (Some(code), ""), "{how:?} {command:?}");
            assert!(ran.stderr.starts_with("✗ Failed · ") && ran.stderr.contains(words), "{}", ran.stderr);
            let view = only(&shelf);
            assert_eq!((view["state"]["lifecycle"].as_str(), reason(&view)), (Some("failed"), why));
            shelf.well(&["verify"]);
        }
    }
}

#[track_caller]
fn told_in_three_lines(ran: &Ran, code: i32, what: &str) {
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(code), ""), "{}", ran.stderr);
    let [error, because, instead] = ran.stderr.lines().collect::<Vec<_>>()[..] else {
        panic!("not three lines: {}", ran.stderr)
    };
    assert!(error.starts_with("error: ") && error.contains(what), "{error}");
    assert!(because.starts_with("  because: ") && instead.starts_with("  try: "), "{because} {instead}");
}

#[test]
fn a_store_that_cannot_be_written_starts_nothing() {
    let shelf = Shelf::empty();
    let started = shelf.file("started");
    std::fs::write(shelf.file("plain"), "").unwrap();
    std::fs::create_dir(shelf.file("directory")).unwrap();
    let below_a_file = shelf.file("plain").join("store.db");
    for (store, what) in
        [(below_a_file, "cannot be written"), (shelf.file("directory"), "nothing was started")]
    {
        for how in [&["run"][..], &["run", "--detach"]] {
            let mut command = shelf.command(&[how, &["--", "touch", text(&started)]].concat());
            told_in_three_lines(&finish(command.env("CALLBOARD_STORE", &store)), 1, what);
            assert!(!started.exists(), "{}", store.display());
        }
    }
}

#[test]
fn a_directory_that_is_gone_starts_nothing() {
    let shelf = Shelf::empty();
    let gone = shelf.file("gone");
    std::fs::create_dir(&gone).unwrap();
    let started = shelf.file("started");
    let script = format!("rmdir \"$PWD\" && exec {CALLBOARD} run -- touch {}", text(&started));
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &script]).current_dir(&gone).env("CALLBOARD_STORE", shelf.path());
    told_in_three_lines(&finish(&mut command), 1, "cannot be worked in");
    assert!(!started.exists());
}

#[test]
fn a_directory_that_is_removed_under_a_run_ends_nothing_else() {
    for (options, code, why) in
        [(&[][..], 0, "run.completed.ok"), (&["--expect", "out"], 1, "run.failed.missing_artifact")]
    {
        let shelf = Shelf::empty();
        let gone = shelf.file("gone");
        std::fs::create_dir(&gone).unwrap();
        let script = "rm -r \"$PWD\"; sleep 0.1; echo here";
        let arguments = [&["run"], options, &["--", "sh", "-c", script]].concat();
        let ran = finish(shelf.command(&arguments).current_dir(&gone));
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(code), "here\n"), "{}", ran.stderr);
        assert_eq!(reason(&only(&shelf)), why);
        shelf.well(&["verify"]);
    }
}
