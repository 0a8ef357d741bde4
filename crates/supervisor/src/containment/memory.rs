//! Where the kernel counts the processes that it kills because memory ran out, and whether the main process was one.
//!
//! Invariant: yes and no are said only where a counter shows them. A counter that other processes share can say that
//! nobody was killed; that somebody was killed it says of all of them, and then the answer is that nobody knows, unless the
//! kernel's log names the process. A process that exited by itself was not killed, whatever its children were.

use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFlags, eventfd};
use rustix::fs::{Mode, OFlags};

use super::cgroup::Group;
use super::hierarchy::hierarchies;
use crate::How;

/// The counter that says most of a run.
#[derive(Debug)]
pub(crate) struct MemoryKills {
    counter: Option<Counter>,
    bell: Option<Bell>,
    /// The kernel's log from the start on, where it can be read and names processes as we do.
    log: Option<File>,
}

#[derive(Debug)]
struct Counter {
    file: PathBuf,
    /// Whether only the run is counted.
    is_own: bool,
    before: u64,
}

/// Becomes ready when memory of the run's own group runs out.
#[derive(Debug)]
enum Bell {
    /// The file of version 2 itself.
    File(File),
    /// An eventfd of version 1, and the file it stands for.
    Event(OwnedFd, #[expect(dead_code, reason = "the event ends with the file")] File),
}

/// What is known of an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// Whether the main process was killed for memory.
    pub(crate) main: Option<bool>,
    /// How many processes of the run were.
    pub(crate) kills: Option<u64>,
}

/// A death this long after memory ran out has another cause.
const AFTERMATH: Duration = Duration::from_secs(3);
const SIGKILL: i32 = 9;
/// The host's counter, for processes in no group that counts.
const HOST: &str = "/proc/vmstat";

impl MemoryKills {
    /// Reads the counters before there is a child.
    pub(super) fn before(group: Option<&Group>) -> Self {
        let own = group.map(Group::oom_file).and_then(|file| Counter::read(file, true));
        let bell = own.as_ref().and_then(|own| Bell::hang(own).ok());
        let counter = own.or_else(around);
        let log = counter.as_ref().and_then(|_| open_log());
        Self { counter, bell, log }
    }

    /// Whether the run has a counter of its own.
    pub(super) fn is_own(&self) -> bool {
        self.counter.as_ref().is_some_and(|counter| counter.is_own)
    }

    /// Becomes ready when memory ran out.
    pub(crate) fn bell(&self) -> Option<(BorrowedFd<'_>, PollFlags)> {
        self.bell.as_ref().map(|bell| match bell {
            Bell::File(file) => (file.as_fd(), PollFlags::PRI),
            Bell::Event(event, _) => (event.as_fd(), PollFlags::IN),
        })
    }

    /// Silences the bell.
    pub(crate) fn heard(&self) {
        let mut bytes = [0; 512];
        match &self.bell {
            Some(Bell::File(file)) => drop(std::os::unix::fs::FileExt::read_at(file, &mut bytes, 0)),
            Some(Bell::Event(event, _)) => drop(rustix::io::read(event, &mut bytes[..8])),
            None => {}
        }
    }

    /// What is known of an end, `since_last` after memory ran out for the last time.
    pub(crate) fn verdict(&self, how: How, pid: u32, since_last: Option<Duration>) -> Verdict {
        let Some(counter) = &self.counter else { return Verdict { main: possible(how), kills: None } };
        let Some(risen) = count(&counter.file).map(|now| now.saturating_sub(counter.before)) else {
            return Verdict { main: possible(how), kills: None };
        };
        let kills = (counter.is_own || risen == 0).then_some(risen);
        let main = possible(how).or_else(|| match (risen, self.named_by_kernel()) {
            (0, _) => Some(false),
            (_, Some(pids)) if pids.contains(&pid) => Some(true),
            (risen, Some(pids)) if pids.len() as u64 >= risen => Some(false),
            _ if !counter.is_own => None,
            _ => Some(since_last.is_none_or(|since| since <= AFTERMATH)),
        });
        Verdict { main, kills }
    }
}

/// Only KILL can be a kill for memory; everything else certainly is none.
const fn possible(how: How) -> Option<bool> {
    match how {
        How::Signaled { signal: SIGKILL, .. } | How::Unconfirmed => None,
        How::Exited { .. } | How::Signaled { .. } => Some(false),
    }
}

impl Counter {
    fn read(file: PathBuf, is_own: bool) -> Option<Self> {
        let before = count(&file)?;
        Some(Self { file, is_own, before })
    }
}

