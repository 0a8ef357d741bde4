//! A terminal stays a terminal.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::process::Stdio;

use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use crate::second::{Second, wait_until};

/// A terminal with a person at it.
struct Person {
    keyboard: File,
    terminal: OwnedFd,
    seen: Vec<u8>,
}

impl Person {
    fn new() -> Self {
        let opened = || -> rustix::io::Result<(OwnedFd, OwnedFd)> {
            let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
            let keyboard = openpt(flags)?;
            grantpt(&keyboard)?;
            unlockpt(&keyboard)?;
            let terminal = ioctl_tiocgptpeer(&keyboard, flags)?;
            let size = Winsize { ws_row: 33, ws_col: 77, ws_xpixel: 0, ws_ypixel: 0 };
            tcsetwinsize(&keyboard, size)?;
            rustix::io::ioctl_fionbio(&keyboard, true)?;
            Ok((keyboard, terminal))
        };
        let (keyboard, terminal) = opened().unwrap_or_else(|error| panic!("no terminal: {error}"));
        Self { keyboard: File::from(keyboard), terminal, seen: Vec::new() }
    }

    fn plug(&self) -> Stdio {
        Stdio::from(self.terminal.try_clone().unwrap_or_else(|error| panic!("{error}")))
    }

    fn start(&self, dir: &std::path::Path, script: &str) -> Second {
        Second::start(dir, script, self.plug(), self.plug(), self.plug())
    }

    fn see(&mut self, wanted: &str) {
        wait_until(&format!("{wanted:?} on the terminal"), || {
            let mut bytes = [0; 4096];
            while let Ok(count) = self.keyboard.read(&mut bytes) {
                self.seen.extend(&bytes[..count]);
            }
            String::from_utf8_lossy(&self.seen).contains(wanted).then_some(())
        });
    }

    fn type_keys(&mut self, keys: &[u8]) {
        self.keyboard.write_all(keys).unwrap_or_else(|error| panic!("{error}"));
    }

    fn is_raw(&self) -> bool {
        tcgetattr(self.terminal.as_fd()).is_ok_and(|modes| !modes.local_modes.contains(LocalModes::ICANON))
    }
}

#[test]
fn the_child_has_a_terminal_of_its_own_with_our_size() {
    let directory = tempfile::tempdir().unwrap();
    let mut person = Person::new();
    let script = "[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo terminals; stty size; : < /dev/tty && echo controlling; read x; echo got $x";
    let mut second = person.start(directory.path(), script);
    person.see("terminals");
    person.see("33 77");
    person.see("controlling");
    assert!(person.is_raw(), "keys are passed on one by one");
    person.type_keys(b"word\r");
    person.see("got word");
    assert!(second.wait().success());
    assert!(!person.is_raw(), "the terminal is as it was");
    assert!(second.report().contains("Exited { code: 0 }"));
}

#[test]
fn a_key_is_told_and_what_a_terminal_sends_by_itself_is_not() {
    let directory = tempfile::tempdir().unwrap();
    let mut person = Person::new();
    let second = person.start(directory.path(), "echo ready; read x; echo one; read x; echo two");
    person.see("ready");
    // The focus, and where the cursor is.
    for report in ["\x1b[I", "\x1b[12;40R"] {
        person.type_keys(report.as_bytes());
        person.see(&report.replace('\x1b', "^["));
    }
    person.type_keys(b"\r");
    person.see("one");
    person.type_keys(b"\r");
    person.see("two");
    let report = second.report();
    assert!(report.ends_with("after 2 keys"), "{report}");
}

#[test]
fn a_new_size_is_passed_on() {
    let directory = tempfile::tempdir().unwrap();
    let mut person = Person::new();
    let script = "trap 'stty size' WINCH; echo ready; while :; do sleep 0.05; done";
    let second = person.start(directory.path(), script);
    person.see("ready");
    let size = Winsize { ws_row: 44, ws_col: 88, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&person.keyboard, size).unwrap();
    second.signal(libc::SIGWINCH);
    person.see("44 88");
    second.signal(libc::SIGTERM);
    assert!(second.report().contains("Stopped(Terminate)"));
}

