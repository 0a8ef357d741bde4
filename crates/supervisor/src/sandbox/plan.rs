//! What a command may reach, the walls that keep it from the rest, and the plan to put them up.

use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::filter::Filters;
use super::guard::{Guard, Listening};
use super::handover::{Giver, Purpose};
use super::hosts::AllowedHost;
use super::mounts::Mounts;
use super::{filter, mounts, paths, rules};
use crate::StartError;
use crate::watching::waker::Wake;

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
    /// These hosts, through a proxy that resolves their names; and itself: a loopback device of its own.
    Hosts(Vec<AllowedHost>),
    /// Nothing but itself: a loopback device of its own.
    Loopback,
    /// Nothing: no socket but those in the file system.
    None,
}

impl Network {
    /// Is it a network namespace of its own?
    pub(super) const fn is_own(&self) -> bool {
        match self {
            Self::Hosts(_) | Self::Loopback => true,
            Self::Open | Self::Ports(_) | Self::None => false,
        }
    }

    /// The hosts that are reached through a proxy.
    fn hosts(&self) -> Option<&[AllowedHost]> {
        match self {
            Self::Hosts(hosts) => Some(hosts),
            Self::Open | Self::Ports(_) | Self::Loopback | Self::None => None,
        }
    }
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
    filters: Filters,
    /// Where the child hands over what its guard needs.
    giver: Giver,
    guard: Guard,
    /// The proxy, as the environment of the command names it.
    proxy: Vec<(&'static str, String)>,
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
        wake: Arc<Wake>,
    ) -> Result<Self, StartError> {
        let mut walls = Walls::default();
        let mut sandbox = paths::resolved(sandbox, cwd, &mut walls);
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
        let listening = if mounts.is_some() { Listening::Inside } else { Listening::Outside };
        let proxied = sandbox.network.hosts().map(|hosts| (hosts, listening));
        let (guard, giver, port) = Guard::begin(proxied, wake)
            .map_err(|source| StartError::Setup { what: "watch the sandbox", source })?;
        let proxy = port.map(|port| environment(port, &sandbox.network)).unwrap_or_default();
        if let Some(port) = port.filter(|_| listening == Listening::Outside) {
            // Of the host nothing else is reached, and other hosts at this port, which is told.
            sandbox.network = Network::Ports(vec![port]);
        }
        let rules = rules::of(&sandbox, mounts.is_some(), &mut walls)?;
        let filters = filter::of(&sandbox, rules.is_some(), &mut walls)?;
        walls.stands(Wall::Privileges, "no_new_privs, capabilities");
        let lost: Vec<Wall> = walls.missing.iter().map(|(wall, _)| *wall).collect();
        walls.standing.retain(|(wall, _)| *wall != Wall::Network || !lost.contains(wall));
        walls.standing.sort();
        let plan = Self { walls, mounts, rules, filters, giver, guard, proxy };
        match (sandbox.missing, plan.walls.missing.first()) {
            (Missing::Refuse, Some((wall, why))) => {
                Err(StartError::Sandbox { wall: wall.name(), why: why.clone() })
            }
            (Missing::Refuse | Missing::GoOn, _) => Ok(plan),
        }
    }

    /// Puts up the walls that are made of mounts; in the child, before it enters its directory.
    pub(crate) fn divide(&self) -> Result<(), rustix::io::Errno> {
        self.mounts.as_ref().map_or(Ok(()), |mounts| mounts.perform(self.rules.as_ref(), &self.giver))
    }

    /// What the environment of the command has for the sandbox.
    pub(crate) fn environment(&self) -> impl Iterator<Item = (OsString, Option<OsString>)> {
        self.proxy.iter().map(|(name, value)| ((*name).into(), Some(value.into())))
    }

    /// What is left when there is a child: the walls, and who watches them.
    pub(crate) fn into_guarded(self) -> (Walls, Guard) {
        (self.walls, self.guard)
    }

    /// Puts up the rest; in the child, as the last thing before it becomes the program.
    pub(crate) fn enclose(&self) -> Result<(), rustix::io::Errno> {
        mounts::drop_capabilities()?;
        rustix::thread::set_no_new_privs(true)?;
        if let Some(rules) = &self.rules {
            rules::restrict(rules)?;
        }
        match self.filters.enforce()? {
            Some(asked) => self.giver.give(Purpose::Calls, asked.as_fd()),
            None => Ok(()),
        }
    }
}

/// The variables by which programs know their proxy. What names the command's own loopback device goes past it, unless that
/// name is listed: then it is this machine that is meant.
fn environment(port: u16, network: &Network) -> Vec<(&'static str, String)> {
    const PROXY: [&str; 6] =
        ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
    let is_here_listed = network.hosts().unwrap_or_default().iter().any(AllowedHost::is_here);
    let past = if is_here_listed { "" } else { "localhost,127.0.0.1,::1" };
    let proxy = format!("http://127.0.0.1:{port}");
    let mut variables: Vec<_> = PROXY.map(|name| (name, proxy.clone())).into();
    variables.extend(["NO_PROXY", "no_proxy"].map(|name| (name, past.to_owned())));
    // Node looks at the others only if it is told to.
    variables.push(("NODE_USE_ENV_PROXY", "1".to_owned()));
    variables
}
