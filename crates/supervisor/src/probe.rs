//! What this host offers for supervising processes, tried out one by one.
//!
//! Invariant: everything that is tried is undone, and a wall is told to stand only if a command stood behind it. Deliberately
//! absent: control groups, which `containment::probe` tries.

use std::io;

use rustix::process::{PidfdFlags, getpid, pidfd_open, set_child_subreaper};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};

use crate::sandbox::{Missing, Network, Sandbox, Sightings, Wall, Walls};
use crate::{Climb, Observer, Spec, StartError, start};

/// Can processes be told apart, by their start time and the boot?
pub fn process_table() -> io::Result<()> {
    crate::process::this().map(|_| ())
}

/// Can a process be signalled without the risk of meeting another one under its pid?
pub fn pidfd() -> io::Result<()> {
    pidfd_open(getpid(), PidfdFlags::empty())?;
    Ok(())
}

/// Can orphans of a run become children of its supervisor?
pub fn subreaper() -> io::Result<()> {
    set_child_subreaper(Some(getpid()))?;
    Ok(set_child_subreaper(None)?)
}

/// Can a run be given a terminal of its own?
pub fn pty() -> io::Result<()> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let controller = openpt(flags)?;
    grantpt(&controller)?;
    unlockpt(&controller)?;
    ioctl_tiocgptpeer(&controller, flags)?;
    Ok(())
}

/// What a sandbox can be made of here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offered {
    /// The walls that stood around a command with a network of its own, and those that could not.
    pub walls: Walls,
    /// Whether the network can be closed but for some ports, or why not.
    pub ports: Result<(), String>,
    /// Whether refused system calls are told to us.
    pub sees_calls: bool,
}

/// Puts walls around a command that does nothing, and looks which of them stand.
pub fn sandbox() -> Result<Offered, StartError> {
    let (mut walls, sees_calls) = try_walls(Network::Loopback)?;
    walls.standing.sort();
    let (by_port, _) = try_walls(Network::Ports(vec![443]))?;
    let missing = by_port.missing.into_iter().find(|(wall, _)| *wall == Wall::Network);
    Ok(Offered { walls, ports: missing.map_or(Ok(()), |(_, why)| Err(why)), sees_calls })
}

/// The walls around a command with this network, and whether its refused calls were told to us.
fn try_walls(network: Network) -> Result<(Walls, bool), StartError> {
    struct Watching(bool);

    impl Observer for Watching {
        fn sighted(&mut self, sightings: &Sightings) {
            self.0 = sightings.calls.is_some();
        }
    }

    let mut spec = Spec::new("true", format!("probe-{}", std::process::id()));
    spec.cwd = "/".into();
    spec.climb = Climb::Tree;
    spec.sandbox = Some(Sandbox {
        write: Vec::new(),
        hidden: vec!["/var/tmp".into()],
        protected: vec!["/etc/passwd".into()],
        private_tmp: true,
        network,
        missing: Missing::GoOn,
    });
    let running = start(spec)?;
    let walls = running.walls().cloned().unwrap_or_default();
    let mut watching = Watching(false);
    running.watch(&mut watching);
    Ok((walls, watching.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::containment;

    #[test]
    fn whatever_is_tried_leaves_nothing_behind() {
        for tried in [process_table(), pidfd(), subreaper(), pty()] {
            tried.unwrap();
        }
        let held = containment::probe();
        if let containment::Rung::Cgroup { path } = &held.rung {
            assert!(!path.exists(), "{}", path.display());
        }
        assert_ne!(held.memory, containment::Force::NotAsked);
    }
}
