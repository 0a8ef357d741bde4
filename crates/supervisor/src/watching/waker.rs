//! How another thread wakes the thread that watches a run.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use rustix::event::{EventfdFlags, eventfd};

use crate::StopCause;

/// What others may leave for the watching thread.
#[derive(Debug)]
pub(crate) struct Wake {
    bell: OwnedFd,
    /// 0, or 1 + the place of the cause in `CAUSES`: the first one wins.
    stop: AtomicU8,
    hurry: AtomicBool,
    /// The main process changed between stopped and going on.
    moved: AtomicU8,
    /// The sandbox noticed something that the owner does not know.
    sighted: AtomicBool,
}

const CAUSES: [StopCause; 12] = [
    StopCause::Interrupt,
    StopCause::Quit,
    StopCause::Terminate,
    StopCause::Hangup,
    StopCause::SentInterrupt,
    StopCause::SentQuit,
    StopCause::SentHangup,
    StopCause::Operator,
    StopCause::Parent,
    StopCause::Agent,
    StopCause::Budget,
    StopCause::Shutdown,
];

impl Wake {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            bell: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            stop: AtomicU8::new(0),
            hurry: AtomicBool::new(false),
            moved: AtomicU8::new(0),
            sighted: AtomicBool::new(false),
        })
    }

    pub(crate) fn bell(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }

    /// Asks for a stop; who asks second hurries the first.
    pub(crate) fn stop(&self, cause: StopCause) {
        let place = CAUSES.iter().position(|known| *known == cause).unwrap_or(0) as u8 + 1;
        if self.stop.compare_exchange(0, place, Ordering::AcqRel, Ordering::Acquire).is_err() {
            self.hurry.store(true, Ordering::Release);
        }
        self.ring();
    }

    pub(crate) fn hurry(&self) {
        self.hurry.store(true, Ordering::Release);
        self.ring();
    }

    /// The main process was stopped, or goes on.
    pub(crate) fn moved(&self, stopped: bool) {
        self.moved.store(1 + u8::from(stopped), Ordering::Release);
        self.ring();
    }

    /// The sandbox noticed something new.
    pub(crate) fn sighted(&self) {
        self.sighted.store(true, Ordering::Release);
        self.ring();
    }

    fn ring(&self) {
        // It fails only when the bell has been rung 2^64 times and nobody came, who is then awake anyway.
        rustix::io::write(&self.bell, &1u64.to_ne_bytes()).ok();
    }

    /// Silences the bell and takes what was left.
    pub(crate) fn take(&self) -> Asked {
        let mut count = [0u8; 8];
        // Nothing to read means that the bell did not ring, which is an answer too.
        rustix::io::read(&self.bell, &mut count).ok();
        Asked {
            stop: (self.stop.load(Ordering::Acquire) as usize).checked_sub(1).map(|place| CAUSES[place]),
            hurry: self.hurry.load(Ordering::Acquire),
            stopped: match self.moved.swap(0, Ordering::AcqRel) {
                0 => None,
                stopped => Some(stopped == 2),
            },
            sighted: self.sighted.swap(false, Ordering::AcqRel),
        }
    }
}

/// What others asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    pub(crate) stop: Option<StopCause>,
    pub(crate) hurry: bool,
    pub(crate) stopped: Option<bool>,
    pub(crate) sighted: bool,
}
