//! Where the kernel asks about the calls that the filter refuses: each is counted and answered with EPERM.
//!
//! Invariant: nothing of the command is read but the number of the call and its first argument, which the kernel copied, and
//! nothing is ever allowed. At most so many calls a second are answered, one a round; whoever makes more waits for their own
//! answers. A process that waits can be killed. When nobody holds the descriptor any more the kernel answers ENOSYS.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::filter;
use super::mounts::last;
use super::sightings::Notebook;

/// How many are answered at once.
const BURST: u32 = 1024;
/// How many of those are won back a second.
const A_SECOND: u32 = 1000;

/// Where the kernel asks.
#[derive(Debug)]
pub(super) struct Calls {
    asked: OwnedFd,
    left: u32,
    since: Instant,
}

/// Whether the kernel will ask again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    Perhaps,
    /// Nobody is left who could be refused anything.
    NoMore,
}

impl AsFd for Calls {
    /// Becomes readable when there is a question.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.asked.as_fd()
    }
}

impl Calls {
    pub(super) fn new(asked: OwnedFd) -> Self {
        Self { asked, left: BURST, since: Instant::now() }
    }

    /// How long no question is taken, if too many were.
    pub(super) fn pause(&self) -> Option<Timespec> {
        let is_over = self.left > 0 || self.since.elapsed() >= TURN;
        (!is_over).then_some(Timespec { tv_sec: 0, tv_nsec: TURN.subsec_nanos().into() })
    }

    /// Answers one question, if there is one.
    pub(super) fn answer(&mut self, notebook: &Notebook) -> Asked {
        self.win_back();
        let mut waiting = [PollFd::new(&self.asked, PollFlags::IN)];
        let found = poll(&mut waiting, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
        let events = waiting[0].revents();
        if found.is_err() || !events.contains(PollFlags::IN) {
            return if events.contains(PollFlags::HUP) { Asked::NoMore } else { Asked::Perhaps };
        }
        if self.left == 0 {
            return Asked::Perhaps;
        }
        self.left -= 1;
        // Who asked may have been killed meanwhile.
        if let Ok(question) = question(&self.asked) {
            notebook.call(filter::name(question.data.nr, question.data.args[0]));
            refuse(&self.asked, question.id).ok();
        }
        Asked::Perhaps
    }

    fn win_back(&mut self) {
        let turns = (self.since.elapsed().as_micros() / TURN.as_micros()).try_into().unwrap_or(u32::MAX);
        if turns > 0 {
            self.left = self.left.saturating_add(turns.saturating_mul(A_TURN)).min(BURST);
            self.since = Instant::now();
        }
    }
}

/// How often answers are won back, and how many.
const TURN: Duration = Duration::from_millis(10);
const A_TURN: u32 = A_SECOND / 100;
const _: () = assert!(A_TURN > 0 && A_TURN <= BURST);

/// Takes a question.
#[expect(unsafe_code, reason = "there is no safe function for this request")]
fn question(asked: &OwnedFd) -> Result<libc::seccomp_notif, Errno> {
    // SAFETY: all zeros is a value of the structure and what the kernel wants it to be; the request fills it and nothing else.
    unsafe {
        let mut question: libc::seccomp_notif = std::mem::zeroed();
        match libc::ioctl(asked.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut question) {
            -1 => Err(last()),
            _ => Ok(question),
        }
    }
}

/// Answers a question.
#[expect(unsafe_code, reason = "there is no safe function for this request")]
fn refuse(asked: &OwnedFd, id: u64) -> Result<(), Errno> {
    let answer = libc::seccomp_notif_resp { id, val: 0, error: -libc::EPERM, flags: 0 };
    // SAFETY: the request reads the structure, which lives across it.
    let sent = unsafe { libc::ioctl(asked.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw const answer) };
    if sent == -1 { Err(last()) } else { Ok(()) }
}
