//! The tree of a run without a control group: who belongs to it, and how all of it is ended.
//!
//! Invariant: nobody is signalled by pid alone. Members are frozen first and looked for again until nobody new is found, so
//! that who forks faster than the table is read does not get away; then all are killed.
//!
//! Who belongs: the main process and its descendants, everybody in its session, everybody with the marker in the
//! environment, and orphans that became our children. An orphan that called `setsid` and emptied its environment can be
//! told from another run's only when this is the only run of the process, as it is in the foreground and in a shim;
//! elsewhere it is ended with the last run. A supervisor that was put in the background inside of a run is a member, with all
//! it supervises.

use std::collections::{HashMap, HashSet};
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};
use std::{fs, io};

use rustix::process::{Pid, Signal};

use crate::child::children;
use crate::child::wait_status;
use crate::mutant;
use crate::process::{MARKER_VARIABLE, Mark, Stat, all, is_own, send};

/// Where a search for members begins.
#[derive(Clone, Debug)]
pub(crate) struct Roots {
    pub(crate) marker: String,
    /// The main process, while it or its session can still be seen.
    pub(crate) main: Option<Mark>,
    /// Whether we are the subreaper of this run, so that orphans may be our children.
    pub(crate) ours: bool,
}

/// The members of a run, as far as they have been seen.
#[derive(Debug)]
pub(crate) struct Tree {
    roots: Roots,
    known: HashSet<Mark>,
}

impl Tree {
    pub(crate) fn new(roots: Roots) -> Self {
        Self { roots, known: HashSet::new() }
    }

    /// Everybody who has not ended, the main process included.
    pub(crate) fn members(&mut self) -> Vec<Mark> {
        let members = self.look(&all());
        self.known.extend(&members);
        members
    }

    /// Signals everybody, and says how many there were.
    pub(crate) fn signal(&mut self, signal: Signal) -> u32 {
        let mut members = self.members();
        outermost_first(&mut members);
        for mark in &members {
            // Who is gone in between needs no signal; who may not be signalled is counted as left at the end.
            drop(send(*mark, signal));
        }
        members.len() as u32
    }

    /// Kills everybody, and says how many are left when the time is over.
    pub(crate) fn kill(&mut self, within: Duration) -> u32 {
        let started = Instant::now();
        loop {
            let members = self.freeze();
            if members.is_empty() {
                return 0;
            }
            let (killed, refused): (Vec<Mark>, Vec<Mark>) =
                members.into_iter().partition(|mark| send(*mark, Signal::KILL).is_ok());
            // Nobody waits for those who may not be killed.
            let left = self.wait_until_gone(&killed, started + within);
            if left > 0 || killed.is_empty() {
                return left + refused.len() as u32;
            }
        }
    }

    /// Stops everybody, until a look finds nobody who was not stopped before.
    fn freeze(&mut self) -> Vec<Mark> {
        let mut frozen = HashSet::new();
        for _ in 0..FREEZE_ROUNDS {
            let members = self.members();
            let awake: Vec<Mark> = members.iter().filter(|mark| !frozen.contains(*mark)).copied().collect();
            if awake.is_empty() {
                return members;
            }
            for mark in awake {
                drop(send(mark, Signal::STOP));
                frozen.insert(mark);
            }
        }
        self.members()
    }

    fn wait_until_gone(&self, members: &[Mark], until: Instant) -> u32 {
        let mut pause = Duration::from_micros(200);
        loop {
            let alive = members.iter().filter(|mark| is_alive(**mark)).count() as u32;
            self.reap(members);
            if alive == 0 || Instant::now() >= until {
                return alive;
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(20));
        }
    }

    /// Reaps those who became our children; the main process is reaped by who watches it.
    fn reap(&self, members: &[Mark]) {
        if !self.roots.ours {
            return;
        }
        for mark in members {
            let adopted = Some(*mark) != self.roots.main && !children::is_main(mark.pid);
            if adopted
                && Stat::read(mark.pid)
                    .is_some_and(|stat| stat.is_zombie() && stat.parent == std::process::id())
                && let Some(pid) = i32::try_from(mark.pid).ok().and_then(Pid::from_raw)
            {
                // The thread that reaps may have been faster.
                drop(wait_status::reap(pid));
            }
        }
    }

