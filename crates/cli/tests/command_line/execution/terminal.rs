//! A run at a real terminal: it stays one, its size is passed on, and Ctrl-C means what it means everywhere.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::process::{Child, Command};

use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::harness::runs::{CALLBOARD, only, read_until, reason, send, supervisor, titled, until};
use crate::harness::shelf::Shelf;

const CTRL_C: &[u8] = b"\x03";

/// The other side of a terminal at which a program runs.
struct Seat {
    screen: File,
    child: Child,
}

/// Seats `sh -c SCRIPT` at a terminal of 33 lines and 77 columns.
#[expect(
    clippy::disallowed_methods,
    reason = "the test types at the terminal while the program runs, and waits for it"
)]
fn seat(shelf: &Shelf, script: &str) -> Seat {
    let opened = || -> std::io::Result<(OwnedFd, OwnedFd)> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let ours = openpt(flags)?;
        grantpt(&ours)?;
        unlockpt(&ours)?;
        let size = Winsize { ws_row: 33, ws_col: 77, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&ours, size)?;
        let theirs = ioctl_tiocgptpeer(&ours, flags)?;
        Ok((ours, theirs))
    };
    let (ours, theirs) = opened().unwrap_or_else(|error| panic!("no terminal: {error}"));
    let copy = || theirs.try_clone().unwrap_or_else(|error| panic!("{error}"));
    let mut command = Command::new("setsid");
    command.args(["--ctty", "sh", "-c", script]).stdin(copy()).stdout(copy()).stderr(copy());
    command.env("CALLBOARD_STORE", shelf.path()).env_remove("CALLBOARD_RUN");
    let child = command.spawn().unwrap_or_else(|error| panic!("{error}"));
    Seat { screen: ours.into(), child }
}

