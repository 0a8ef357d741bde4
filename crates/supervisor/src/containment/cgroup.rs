//! One run's control group: made before the child, which is born in it, and killed with one write.
//!
//! Invariant: the directory is called `callboard-MARKER`, so that it is found again after our own death; it is removed only
//! when nobody is in it. The child may have made groups of its own inside, so everything here goes down into them.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::process::Signal;

use super::around::is_of_a_run;
use super::hierarchy::hierarchies;
use super::limits;
use super::tree::outermost_first;
use crate::process::{Mark, Sent, Stat, send};
use crate::{Limits, mutant};

/// A control group of version 2, with the groups of version 1 that hold its limits.
#[derive(Debug)]
pub(crate) struct Group {
    path: PathBuf,
    events: File,
    /// Groups of version 1, by controller.
    legacy: Vec<(String, PathBuf)>,
}

impl Group {
    /// Makes the group, or says why there is none.
    pub(crate) fn create(marker: &str, asked: &Limits) -> Result<Self, String> {
        let own = hierarchies().unified.as_ref().ok_or("no control groups of version 2 are mounted")?;
        let name = name(marker);
        let mut path = make(&own.join(&name))?;
        // A group that has processes of its own cannot limit its children; the one above it perhaps can. Beside the run
        // around this one its limits would not count any more.
        if !limits::in_reach(&path, asked)
            && !is_of_a_run(own)
            && let Some(above) = own.parent().filter(|_| hierarchies().unified_root.as_ref() != Some(own))
            && let Ok(beside) = make(&above.join(&name))
        {
            let unused =
                if limits::in_reach(&beside, asked) { std::mem::replace(&mut path, beside) } else { beside };
            // It is empty and was made a moment ago; if it stays, it is found by its name.
            drop(fs::remove_dir(unused));
        }
        Self::open(path).map_err(|error| format!("the control group cannot be read: {error}"))
    }

    fn open(path: PathBuf) -> io::Result<Self> {
        Ok(Self { events: File::open(path.join("cgroup.events"))?, path, legacy: Vec::new() })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a group of version 1.
    pub(super) fn add_legacy(&mut self, controller: &str, path: PathBuf) {
        self.legacy.push((controller.to_owned(), path));
    }

    /// The group itself, for a child that is made in it.
    pub(crate) fn room(&self) -> io::Result<OwnedFd> {
        Ok(File::open(&self.path)?.into())
    }

    /// The file a child writes itself into that was not.
    pub(crate) fn main_door(&self) -> io::Result<OwnedFd> {
        door(&self.path)
    }

    /// The same of the groups of version 1, in which no child can be made.
    pub(crate) fn side_doors(&self) -> io::Result<Vec<OwnedFd>> {
        self.legacy.iter().map(|(_, path)| door(path)).collect()
    }

    /// Becomes ready (with priority) when the last member leaves.
    pub(crate) fn events(&self) -> BorrowedFd<'_> {
        self.events.as_fd()
    }

    /// Is anybody in it who has not ended?
    pub(crate) fn is_populated(&mut self) -> bool {
        let mut text = [0; EVENTS_MAX];
        let read = self.events.read_at(&mut text, 0);
        // A group that cannot be read any more has been removed by somebody else, who could do so only when it was empty.
        read.is_ok_and(|count| text[..count].split(|byte| *byte == b'\n').any(|line| line == b"populated 1"))
    }

    /// Everybody in it.
    pub(crate) fn members(&self) -> Vec<u32> {
        let mut found = Vec::new();
        each(&self.path, &mut |directory| {
            let text = fs::read_to_string(directory.join("cgroup.procs")).unwrap_or_default();
            found.extend(text.lines().filter_map(|line| line.parse::<u32>().ok()).filter(|pid| *pid > 0));
        });
        found
    }

    /// Signals everybody in it, and says how many there were.
    pub(crate) fn signal(&self, signal: Signal) -> u32 {
        let marks = self.members().into_iter().filter_map(Stat::read).map(|stat| Mark::from(&stat));
        let mut marks: Vec<Mark> = marks.collect();
        outermost_first(&mut marks);
        // Who may not be signalled is there all the same.
        let is_there = |mark: &&Mark| !matches!(send(**mark, signal), Ok(Sent::Gone));
        marks.iter().filter(is_there).count() as u32
    }