#[test]
fn ctrl_c_is_a_key_and_its_end_an_interrupt() {
    let directory = tempfile::tempdir().unwrap();
    let mut person = Person::new();
    let mut second = person.start(directory.path(), "echo ready; exec sleep 60");
    person.see("ready");
    person.type_keys(b"\x03");
    let report = second.report();
    assert!(report.contains("Stopped(Interrupt)") && report.contains("signal: 2"), "{report}");
    second.wait();
    assert!(!person.is_raw());
}

#[test]
fn ctrl_backslash_is_not_ctrl_c() {
    let directory = tempfile::tempdir().unwrap();
    let mut person = Person::new();
    let mut second = person.start(directory.path(), "echo ready; exec sleep 60");
    person.see("ready");
    person.type_keys(b"\x1c");
    let report = second.report();
    assert!(report.contains("Stopped(Quit)") && report.contains("signal: 3"), "{report}");
    second.wait();
}

/// Types the keys when the script is ready, and gives the end.
fn ended_by(script: &str, keys: &[u8]) -> String {
    let directory = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
    let mut person = Person::new();
    let second = person.start(directory.path(), script);
    person.see("ready");
    person.type_keys(keys);
    second.report()
}

#[test]
fn a_program_that_catches_ctrl_c_and_exits_was_interrupted() {
    for code in ["0", "1", "130"] {
        let script = format!("trap 'exit {code}' INT; echo ready; while :; do sleep 0.02; done");
        let report = ended_by(&script, b"\x03");
        assert!(report.contains("Stopped(Interrupt)"), "{code}: {report}");
        assert!(report.contains(&format!("code: {code} ")), "{code}: {report}");
    }
}

#[test]
fn a_program_that_reads_ctrl_c_as_a_key_and_fails_at_once_was_interrupted() {
    let reads = "stty -isig -icanon -echo; echo ready; dd bs=1 count=1 2>/dev/null >&2;";
    assert!(ended_by(&format!("{reads} exit 1"), b"\x03").contains("Stopped(Interrupt)"));
    let quit = ended_by(&format!("{reads} exit 0"), b"\x03");
    assert!(quit.contains("OfItself"), "its own way to quit: {quit}");
}

#[test]
fn ctrl_c_that_the_child_uses_as_a_key_stops_nothing() {
    let script = "stty -isig -icanon -echo; echo ready; dd bs=1 count=2 2>/dev/null >&2; exit 130";
    let report = ended_by(script, b"\x03q");
    assert!(report.contains("OfItself") && report.contains("code: 130"), "{report}");
}

#[test]
fn ctrl_c_that_the_child_ignores_stops_nothing() {
    let report = ended_by("trap '' INT; echo ready; sleep 0.2; exit 4", b"\x03");
    assert!(report.contains("OfItself") && report.contains("code: 4"), "{report}");
}

#[test]
fn an_output_that_is_no_terminal_stays_a_pipe() {
    let directory = tempfile::tempdir().unwrap();
    let mut person = Person::new();
    let script = "[ -t 1 ] || echo piped; [ -t 0 ] && echo asked > /dev/tty";
    let mut second = Second::start(directory.path(), script, person.plug(), Stdio::piped(), person.plug());
    person.see("asked");
    let mut received = String::new();
    second.child.stdout.take().unwrap().read_to_string(&mut received).unwrap();
    assert!(received.ends_with("piped\n"), "{received:?}");
}

#[test]
fn a_suspended_run_stands_still_and_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let mut person = Person::new();
    let second = person.start(directory.path(), "echo ready; read x; echo got $x; exec sleep 60");
    person.see("ready");
    let own = callboard_supervisor::process::of(second.child.id()).unwrap().unwrap();
    second.signal(libc::SIGTSTP);
    wait_until("the suspended supervisor", || {
        let seen = callboard_supervisor::process::look(&own).unwrap_or_else(|error| panic!("{error}"));
        (seen == callboard_supervisor::process::Sighting::Stopped).then_some(())
    });
    assert!(!person.is_raw(), "who suspends gets the terminal back");
    second.signal(libc::SIGCONT);
    wait_until("the raw terminal", || person.is_raw().then_some(()));
    person.type_keys(b"again\r");
    person.see("got again");
    second.signal(libc::SIGTERM);
    assert!(second.report().contains("Stopped(Terminate)"));
}