impl Seat {
    fn type_in(&self, keys: &[u8]) {
        std::io::Write::write_all(&mut &self.screen, keys).unwrap_or_else(|error| panic!("{error}"));
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        // Both fail only for a program that has ended, as it has in a test that passes.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
fn a_terminal_stays_a_terminal_of_its_size_and_a_pipe_a_pipe() {
    let shelf = Shelf::empty();
    let script = "test -t 0 && test -t 1 && test -t 2 && stty size || echo none";
    let mut seat = seat(&shelf, &format!("exec {CALLBOARD} run --quiet -- sh -c '{script}'"));
    read_until(&mut seat.screen, "33 77");
    assert_eq!(seat.child.wait().unwrap().code(), Some(0));
    assert_eq!(shelf.well(&["run", "--quiet", "--", "sh", "-c", script]), "none\n");
}

#[test]
fn ctrl_c_at_a_terminal_is_130() {
    let shelf = Shelf::empty();
    let mut seat = seat(&shelf, &format!("exec {CALLBOARD} run -- sh -c 'echo there; exec sleep 60'"));
    read_until(&mut seat.screen, "there");
    seat.type_in(CTRL_C);
    read_until(&mut seat.screen, "Aborted · a person pressed Ctrl-C");
    assert_eq!(seat.child.wait().unwrap().code(), Some(130));
    assert_eq!(reason(&only(&shelf)), "run.aborted.sigint");
}

#[test]
fn what_a_killed_program_left_set_on_the_terminal_is_reset_before_the_closing_line() {
    let shelf = Shelf::empty();
    let script =
        "printf \"\\033[?1049h\\033[?1000;1006h\\033[?2004h\\033[?25l\\033[?2004l\"; kill -KILL \\$\\$";
    let mut seat = seat(&shelf, &format!("exec {CALLBOARD} run -- sh -c \"{}\"", script.replace('"', "'")));
    let seen = read_until(&mut seat.screen, "Failed");
    let undone = "\x1b[?1000l\x1b[?1006l\x1b[?1049l\x1b[?25h";
    let at = seen.find(undone).unwrap_or_else(|| panic!("{seen:?}"));
    assert!(seen.find("Failed").is_some_and(|line| line > at), "{seen:?}");
    assert!(!seen[at..].contains("2004"), "what the program reset itself is left alone: {seen:?}");
    assert_eq!(seat.child.wait().unwrap().code(), Some(137));
}

#[test]
fn the_closing_line_fits_the_terminal_and_shows_the_cause_and_the_status() {
    let shelf = Shelf::empty();
    let message =
        "the gateway in front of the model said that its quota is used up, with status: 429 (again)";
    let error = format!(r#"{{"type":"ApiError","message":"{message}"}}"#);
    let result = format!(r#"{{"type":"result","status":"error","error":{error}}}"#);
    std::fs::write(shelf.file("result"), result + "\n").unwrap();
    let line = format!(
        "exec {CALLBOARD} run --adapter gemini -- sh -c 'cat {}; exit 1' > {}",
        shelf.file("result").display(),
        shelf.file("out").display()
    );
    let mut seat = seat(&shelf, &line);
    assert_eq!(seat.child.wait().unwrap().code(), Some(1));
    let seen = read_until(&mut seat.screen, "callboard why ses_");
    let line = seen.lines().find(|line| line.contains("Failed")).unwrap_or_default();
    let shown: String = line
        .split("\x1b[")
        .flat_map(|part| part.split_once('m').map_or(part, |part| part.1).chars())
        .collect();
    assert!(shown.starts_with("✗ Failed · 429: the provider failed"), "{shown:?}");
    assert!(shown.contains("  callboard why ses_") && shown.chars().count() <= 77, "{shown:?}");
    let view = only(&shelf);
    assert!(
        view["state"]["reasons"][0]["message"].as_str().is_some_and(|told| told.contains(message)),
        "{view}"
    );
}

/// With its input from elsewhere the child has no terminal, and the key is a signal to the supervisor.
#[test]
fn a_second_ctrl_c_does_not_wait_for_the_grace() {
    let shelf = Shelf::empty();
    let script = "trap \"echo asked\" INT; trap \"\" TERM; echo there; while :; do sleep 0.05; done";
    let mut seat = seat(&shelf, &format!("exec {CALLBOARD} run --grace 1h -- sh -c '{script}' </dev/null"));
    read_until(&mut seat.screen, "there");
    seat.type_in(CTRL_C);
    read_until(&mut seat.screen, "asked");
    seat.type_in(CTRL_C);
    read_until(&mut seat.screen, "Aborted · a person pressed Ctrl-C");
    assert_eq!(seat.child.wait().unwrap().code(), Some(130));
    let view = only(&shelf);
    assert_eq!((reason(&view), view["facts"]["killed"].as_bool()), ("run.aborted.sigint", Some(true)));
}

#[test]
fn ctrl_backslash_has_a_sentence_of_its_own() {
    let shelf = Shelf::empty();
    let script = "ulimit -c 0; echo there; exec sleep 60";
    let mut seat = seat(&shelf, &format!("exec {CALLBOARD} run -- sh -c '{script}'"));
    read_until(&mut seat.screen, "there");
    seat.type_in(b"\x1c");
    read_until(&mut seat.screen, "Aborted · a person pressed Ctrl-\\");
    assert_eq!(seat.child.wait().unwrap().code(), Some(130));
    assert_eq!(reason(&only(&shelf)), "run.aborted.sigquit");
}

#[test]
fn a_program_that_catches_ctrl_c_and_exits_by_itself_was_aborted() {
    let shelf = Shelf::empty();
    let script = "trap \"exit 1\" INT; echo there; while :; do sleep 0.02; done";
    let mut seat = seat(&shelf, &format!("exec {CALLBOARD} run -- sh -c '{script}'"));
    read_until(&mut seat.screen, "there");
    seat.type_in(CTRL_C);
    read_until(&mut seat.screen, "Aborted · a person pressed Ctrl-C");
    assert_eq!(seat.child.wait().unwrap().code(), Some(130));
    let view = only(&shelf);
    assert_eq!((reason(&view), &view["exit"]["code"]), ("run.aborted.sigint", &1.into()));
}

#[test]
fn a_closed_terminal_is_told_as_one() {
    let shelf = Shelf::empty();
    let mut seat = seat(&shelf, &format!("exec {CALLBOARD} run -- sh -c 'echo there; exec sleep 60'"));
    read_until(&mut seat.screen, "there");
    seat.screen = File::open("/dev/null").unwrap();
    seat.child.wait().unwrap();
    let view = only(&shelf);
    assert_eq!(reason(&view), "run.cancelled.sighup", "{}", view["state"]);
    assert_eq!(view["state"]["reasons"][0]["message"], "its terminal was closed");
}

#[test]
fn a_suspended_run_is_recorded_as_suspended() {
    let shelf = Shelf::empty();
    let mut seat = seat(&shelf, &format!("exec {CALLBOARD} run -- sh -c 'echo there; exec sleep 60'"));
    read_until(&mut seat.screen, "there");
    seat.type_in(b"\x1a");
    let view =
        until("the suspension", || Some(only(&shelf)).filter(|view| view["facts"]["is_stopped"] == true));
    assert_eq!(view["facts"]["stopped_by"], "suspended", "{}", view["facts"]);
    assert!(view["facts"]["stopped_since"].is_string(), "{}", view["facts"]);
    let supervisor = supervisor(&view);
    send("CONT", supervisor);
    until("going on", || (only(&shelf)["facts"]["is_stopped"] == false).then_some(()));
    send("TERM", supervisor);
    assert_eq!(seat.child.wait().unwrap().code(), Some(143));
}

/// Agents that draw a screen tell their terminal that they wait, and not their stdout.
#[test]
fn a_program_that_tells_its_terminal_that_it_waits_reads_waiting() {
    let shelf = Shelf::empty();
    let script = r#"printf "\033]7501;state=blocked:app=codex:kind=permission\007"; read line
        printf "\033]7501;state=working:app=codex\007"; echo went; read line
        printf "\033]777;notify;Claude Code;Claude needs your permission to use Bash\007"; read line; sleep 60"#;
    let mut seat = seat(&shelf, &format!("exec {CALLBOARD} run --quiet --title screen -- sh -c '{script}'"));
    let chain = |wanted: &str| {
        until(wanted, || titled(&shelf, "screen").filter(|view| view["chain"] == wanted));
    };
    chain("Running · Waiting");
    seat.type_in(b"\r");
    chain("Running");
    seat.type_in(b"\r");
    chain("Running · Waiting");
    let view = titled(&shelf, "screen").unwrap_or_default();
    assert_eq!(view["facts"]["waits_by"], "terminal notification (inferred)");
    seat.type_in(b"\r");
    chain("Running");
    seat.type_in(CTRL_C);
    assert_eq!(seat.child.wait().unwrap().code(), Some(130));
}

/// Whoever looks at what an agent wrote or called itself is not the agent's puppet: no clipboard, title, answer or screen.
#[test]
fn nothing_that_a_run_wrote_or_recorded_steers_the_terminal_of_who_looks() {
    let shelf = Shelf::empty();
    let place = shelf.file("place\u{1b}]0;owned\u{7}");
    std::fs::create_dir(&place).unwrap();
    let script = "printf 'begin\\033]52;c;eA==\\007\\033[31mred\\033[2J\\033[6n\\rover\\nend\\n'";
    let title = "a\u{1b}]0;owned\u{7}\u{202e}b";
    let mut first = shelf.command(&["run", "--quiet", "--title", title, "--", "sh", "-c", script]);
    assert!(first.current_dir(&place).output().unwrap().status.success());
    std::fs::remove_dir(&place).unwrap();
    let id = only(&shelf)["id"].as_str().unwrap().to_owned();
    let note = "n\u{1b}]0;owned\u{7}\u{9d}0;owned\u{202e}";
    shelf.well(&["note", &id, note]);
    shelf.create(&["task", "--title", title]);
    let looks = [
        "logs",
        "logs --times",
        "attach",
        "why",
        "why --facts",
        "why --json",
        "inspect",
        "inspect --json",
        "events",
        "events --json",
        "retry",
    ];
    let looks: String = looks.iter().map(|look| format!("{CALLBOARD} {look} {id}; ")).collect();
    let lists = format!(
        "{CALLBOARD} ps --all; {CALLBOARD} ps --all --json; {CALLBOARD} export; {CALLBOARD} logs --raw {id}"
    );
    let mut seat = seat(&shelf, &format!("{looks}{lists}; echo fin''ished"));
    let seen = read_until(&mut seat.screen, "finished");
    let (cleaned, raw) = seen.rsplit_once("begin").unwrap();
    assert!(raw.starts_with("\u{1b}]52;c;eA==\u{7}\u{1b}[31mred\u{1b}[2J"), "--raw: {raw:?}");
    for steers in ["\u{1b}]", "\u{7}", "\u{202e}", "\u{9d}", "\u{1b}[6n"] {
        assert!(!cleaned.contains(steers), "{steers:?} in {cleaned:?}");
    }
    assert!(cleaned.contains("beginred\r\nover\r\nend\r\n"), "logs: {cleaned:?}");
    assert!(cleaned.contains("begin\u{1b}[31mred\u{1b}[2J\rover"), "attach: {cleaned:?}");
    assert!(cleaned.contains("place]0;owned cannot be worked in"), "retry: {cleaned:?}");
    assert!(cleaned.contains("terminal sequences left out"), "{cleaned:?}");
    let piped = shelf.command(&["logs", &id]).output().unwrap().stdout;
    assert_eq!(piped, b"begin\x1b]52;c;eA==\x07\x1b[31mred\x1b[2J\x1b[6n\rover\nend\n");
}

/// Everybody can read a command line, and the link lets in whoever is first.
#[test]
fn the_link_that_a_browser_is_opened_with_is_in_no_command_line() {
    use std::os::unix::fs::PermissionsExt;

    let shelf = Shelf::empty();
    let (browser, given) = (shelf.file("xdg-open"), shelf.file("given"));
    let script = format!("#!/bin/sh\necho \"$*\" > {0}.part; mv {0}.part {0}\n", given.display());
    std::fs::write(&browser, script).unwrap();
    std::fs::set_permissions(&browser, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("PATH={}:$PATH", shelf.file("").display());
    let mut seat = seat(&shelf, &format!("{path} exec {CALLBOARD} serve --open --listen 127.0.0.1:0"));
    let said = read_until(&mut seat.screen, "login?once=");
    let words = until("a browser", || std::fs::read_to_string(&given).ok());
    assert!(!words.contains("once=") && said.contains("once="), "{words}");
    let file = std::path::Path::new(words.trim());
    let text = std::fs::read_to_string(file).unwrap();
    assert!(text.contains("url=http://callboard-") && text.contains("/login?once="), "{text}");
    assert_eq!(std::fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    seat.type_in(CTRL_C);
    assert_eq!(seat.child.wait().unwrap().code(), Some(0));
    assert!(!file.exists(), "it leads nowhere any more");
}
