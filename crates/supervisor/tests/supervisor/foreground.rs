//! In the foreground: bytes pass through, signals act, and a reader that is slow ends nothing.

use std::io::{Read, Write};
use std::process::{ChildStdout, Stdio};

use crate::second::{BEGIN, Second, wait_until};

fn piped(dir: &std::path::Path, script: &str) -> Second {
    Second::start(dir, script, Stdio::piped(), Stdio::piped(), Stdio::piped())
}

/// Everything behind the words of the test harness.
fn after_begin(bytes: &[u8]) -> &[u8] {
    let at = bytes.windows(BEGIN.len()).position(|window| window == BEGIN);
    at.map_or(&[], |at| &bytes[at + BEGIN.len()..])
}

fn read_until(stdout: &mut ChildStdout, wanted: &[u8]) {
    let mut read = Vec::new();
    let mut byte = [0];
    while !read.ends_with(wanted) {
        let count = stdout.read(&mut byte).unwrap_or_else(|error| panic!("{error}"));
        assert!(count == 1, "the output ended with {:?}", String::from_utf8_lossy(&read));
        read.push(byte[0]);
    }
}

#[test]
fn stdin_and_both_outputs_pass_byte_for_byte() {
    let directory = tempfile::tempdir().unwrap();
    let mut second = piped(directory.path(), "cat; printf 'e\\000\\377' >&2");
    let sent: Vec<u8> = (0..=255u8).cycle().take(300_000).collect();
    let mut stdin = second.child.stdin.take().unwrap();
    let mut stdout = second.child.stdout.take().unwrap();
    let mut stderr = second.child.stderr.take().unwrap();
    let expected = sent.clone();
    let writer = std::thread::spawn(move || stdin.write_all(&sent));
    let mut received = Vec::new();
    stdout.read_to_end(&mut received).unwrap();
    let mut errors = Vec::new();
    stderr.read_to_end(&mut errors).unwrap();
    writer.join().unwrap().unwrap();
    assert!(after_begin(&received) == expected, "{} bytes came through", after_begin(&received).len());
    assert!(errors.ends_with(b"e\x00\xff"));
    assert!(second.wait().success());
}

#[test]
fn int_from_a_program_is_passed_on_and_a_second_one_hurries() {
    let directory = tempfile::tempdir().unwrap();
    let mut second = piped(directory.path(), "trap 'echo int' INT; echo ready; while :; do sleep 1; done");
    let mut stdout = second.child.stdout.take().unwrap();
    read_until(&mut stdout, b"ready\n");
    second.signal(libc::SIGINT);
    read_until(&mut stdout, b"int\n");
    second.signal(libc::SIGINT);
    let report = second.report();
    assert!(report.contains("Stopped(SentInterrupt)") && report.contains("killed: true"), "{report}");
    assert!(report.contains("left: 0"), "{report}");
}

#[test]
fn term_is_a_stop() {
    let directory = tempfile::tempdir().unwrap();
    let mut second = piped(directory.path(), "echo ready; exec sleep 60");
    read_until(&mut second.child.stdout.take().unwrap(), b"ready\n");
    second.signal(libc::SIGTERM);
    let report = second.report();
    assert!(report.contains("Stopped(Terminate)") && report.contains("signal: 15"), "{report}");
}

#[test]
fn quit_and_hup_from_a_program_are_not_taken_for_keys() {
    for (signal, cause, ended_by) in [
        (libc::SIGQUIT, "Stopped(SentQuit)", "signal: 3"),
        (libc::SIGHUP, "Stopped(SentHangup)", "signal: 15"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let mut second = piped(directory.path(), "echo ready; exec sleep 60");
        read_until(&mut second.child.stdout.take().unwrap(), b"ready\n");
        second.signal(signal);
        let report = second.report();
        assert!(report.contains(cause) && report.contains(ended_by), "{report}");
    }
}

#[test]
fn a_reader_that_is_gone_is_gone_for_the_child_too() {
    let directory = tempfile::tempdir().unwrap();
    let script = "echo ready; read x; head -c 200000 /dev/zero; exit $(($? - 121))";
    let mut second = piped(directory.path(), script);
    let mut stdout = second.child.stdout.take().unwrap();
    read_until(&mut stdout, b"ready\n");
    drop(stdout);
    second.child.stdin.take().unwrap().write_all(b"go\n").unwrap();
    let report = second.report();
    // `head` was killed by SIGPIPE, which a shell calls 141.
    assert!(report.contains("Exited { code: 20 }") && report.contains("closed: true"), "{report}");
}

#[test]
fn a_slow_reader_never_stops_the_child_and_gets_everything() {
    let directory = tempfile::tempdir().unwrap();
    let mut second = piped(directory.path(), "head -c 30000000 /dev/zero; echo end");
    // Nobody reads until the run has ended.
    let report = second.report();
    assert!(report.contains("Exited { code: 0 }") && report.contains("stdout_bytes: 30000004"), "{report}");
    let mut received = Vec::new();
    second.child.stdout.take().unwrap().read_to_end(&mut received).unwrap();
    assert_eq!(after_begin(&received).len(), 30_000_004);
    assert!(second.wait().success());
}

#[test]
fn killing_the_supervisor_leaves_nobody() {
    let directory = tempfile::tempdir().unwrap();
    let script = "echo $CALLBOARD_RUN; echo ready; while :; do echo x; sleep 0.01; done";
    let mut second = piped(directory.path(), script);
    let mut stdout = second.child.stdout.take().unwrap();
    let mut text = Vec::new();
    let mut byte = [0];
    while !text.ends_with(b"ready\n") {
        assert_eq!(stdout.read(&mut byte).unwrap(), 1);
        text.push(byte[0]);
    }
    let text = String::from_utf8_lossy(after_begin(&text)).into_owned();
    let marker = text.lines().next().and_then(|line| line.rsplit(':').next()).unwrap().to_owned();
    assert!(!callboard_supervisor::process::find_marked(&marker).is_empty());
    second.child.kill().unwrap();
    second.child.wait().unwrap();
    // The main process dies with its supervisor; who is left of its tree is ended by whoever finds out.
    let ended = callboard_supervisor::process::end_all(&marker, None, std::time::Duration::ZERO);
    assert_eq!(ended.left, 0);
    wait_until("nobody", || callboard_supervisor::process::find_marked(&marker).is_empty().then_some(()));
}

#[test]
fn a_descriptor_from_the_shell_reaches_the_child_if_it_is_given() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("words");
    std::fs::write(&file, "from outside\n").unwrap();
    let held = std::fs::File::open(&file).unwrap();
    rustix::io::fcntl_setfd(&held, rustix::io::FdFlags::empty()).unwrap();
    let number = std::os::fd::AsRawFd::as_raw_fd(&held);
    for (given, expected) in [(true, &b"from outside\n"[..]), (false, b"")] {
        // The script names those that it is given in its first line.
        let given = if given { format!(": given {number}\n") } else { String::new() };
        let place = tempfile::tempdir().unwrap();
        let mut second = piped(place.path(), &format!("{given}cat <&{number}"));
        let mut received = Vec::new();
        second.child.stdout.take().unwrap().read_to_end(&mut received).unwrap();
        assert_eq!(after_begin(&received), expected);
    }
}