/// The nearest counter around the run: our own group's or one above, else the host's.
fn around() -> Option<Counter> {
    let found = hierarchies();
    if let Some((_, path)) = found.legacy.iter().find(|(controller, _)| controller == "memory") {
        return Counter::read(path.join("memory.oom_control"), false);
    }
    let root = found.unified_root.as_deref();
    let above = found.unified.iter().flat_map(|own| own.ancestors());
    let inside = above.take_while(|path| root.is_some_and(|root| path.starts_with(root)));
    let of_group = inside.map(|path| path.join("memory.events")).find_map(|file| Counter::read(file, false));
    of_group.or_else(|| Counter::read(HOST.into(), false))
}

/// The kills that a file counts.
fn count(file: &std::path::Path) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
}

impl Bell {
    fn hang(counter: &Counter) -> io::Result<Self> {
        let file = File::open(&counter.file)?;
        if counter.file.ends_with("memory.events") {
            return Ok(Self::File(file));
        }
        use std::os::fd::AsRawFd;
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let control = counter.file.with_file_name("cgroup.event_control");
        fs::write(control, format!("{} {}", event.as_raw_fd(), file.as_raw_fd()))?;
        Ok(Self::Event(event, file))
    }
}

/// Opens the kernel's log at its end, unless it counts processes otherwise than we do.
fn open_log() -> Option<File> {
    const FIRST_NAMESPACE: &str = "pid:[4026531836]";
    if fs::read_link("/proc/self/ns/pid").ok()?.as_os_str() != FIRST_NAMESPACE {
        return None;
    }
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut log = File::from(rustix::fs::open("/dev/kmsg", flags, Mode::empty()).ok()?);
    log.seek(SeekFrom::End(0)).ok()?;
    Some(log)
}

impl MemoryKills {
    /// The processes that the kernel's log says were killed for memory since the start; none if it cannot be read whole.
    fn named_by_kernel(&self) -> Option<Vec<u32>> {
        let log = self.log.as_ref()?;
        let mut pids = Vec::new();
        let mut bytes = vec![0; 8192];
        for _ in 0..RECORDS_MAX {
            match rustix::io::read(log, &mut bytes) {
                Ok(count) => pids.extend(killed(&String::from_utf8_lossy(&bytes[..count]))),
                Err(rustix::io::Errno::AGAIN) => return Some(pids),
                Err(rustix::io::Errno::INTR) => {}
                // Some of it was overwritten before it was read.
                Err(_) => return None,
            }
        }
        None
    }
}

/// More records than any log holds.
const RECORDS_MAX: usize = 1 << 20;

/// The process that a record of the kernel's log names, if it was killed for memory.
fn killed(record: &str) -> Option<u32> {
    let (_, text) = record.split_once(';')?;
    let (_, rest) = text.split_once("Killed process ").filter(|_| text.contains("ut of memory"))?;
    rest.split_once(' ')?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_kill_for_memory_names_a_process() {
        let group = "3,900,6000000,-;Memory cgroup out of memory: Killed process 4711 (sh) total-vm:1kB";
        assert_eq!(killed(group), Some(4711));
        assert_eq!(killed("3,901,7000000,-;Out of memory: Killed process 12 (python3) x"), Some(12));
        assert_eq!(killed("6,902,7000000,-;usb 1-1: new device"), None);
    }

    #[test]
    fn who_exited_or_fell_to_another_signal_was_not_killed_for_memory() {
        let kills = MemoryKills { counter: None, bell: None, log: None };
        let main = |how| kills.verdict(how, 1, None).main;
        assert_eq!(main(How::Exited { code: 0 }), Some(false));
        assert_eq!(main(How::Signaled { signal: 11, core_dumped: false }), Some(false));
        assert_eq!(
            main(How::Signaled { signal: 9, core_dumped: false }),
            None,
            "nobody counts, nobody knows"
        );
    }

    #[test]
    fn a_counter_that_others_share_says_no_and_never_yes() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("memory.events");
        let killed = How::Signaled { signal: 9, core_dumped: false };
        let verdict = |is_own, since_last| {
            fs::write(&file, "oom 0\noom_kill 3\n").unwrap();
            let kills = MemoryKills { counter: Counter::read(file.clone(), is_own), bell: None, log: None };
            let before = kills.verdict(killed, u32::MAX, since_last);
            fs::write(&file, "oom 1\noom_kill 1000004\n").unwrap();
            (before, kills.verdict(killed, u32::MAX, since_last))
        };
        let none = Verdict { main: Some(false), kills: Some(0) };
        assert_eq!(verdict(false, None), (none, Verdict { main: None, kills: None }));
        assert_eq!(verdict(true, None), (none, Verdict { main: Some(true), kills: Some(1_000_001) }));
        let later = verdict(true, Some(Duration::from_secs(60))).1;
        assert_eq!(
            later.main,
            Some(false),
            "killed by somebody else, long after a child was killed for memory"
        );
    }
}
