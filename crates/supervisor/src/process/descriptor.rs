//! A descriptor of one process, which becomes readable when that process has ended.
//!
//! Invariant: who the process is is read after the descriptor was opened. From then on the descriptor means one process,
//! and if that one is not the process that was asked for, the pid had been given out again before.

use std::io;
use std::os::fd::OwnedFd;

use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::{Identity, Sighting, look};

/// Opens a descriptor of a process; `None` if the process has ended. A process that cannot be seen from here is an error.
pub fn descriptor(identity: &Identity) -> io::Result<Option<OwnedFd>> {
    let Some(pid) = i32::try_from(identity.pid).ok().and_then(Pid::from_raw) else { return Ok(None) };
    let opened = match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(opened) => Some(opened),
        Err(rustix::io::Errno::SRCH | rustix::io::Errno::INVAL) => None,
        Err(error) => return Err(error.into()),
    };
    let seen = look(identity)?;
    if matches!(seen, Sighting::Alive | Sighting::Stopped) {
        return Ok(opened);
    }
    if matches!(seen, Sighting::Gone | Sighting::Zombie | Sighting::OtherBoot) {
        return Ok(None);
    }
    Err(io::Error::new(io::ErrorKind::Unsupported, "the process cannot be seen from here"))
}

#[cfg(test)]
mod tests {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    use super::*;
    use crate::process::{of, this};

    fn is_readable(descriptor: &OwnedFd) -> bool {
        let mut polled = [PollFd::new(descriptor, PollFlags::IN)];
        poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).unwrap() > 0
    }

    #[test]
    fn a_descriptor_tells_the_end_of_its_process_and_of_no_namesake() {
        let own = this().unwrap();
        assert!(
            descriptor(&Identity { started_ticks: own.started_ticks + 1, ..own.clone() }).unwrap().is_none()
        );
        assert!(descriptor(&Identity { boot: "another".to_owned(), ..own.clone() }).unwrap().is_none());
        let open = descriptor(&own).unwrap().unwrap();
        assert!(!is_readable(&open));
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test ends the process it starts")]
    fn a_process_that_ended_is_readable_and_one_that_waits_for_its_parent_has_ended() {
        let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let identity = of(child.id()).unwrap().unwrap();
        let open = descriptor(&identity).unwrap().unwrap();
        assert!(!is_readable(&open));
        child.kill().unwrap();
        let mut polled = [PollFd::new(&open, PollFlags::IN)];
        assert_eq!(poll(&mut polled, Some(&Timespec { tv_sec: 60, tv_nsec: 0 })).unwrap(), 1);
        assert!(descriptor(&identity).unwrap().is_none(), "nobody has asked yet how it ended");
        child.wait().unwrap();
    }
}
