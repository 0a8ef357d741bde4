//! Signals that never reach a stranger.

use std::io;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::{Identity, Sighting, Stat, look};
use crate::mutant;

/// What became of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// It was delivered to this process.
    Delivered,
    /// The process is gone, and nobody got anything.
    Gone,
}

/// A process of this boot and host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Mark {
    pub(crate) pid: u32,
    pub(crate) started_ticks: u64,
}

impl From<&Stat> for Mark {
    fn from(stat: &Stat) -> Self {
        Self { pid: stat.pid, started_ticks: stat.started_ticks }
    }
}

/// Sends a signal to a process, if it is still the same one.
pub fn signal(identity: &Identity, number: i32) -> io::Result<Sent> {
    let signal =
        Signal::from_named_raw(number).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    match look(identity)? {
        Sighting::Gone | Sighting::OtherBoot => return Ok(Sent::Gone),
        Sighting::OtherHost => {
            return Err(io::Error::other(format!("the process is on the host {}", identity.host)));
        }
        Sighting::OtherPidNamespace => {
            return Err(io::Error::other("the process cannot be seen from this PID namespace"));
        }
        Sighting::OtherTimeNamespace => {
            return Err(io::Error::other("the process cannot be told from others in this time namespace"));
        }
        Sighting::Alive | Sighting::Stopped | Sighting::Zombie => {}
    }
    send(Mark { pid: identity.pid, started_ticks: identity.started_ticks }, signal)
}

/// Sends a signal through a pidfd. The start time is read after the pidfd was opened: from then on the descriptor means
/// one process, and if that one began at another time, the pid had been given out again before.
pub(crate) fn send(mark: Mark, signal: Signal) -> io::Result<Sent> {
    let Some(pid) = i32::try_from(mark.pid).ok().and_then(Pid::from_raw) else { return Ok(Sent::Gone) };
    let descriptor = match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(descriptor) => descriptor,
        Err(rustix::io::Errno::SRCH | rustix::io::Errno::INVAL) => return Ok(Sent::Gone),
        Err(error) => return Err(error.into()),
    };
    let same = Stat::read(mark.pid).is_some_and(|stat| Mark::from(&stat) == mark);
    if !same && !mutant::removed("start_time") {
        return Ok(Sent::Gone);
    }
    match pidfd_send_signal(&descriptor, signal) {
        Ok(()) => Ok(Sent::Delivered),
        Err(rustix::io::Errno::SRCH) => Ok(Sent::Gone),
        Err(error) => Err(error.into()),
    }
}
