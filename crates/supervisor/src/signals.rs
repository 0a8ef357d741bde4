//! The signals that reach us in the foreground, for an owner that wants them: nothing is caught before somebody asks.
//!
//! Invariant: a signal that who started us ignores stays ignored, so that `nohup` means what it says.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::SigId;

use crate::Caught;

/// The signals of this process, until it is dropped.
#[derive(Debug)]
pub struct Signals {
    bell: UnixStream,
    flags: Vec<(Caught, Arc<AtomicBool>)>,
    registered: Vec<SigId>,
}

const TAKEN: [(i32, Caught); 7] = [
    (libc::SIGINT, Caught::Interrupt),
    (libc::SIGTERM, Caught::Terminate),
    (libc::SIGHUP, Caught::Hangup),
    (libc::SIGQUIT, Caught::Quit),
    (libc::SIGWINCH, Caught::Resize),
    (libc::SIGTSTP, Caught::Suspend),
    (libc::SIGCONT, Caught::Resume),
];

impl Signals {
    /// Catches INT, TERM, HUP, QUIT, WINCH, TSTP and CONT from here on.
    pub fn take() -> io::Result<Self> {
        let (bell, ring) = UnixStream::pair()?;
        bell.set_nonblocking(true)?;
        let mut signals = Self { bell, flags: Vec::new(), registered: Vec::new() };
        let ignored = ignored();
        for (number, caught) in TAKEN {
            if ignored >> (number - 1) & 1 == 1 {
                continue;
            }
            let flag = Arc::new(AtomicBool::new(false));
            signals.registered.push(signal_hook::flag::register(number, Arc::clone(&flag))?);
            let ring = OwnedFd::from(ring.try_clone()?);
            signals.registered.push(signal_hook::low_level::pipe::register(number, ring)?);
            signals.flags.push((caught, flag));
        }
        Ok(signals)
    }

    /// Takes what has been caught since the last time.
    pub fn caught(&mut self) -> Vec<Caught> {
        let mut bytes = [0; 64];
        while rustix::io::read(&self.bell, &mut bytes).is_ok_and(|count| count == bytes.len()) {}
        let set = |(_, flag): &&(Caught, Arc<AtomicBool>)| flag.swap(false, Ordering::AcqRel);
        self.flags.iter().filter(set).map(|(caught, _)| *caught).collect()
    }
}

impl AsFd for Signals {
    /// Becomes readable when there is something to take.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for id in &self.registered {
            signal_hook::low_level::unregister(*id);
        }
    }
}

/// The signals that are ignored, as the kernel counts them.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok())
        .unwrap_or_default()
}