    /// Kills everybody in it at once, also those who are being born.
    pub(crate) fn kill(&self) {
        if mutant::removed("group_kill") {
            return;
        }
        if fs::write(self.path.join("cgroup.kill"), "1").is_err() {
            // Before Linux 5.14 there is no such file. Whoever forks between two rounds is met in the next one.
            for _ in 0..KILL_ROUNDS {
                if self.signal(Signal::KILL) == 0 {
                    break;
                }
            }
        }
    }

    /// The file that counts which of its members the kernel killed because memory ran out, if there is one.
    pub(super) fn oom_file(&self) -> PathBuf {
        match self.legacy.iter().find(|(controller, _)| controller == "memory") {
            Some((_, path)) => path.join("memory.oom_control"),
            None => self.path.join("memory.events"),
        }
    }

    /// Removes the empty group; `false` if somebody is in it.
    pub(crate) fn remove(&self) -> bool {
        let removed = remove(&self.path);
        let left = self.legacy.iter().filter(|(_, path)| !remove(path)).count();
        removed && left == 0
    }
}

/// More than the few short lines of the file that tells whether anybody is in a group.
const EVENTS_MAX: usize = 256;
/// Rounds of killing where the kernel cannot kill a group by itself.
const KILL_ROUNDS: usize = 100;
/// How deep groups are looked through.
const DEPTH_MAX: usize = 16;

/// How the name of every group of a run begins.
pub(super) const PREFIX: &str = "callboard-";

pub(super) fn name(marker: &str) -> String {
    format!("{PREFIX}{marker}")
}

fn door(group: &Path) -> io::Result<OwnedFd> {
    Ok(File::options().write(true).open(group.join("cgroup.procs"))?.into())
}

/// Makes a directory and gives it back.
pub(super) fn make(path: &Path) -> Result<PathBuf, String> {
    match fs::create_dir(path) {
        Ok(()) => Ok(path.to_owned()),
        Err(error) => Err(format!("the control group {} cannot be made: {error}", path.display())),
    }
}

/// Finds the groups of a run by its marker, after its supervisor died.
pub(crate) fn find(marker: &str) -> Vec<Group> {
    let name = name(marker);
    let mut paths = Vec::new();
    if let Some(root) = &hierarchies().unified_root {
        each(root, &mut |directory| {
            if directory.file_name().is_some_and(|found| *found == *name) {
                paths.push(directory.to_owned());
            }
        });
    }
    let mut groups: Vec<Group> = paths.into_iter().filter_map(|path| Group::open(path).ok()).collect();
    if let Some(group) = groups.first_mut() {
        for (controller, own) in &hierarchies().legacy {
            // That of a run inside of another one lies below the other's.
            each(own, &mut |directory| {
                if directory.file_name().is_some_and(|found| *found == *name) {
                    group.add_legacy(controller, directory.to_owned());
                }
            });
        }
    }
    groups
}

/// The members of the groups of every run on this host, by its marker.
pub(crate) fn group_members() -> HashMap<String, HashSet<u32>> {
    let mut found: HashMap<String, HashSet<u32>> = HashMap::new();
    let Some(root) = &hierarchies().unified_root else { return found };
    each(root, &mut |directory| {
        let marker = directory.file_name().and_then(|name| name.to_str()?.strip_prefix(PREFIX));
        if let (Some(marker), Ok(group)) = (marker, Group::open(directory.to_owned())) {
            found.entry(marker.to_owned()).or_default().extend(group.members());
        }
    });
    found
}

/// Visits a directory of groups and all below it.
pub(super) fn each(top: &Path, visit: &mut dyn FnMut(&Path)) {
    let mut waiting = vec![(top.to_owned(), 0)];
    while let Some((directory, depth)) = waiting.pop() {
        visit(&directory);
        let entries = fs::read_dir(&directory).into_iter().flatten().flatten();
        let below = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        if depth < DEPTH_MAX {
            waiting.extend(below.map(|entry| (entry.path(), depth + 1)));
        }
    }
}

/// Removes a directory of groups, innermost first; `false` if it is still there.
fn remove(path: &Path) -> bool {
    match fs::remove_dir(path) {
        Ok(()) => return true,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return true,
        Err(_) => {}
    }
    let mut directories = Vec::new();
    each(path, &mut |directory| directories.push(directory.to_owned()));
    directories.iter().rev().filter(|directory| fs::remove_dir(directory).is_err()).count() == 0
}
