//! How the run of a situation is started: in the foreground, in the background or at a terminal, on either rung, in a
//! namespace of its own or not.
//!
//! Invariant: the lower rung is what the program takes by itself where it sees no control groups: they are hidden in a mount
//! namespace of its own. Nothing here tells the program how to behave.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use anyhow::{Context, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};

use super::place::held;
use super::play::Play;
use super::row::{Output, Rung, Start, Way, Within};
use crate::harness::program::{self, Board, TOKEN};

/// The other side of a terminal.
pub(crate) struct Seat {
    pub(crate) screen: File,
    shown: Arc<Mutex<Vec<u8>>>,
    is_over: Arc<AtomicBool>,
    reading: Option<JoinHandle<()>>,
}

impl Drop for Seat {
    fn drop(&mut self) {
        // The terminal is closed when nobody holds this side of it any more.
        self.is_over.store(true, Ordering::SeqCst);
        if let Some(reading) = self.reading.take() {
            drop(reading.join());
        }
    }
}

impl Seat {
    /// Everything that was written to the terminal so far.
    pub(crate) fn shown(&self) -> String {
        String::from_utf8_lossy(&held(&self.shown)).into_owned()
    }
}

/// Starts a run.
pub(crate) fn start(play: &Play<'_>, start: &Start) -> Result<(Child, Option<Seat>)> {
    let board = &play.place.board;
    let mut words = vec!["run".to_owned(), "--title".to_owned(), play.token.clone()];
    words.extend(start.options.iter().cloned());
    words.extend((start.way == Way::Detached).then(|| "--detach".to_owned()));
    words.push("--".to_owned());
    words.extend(start.command.iter().cloned());
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (seat, theirs) = match start.way {
        Way::Terminal => terminal().map(|(seat, theirs)| (Some(seat), Some(theirs)))?,
        Way::Foreground | Way::Detached => (None, None),
    };
    let mut wrapper: Vec<&str> = Vec::new();
    if theirs.is_some() {
        wrapper.extend(["setsid", "--ctty", "--wait"]);
    }
    let places = within(start.within, start.rung);
    wrapper.extend(places.iter().map(String::as_str));
    wrapper.extend(start.wrapper.iter().map(String::as_str));
    let mut command = wrapped(board, &wrapper, &words);
    command.current_dir(&play.dir).env(TOKEN, &play.token).env("CALLBOARD", board.program());
    command.env("TERM", "xterm");
    let file = |name: &str| File::create(play.dir.join(name)).context("failed to make a file for the output");
    match (&theirs, start.output) {
        (Some(theirs), _) => {
            let copy = || theirs.try_clone().map(Stdio::from);
            command.stdin(copy()?).stdout(copy()?).stderr(copy()?);
        }
        (None, output) => {
            command.stderr(file("stderr")?);
            match output {
                Output::Kept => command.stdout(file("stdout")?),
                Output::Full => command.stdout(File::options().write(true).open("/dev/full")?),
                Output::Pipe => command.stdout(Stdio::piped()),
            };
        }
    }
    Ok((program::start(command)?, seat))
}

/// Callboard with these words, as seen from somewhere.
pub(crate) fn from(board: &Board, place: Within, words: &[&str]) -> Command {
    let wrapper = within(place, Rung::Group);
    let wrapper: Vec<&str> = wrapper.iter().map(String::as_str).collect();
    wrapped(board, &wrapper, words)
}

fn wrapped(board: &Board, wrapper: &[&str], words: &[&str]) -> Command {
    let plain = board.command(words);
    let Some((first, rest)) = wrapper.split_first() else { return plain };
    let mut command = Command::new(first);
    command.args(rest).arg(plain.get_program()).args(plain.get_args()).stdin(Stdio::null());
    for (name, value) in plain.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
}

/// What leads to a place and a rung, in front of a command line.
fn within(place: Within, rung: Rung) -> Vec<String> {
    let mut flags: Vec<&str> = Vec::new();
    let mut script = String::new();
    if rung == Rung::Tree {
        flags.push("--mount");
        script.push_str("mount -t tmpfs -o ro none /sys/fs/cgroup || exit 70; ");
    }
    match place {
        Within::Here => {}
        Within::PidNamespace => flags.extend(["--pid", "--fork", "--mount-proc"]),
        Within::Sandbox => {
            flags.extend(["--pid", "--fork", "--mount-proc"]);
            script.push_str(
                "boot=$(mktemp) && echo 11111111-2222-3333-4444-555555555555 > $boot && \
                 mount --bind $boot /proc/sys/kernel/random/boot_id && rm $boot || exit 70; ",
            );
        }
        Within::TimeNamespace => {
            flags.extend(["--time", "--fork", "--boottime", "100000", "--monotonic", "5000"])
        }
        Within::Host(_) => flags.push("--uts"),
    }
    if let Within::Host(name) = place {
        script.push_str(&format!("hostname {name} || exit 70; "));
    }
    if flags.is_empty() {
        return Vec::new();
    }
    // The first process of a namespace is special: signals it has no handler for do not reach it.
    script.push_str(if matches!(place, Within::PidNamespace | Within::Sandbox) {
        "\"$@\"; exit $?"
    } else {
        "exec \"$@\""
    });
    let words = ["unshare"].into_iter().chain(flags).chain(["sh", "-c", &script, "sh"]);
    words.map(str::to_owned).collect()
}

/// Can namespaces be made here, so that both rungs and other places can be had?
pub(crate) fn has_namespaces() -> bool {
    let tries = [within(Within::PidNamespace, Rung::Tree), within(Within::TimeNamespace, Rung::Group)];
    tries.iter().all(|words| {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).arg("true").stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    })
}

/// A terminal, and a thread that reads what is written to it.
fn terminal() -> Result<(Seat, OwnedFd)> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let ours = openpt(flags)?;
    grantpt(&ours)?;
    unlockpt(&ours)?;
    let theirs = ioctl_tiocgptpeer(&ours, flags)?;
    let mut reading = File::from(ours.try_clone()?);
    let shown = Arc::new(Mutex::new(Vec::new()));
    let is_over = Arc::new(AtomicBool::new(false));
    let (seen, stop) = (Arc::clone(&shown), Arc::clone(&is_over));
    let reading = std::thread::spawn(move || {
        let mut bytes = [0; 4096];
        while !stop.load(Ordering::SeqCst) {
            let mut waiting = [PollFd::new(&reading, PollFlags::IN)];
            match poll(&mut waiting, Some(&GLANCE)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => continue,
                Ok(_) => {}
                Err(_) => break,
            }
            match std::io::Read::read(&mut reading, &mut bytes) {
                Ok(count @ 1..) => held(&seen).extend_from_slice(&bytes[..count]),
                // The last program has closed the terminal.
                Ok(_) | Err(_) => break,
            }
        }
    });
    Ok((Seat { screen: ours.into(), shown, is_over, reading: Some(reading) }, theirs))
}

/// How long the terminal is listened to before a look whether it is to be closed.
const GLANCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
