//! What a command may reach, the walls that keep it from the rest, and the plan to put them up.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use super::mounts::Mounts;
use super::{filter, mounts, paths, rules};
use crate::StartError;

/// What a command may reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sandbox {
    /// What it may write, with everything beneath. It may read everything that is not hidden.
    pub write: Vec<PathBuf>,
    /// What it can neither read nor write, with everything beneath.
    pub hidden: Vec<PathBuf>,
    /// What it cannot write although it lies in what it may write.
    pub protected: Vec<PathBuf>,
    /// Whether it has a `/tmp` of its own.
    pub private_tmp: bool,
    /// What it reaches over the network.
    pub network: Network,
    /// What happens if a wall cannot stand.
    pub missing: Missing,
}

/// What a command reaches over the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Network {
    /// Everything.
    Open,
    /// TCP connections to these ports, wherever they are; it listens on none. With port 53 among them UDP passes, too.
    Ports(Vec<u16>),
    /// Nothing but itself: a loopback device of its own.
    Loopback,
    /// Nothing: no socket but those in the file system.
    None,
}

/// What happens if a wall cannot stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Missing {
    /// Nothing is started.
    #[default]
    Refuse,
    /// The command is started without it.
    GoOn,
}

/// One kind of thing that a sandbox keeps a command from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wall {
    /// Writing what it may not write.
    Files,
    /// Reading what is hidden.
    Hidden,
    /// Writing what is protected.
    Protected,
    /// Other people's temporary files.
    Tmp,
    /// The network.
    Network,
    /// Signals to processes outside.
    Signals,
    /// Abstract sockets of processes outside.
    Sockets,
    /// System calls that no agent needs.
    Calls,
    /// Rights that it does not have yet, and the capabilities of root that reach beyond files.
    Privileges,
}

impl Wall {
    /// Its name, as it is recorded.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Files => "files",
            Self::Hidden => "hidden",
            Self::Protected => "protected",
            Self::Tmp => "tmp",
            Self::Network => "network",
            Self::Signals => "signals",
            Self::Sockets => "abstract_sockets",
            Self::Calls => "system_calls",
            Self::Privileges => "privileges",
        }
    }
}

/// The walls around a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Walls {
    /// Those that stand, and what holds them.
    pub standing: Vec<(Wall, String)>,
    /// Those that were asked for and do not stand, and why.
    pub missing: Vec<(Wall, String)>,
}

impl Walls {
    pub(super) fn stands(&mut self, wall: Wall, by: &str) {
        self.standing.push((wall, by.to_owned()));
    }

    pub(super) fn lacks(&mut self, wall: Wall, why: impl Into<String>) {
        self.missing.push((wall, why.into()));
    }
}

/// What the child does to put the walls up; made before there is one.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) walls: Walls,
    mounts: Option<Mounts>,
    rules: Option<OwnedFd>,
    filters: Vec<seccompiler::BpfProgram>,
}

/// Whether namespaces are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Namespaces<'a> {
    Tried,
    /// The kernel did not give them.
    Refused(&'a str),
}

impl Plan {
    /// Makes everything ready. `reached` is a socket inside of something hidden that the command writes to.
    pub(crate) fn new(
        sandbox: &Sandbox,
        cwd: &Path,
        reached: Option<&Path>,
        namespaces: Namespaces<'_>,
    ) -> Result<Self, StartError> {
        let mut walls = Walls::default();
        let sandbox = paths::resolved(sandbox, cwd, &mut walls);
        let without = match namespaces {
            Namespaces::Tried => None,
            Namespaces::Refused(why) => Some(why),
        };
        let mounts = match without {
            None => Some(Mounts::new(&sandbox, cwd, reached, &mut walls)?),
            Some(why) => {
                mounts::missing(&sandbox, why, &mut walls);
                None
            }
        };
        let rules = rules::of(&sandbox, mounts.is_some(), &mut walls)?;
        let filters = filter::of(&sandbox, rules.is_some(), &mut walls)?;
        walls.stands(Wall::Privileges, "no_new_privs, capabilities");
        walls.standing.sort();
        let plan = Self { walls, mounts, rules, filters };
        match (sandbox.missing, plan.walls.missing.first()) {
            (Missing::Refuse, Some((wall, why))) => {
                Err(StartError::Sandbox { wall: wall.name(), why: why.clone() })
            }
            (Missing::Refuse | Missing::GoOn, _) => Ok(plan),
        }
    }

    /// Puts up the walls that are made of mounts; in the child, before it enters its directory.
    pub(crate) fn divide(&self) -> Result<(), rustix::io::Errno> {
        self.mounts.as_ref().map_or(Ok(()), |mounts| mounts.perform(self.rules.as_ref()))
    }

    /// Puts up the rest; in the child, as the last thing before it becomes the program.
    pub(crate) fn enclose(&self) -> Result<(), rustix::io::Errno> {
        mounts::drop_capabilities()?;
        rustix::thread::set_no_new_privs(true)?;
        if let Some(rules) = &self.rules {
            rules::restrict(rules)?;
        }
        self.filters
            .iter()
            .try_for_each(|filter| seccompiler::apply_filter(filter).map_err(|_| rustix::io::Errno::INVAL))
    }
}
