//! The signals that reach us in the foreground, for an owner that wants them: nothing is caught before somebody asks.
//!
//! Invariant: a signal that who started us ignores stays ignored, so that `nohup` means what it says. Each is caught
//! together with its sender, in one word that the handler writes; of two senders between two looks the terminal is kept,
//! because a wrapper that passes on a key sends the same signal once more.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use signal_hook::SigId;

use crate::watching::sender::now_ticks;
use crate::{Caught, Received, Sender};

/// The signals of this process, until it is dropped.
#[derive(Debug)]
pub struct Signals {
    bell: UnixStream,
    noted: Vec<(Caught, Arc<AtomicU64>)>,
    registered: Vec<SigId>,
    had_terminal: bool,
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
        let had_terminal = has_terminal();
        let mut signals = Self { bell, noted: Vec::new(), registered: Vec::new(), had_terminal };
        let ignored = ignored();
        for (number, caught) in TAKEN {
            if ignored >> (number - 1) & 1 == 1 {
                continue;
            }
            let note = Arc::new(AtomicU64::new(0));
            signals.registered.push(register(number, Arc::clone(&note))?);
            let ring = OwnedFd::from(ring.try_clone()?);
            signals.registered.push(signal_hook::low_level::pipe::register(number, ring)?);
            signals.noted.push((caught, note));
        }
        Ok(signals)
    }

    /// Takes what has been caught since the last time.
    pub fn caught(&mut self) -> Vec<Received> {
        let mut bytes = [0; 64];
        while rustix::io::read(&self.bell, &mut bytes).is_ok_and(|count| count == bytes.len()) {}
        let mut received = Vec::new();
        for (caught, note) in &self.noted {
            let note = note.swap(0, Ordering::AcqRel);
            if note != 0 {
                received.push(Received { caught: *caught, sender: self.sender(*caught, note) });
            }
        }
        received
    }

    fn sender(&self, caught: Caught, note: u64) -> Sender {
        // A shell passes on the hangup of the terminal to its jobs, so the terminal itself is asked.
        if caught == Caught::Hangup && self.had_terminal && !has_terminal() {
            return Sender::Terminal;
        }
        let is_key = matches!(caught, Caught::Interrupt | Caught::Quit | Caught::Suspend);
        match note & KERNEL {
            0 if note & PID_MAX == 0 => Sender::Unseen,
            0 => {
                let (pid, uid) = ((note & PID_MAX) as u32, (note >> UID_AT) as u32);
                Sender::Process { pid, uid, noticed_ticks: now_ticks() }
            }
            _ if is_key => Sender::Terminal,
            _ => Sender::Kernel,
        }
    }
}

/// A note is one word: the pid of the sender below, then its user, then whether the kernel sent the signal, then that
/// there is one. So a note of the kernel's is the larger one, and the handler keeps the largest.
const PID_MAX: u64 = (1 << UID_AT) - 1;
/// The kernel gives out no pid of more than 22 bits.
const UID_AT: u32 = 24;
const KERNEL: u64 = 1 << 62;
const CAUGHT: u64 = 1 << 63;

/// The user is kept to 32 bits between the pid and the flags.
const _: () = assert!(UID_AT + 32 < 62);

#[expect(unsafe_code, reason = "no safe function tells who sent a signal without a C compiler at build time")]
fn register(number: i32, note: Arc<AtomicU64>) -> io::Result<SigId> {
    let handler = move |information: &libc::siginfo_t| {
        let seen = match information.si_code {
            // SAFETY: for these codes the kernel has filled in the pid and the user of the sender.
            libc::SI_USER | libc::SI_QUEUE | libc::SI_TKILL => unsafe {
                let (pid, uid) = (information.si_pid(), information.si_uid());
                u64::from(uid) << UID_AT | (u64::from(pid.unsigned_abs()) & PID_MAX)
            },
            _ => KERNEL,
        };
        note.fetch_max(CAUGHT | seen, Ordering::AcqRel);
    };
    // SAFETY: the handler only changes an atomic number, which is allowed at any moment.
    unsafe { signal_hook_registry::register_sigaction(number, handler) }
}

/// Whether our session has a terminal.
fn has_terminal() -> bool {
    File::options().read(true).write(true).open("/dev/tty").is_ok()
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
    ignored_by("self")
}

/// Whether a process ignores a signal.
pub(crate) fn is_ignored_by(pid: u32, number: i32) -> bool {
    ignored_by(&pid.to_string()) >> (number - 1) & 1 == 1
}

fn ignored_by(pid: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    status
        .lines()
        .find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok())
        .unwrap_or_default()
}