    fn look(&self, table: &[Stat]) -> Vec<Mark> {
        let own = std::process::id();
        let sole = self.roots.ours && children::is_sole_run();
        let own_session = table.iter().find(|stat| stat.pid == own).map(|stat| stat.session);
        let mut children: HashMap<u32, Vec<&Stat>> = HashMap::new();
        for stat in table {
            children.entry(stat.parent).or_default().push(stat);
        }
        if mutant::removed("whole_tree") {
            let in_session = |stat: &&Stat| self.roots.main.is_some_and(|main| stat.session == main.pid);
            return table
                .iter()
                .filter(in_session)
                .filter(|stat| !stat.is_zombie())
                .map(Mark::from)
                .collect();
        }
        // The session of a process that is gone may be another one's by now, unless we have not reaped it.
        let is_main_there = table.iter().any(|stat| Some(Mark::from(stat)) == self.roots.main);
        let session = self.roots.main.filter(|_| self.roots.ours || is_main_there).map(|main| main.pid);
        let is_root = |stat: &&Stat| {
            let mark = Mark::from(*stat);
            stat.pid != own
                && stat.pid != 1
                && (Some(mark) == self.roots.main
                    || self.known.contains(&mark)
                    || session == Some(stat.session)
                    || (sole
                        && stat.parent == own
                        && Some(stat.session) != own_session
                        && !children::is_main(stat.pid))
                    || (!stat.is_zombie() && carries(stat.pid, &self.roots.marker)))
        };
        let mut waiting: Vec<&Stat> = table.iter().filter(is_root).collect();
        let mut seen: HashSet<u32> = HashSet::from([own]);
        let mut members = Vec::new();
        while let Some(stat) = waiting.pop() {
            if !seen.insert(stat.pid) {
                continue;
            }
            if !stat.is_zombie() {
                members.push(Mark::from(stat));
            }
            waiting.extend(children.get(&stat.pid).into_iter().flatten());
        }
        members
    }
}

/// Looks at a table that never stands still; after so many, what is known is killed.
const FREEZE_ROUNDS: usize = 64;

fn is_alive(mark: Mark) -> bool {
    Stat::read(mark.pid).is_some_and(|stat| Mark::from(&stat) == mark && !stat.is_zombie())
}

/// Whether a process has the marker in its environment.
pub(crate) fn carries(pid: u32, marker: &str) -> bool {
    markers(pid).is_some_and(|markers| is_among(&markers, marker))
}

/// Whether a process runs our own program. Nobody can look into a supervisor without the rights of root, so one that hides
/// its file is taken for what it is called if it is ours.
pub(crate) fn is_our_program(pid: u32) -> bool {
    let program = |pid: &str| fs::metadata(format!("/proc/{pid}/exe")).map(|file| (file.dev(), file.ino()));
    match program(&pid.to_string()) {
        Ok(other) => program("self").is_ok_and(|own| other == own),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            let name = |pid: &str| fs::read_to_string(format!("/proc/{pid}/comm")).ok();
            is_own(pid) && name(&pid.to_string()).is_some_and(|other| Some(other) == name("self"))
        }
        Err(_) => false,
    }
}

/// Puts supervisors first, and otherwise who began first: a supervisor inside of a run hears of a stop before its command
/// can die of it, so it knows whose doing that is.
pub(crate) fn outermost_first(marks: &mut [Mark]) {
    marks.sort_by_cached_key(|mark| (!is_our_program(mark.pid), mark.started_ticks, mark.pid));
}

/// The markers in the environment of a process, joined by colons.
pub(crate) fn markers(pid: u32) -> Option<Vec<u8>> {
    let environment = match fs::read(format!("/proc/{pid}/environ")) {
        Ok(environment) => environment,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied && is_our_program(pid) => {
            return marker_of_words(&fs::read(format!("/proc/{pid}/cmdline")).ok()?);
        }
        Err(_) => return None,
    };
    let mut entries = environment.split(|byte| *byte == 0);
    entries.find_map(|entry| {
        entry.strip_prefix(MARKER_VARIABLE.as_bytes())?.strip_prefix(b"=").map(<[u8]>::to_vec)
    })
}

/// The markers of a supervisor in the background, as its command line names them: `callboard [--store PATH] shim MARKERS`.
fn marker_of_words(words: &[u8]) -> Option<Vec<u8>> {
    let words: Vec<&[u8]> = words.strip_suffix(b"\0")?.split(|byte| *byte == 0).collect();
    match words.as_slice() {
        [_, b"shim", markers] | [_, b"--store", _, b"shim", markers] => Some(markers.to_vec()),
        _ => None,
    }
}

fn is_among(markers: &[u8], marker: &str) -> bool {
    markers.split(|byte| *byte == b':').any(|found| found == marker.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_command_line_of_a_supervisor_in_the_background_names_markers() {
        let named = |words: &[u8]| marker_of_words(words);
        assert_eq!(named(b"/bin/callboard\0shim\0ses_1:ses_2\0"), Some(b"ses_1:ses_2".to_vec()));
        assert_eq!(named(b"callboard\0--store\0shim\0shim\0ses_2\0"), Some(b"ses_2".to_vec()));
        assert_eq!(named(b"callboard\0run\0--\0x\0shim\0ses_2\0"), None);
        assert_eq!(named(b"callboard\0run\0shim\0ses_2\0"), None);
        assert_eq!(named(b""), None);
    }
}
