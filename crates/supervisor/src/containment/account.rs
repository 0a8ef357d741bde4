//! Which rung a run got and which limits are in force, to be recorded; and what holds the tree while it lives.

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use rustix::process::Resource;

use super::cgroup::Group;
use super::limits;
use super::memory::MemoryKills;
use crate::Limits;

/// What holds a run, and what limits it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Containment {
    /// What holds the tree together.
    pub rung: Rung,
    /// The memory limit.
    pub memory: Force,
    /// The limit of CPU time or of CPU share.
    pub cpu: Force,
    /// The limit of processes.
    pub processes: Force,
    /// Whether kills for memory are counted for this run alone, so that one can always be told from any other KILL.
    pub sees_oom: bool,
}

/// A step of the ladder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rung {
    /// A control group of version 2.
    Cgroup {
        /// Its directory.
        path: PathBuf,
    },
    /// A session of its own, a subreaper, and the marker.
    Tree {
        /// Why there is no control group.
        why: String,
    },
}

/// How a limit is held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Force {
    /// Nobody asked for it.
    NotAsked,
    /// By a control group, for the whole tree.
    Cgroup,
    /// By a resource limit, which each process has for itself.
    Rlimit,
    /// Not at all, and why.
    Missing(String),
}

/// What holds the tree while it lives.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) group: Option<Group>,
    pub(crate) rlimits: Vec<(Resource, u64)>,
    pub(crate) containment: Containment,
    /// What is counted when memory runs out.
    pub(crate) memory_kills: MemoryKills,
}

impl Held {
    /// The control group a child can be made in.
    pub(crate) fn room(&self) -> io::Result<Option<OwnedFd>> {
        self.group.as_ref().map(Group::room).transpose()
    }

    /// The file a child writes itself into that was not made in the group.
    pub(crate) fn main_door(&self) -> io::Result<Option<OwnedFd>> {
        self.group.as_ref().map(Group::main_door).transpose()
    }

    /// The files every child writes itself into.
    pub(crate) fn side_doors(&self) -> io::Result<Vec<OwnedFd>> {
        self.group.as_ref().map_or_else(|| Ok(Vec::new()), Group::side_doors)
    }

    /// Removes what was made for a child that never was.
    pub(crate) fn discard(&self) {
        if let Some(group) = &self.group {
            group.remove();
        }
    }
}

/// Climbs as high as it can; `without_group` says why the first rung must not be tried.
pub(crate) fn hold(marker: &str, asked: &Limits, without_group: Option<String>) -> Held {
    let group = match without_group {
        Some(why) => Err(why),
        None => Group::create(marker, asked),
    };
    let (group, rung) = match group {
        Ok(group) => {
            let path = group.path().to_owned();
            (Some(group), Rung::Cgroup { path })
        }
        Err(why) => (None, Rung::Tree { why }),
    };
    let mut containment = Containment {
        rung,
        memory: Force::NotAsked,
        cpu: Force::NotAsked,
        processes: Force::NotAsked,
        sees_oom: false,
    };
    let (group, rlimits) = limits::impose(marker, asked, group, &mut containment);
    let memory_kills = MemoryKills::before(group.as_ref());
    containment.sees_oom = memory_kills.is_own();
    Held { group, rlimits, containment, memory_kills }
}

/// Tries out what a run would get on this host at this moment: makes a group with every limit, and removes it.
#[must_use]
pub fn probe() -> Containment {
    let asked = Limits {
        memory_bytes: Some(1 << 30),
        cpu_seconds: None,
        cpu_percent: Some(100),
        processes: Some(1_000),
    };
    let held = hold(&format!("probe-{}", std::process::id()), &asked, None);
    held.discard();
    held.containment
}
