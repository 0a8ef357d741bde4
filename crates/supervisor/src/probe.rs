//! What this host offers for supervising processes, tried out one by one.
//!
//! Invariant: everything that is tried is undone. Deliberately absent: control groups, which `containment::probe` tries.

use std::io;

use rustix::process::{PidfdFlags, getpid, pidfd_open, set_child_subreaper};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};

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
