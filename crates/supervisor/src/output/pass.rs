//! Passes one stream on to our own stdout or stderr.
//!
//! Invariant: it never waits. What the reader does not take at once goes to the [`Spill`], and from then on everything
//! does until it is empty, so the order stays. A reader that is gone ends the passing-on and nothing else. Our own
//! descriptor is not made non-blocking, since others share it: a pipe or a terminal is opened again for ourselves.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, Mode, OFlags};

use super::spill::Spill;
use crate::Passed;

/// The way to one of our own outputs.
#[derive(Debug)]
pub(super) struct Pass {
    target: Target,
    spill: Option<Spill>,
    spill_dir: PathBuf,
    passed: Passed,
}

#[derive(Debug)]
enum Target {
    /// Opened again, without waiting.
    Own(OwnedFd),
    /// A file, which takes everything.
    File(BorrowedFd<'static>),
    /// A socket, written to without waiting.
    Socket(BorrowedFd<'static>),
    /// Something that cannot be opened again: as little at a time as a pipe that is ready takes without waiting.
    Small(BorrowedFd<'static>),
    Gone,
}

/// The most a backlog may be.
const BACKLOG_MAX: u64 = 4 << 30;
/// What a pipe that is ready takes at once.
const SMALL_BYTES: usize = 4096;

impl Pass {
    pub(super) fn new(output: BorrowedFd<'static>, spill_dir: PathBuf) -> Self {
        Self { target: Target::of(output), spill: None, spill_dir, passed: Passed::default() }
    }

    /// What became of it.
    pub(super) const fn account(&self) -> Passed {
        self.passed
    }

    /// The descriptor to wait for, while something waits.
    pub(super) fn waits_for(&self) -> Option<BorrowedFd<'_>> {
        self.spill.as_ref().filter(|spill| !spill.is_empty())?;
        self.target.descriptor()
    }

    /// Passes on, or puts aside.
    pub(super) fn push(&mut self, mut bytes: &[u8]) {
        if self.spill.as_ref().is_none_or(Spill::is_empty) {
            let count = self.write(bytes);
            bytes = &bytes[count..];
        }
        if bytes.is_empty() {
            return;
        }
        if matches!(self.target, Target::Gone) {
            self.passed.dropped += bytes.len() as u64;
            return;
        }
        if self.spill.is_none() {
            self.spill = Spill::new(&self.spill_dir, BACKLOG_MAX).ok();
        }
        let taken = self.spill.as_mut().map_or(0, |spill| spill.push(bytes));
        self.passed.dropped += (bytes.len() - taken) as u64;
    }

    /// Passes on what waits; the reader is ready.
    pub(super) fn resume(&mut self, buffer: &mut [u8]) {
        let Some(mut spill) = self.spill.take() else { return };
        while !spill.is_empty() {
            let Ok(part) = spill.peek(buffer) else {
                self.passed.dropped += spill.len();
                return;
            };
            let (length, count) = (part.len(), self.write(part));
            spill.advance(count);
            if matches!(self.target, Target::Gone) {
                self.passed.dropped += spill.len();
                return;
            }
            if count < length {
                break;
            }
        }
        self.spill = Some(spill);
    }

    /// Gives up what waits.
    pub(super) fn abandon(&mut self) {
        if let Some(spill) = self.spill.take() {
            self.passed.dropped += spill.len();
        }
    }

    /// Writes what is taken without waiting.
    fn write(&mut self, bytes: &[u8]) -> usize {
        let mut written = 0;
        while written < bytes.len() {
            let rest = &bytes[written..];
            match self.target.write(rest) {
                Ok(0) => break,
                Ok(count) => written += count,
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => break,
                // A full disk behind our stdout is the reader's own matter; later bytes may fit again.
                Err(rustix::io::Errno::NOSPC) => {
                    self.passed.dropped += rest.len() as u64;
                    return bytes.len();
                }
                Err(_) => {
                    self.target = Target::Gone;
                    self.passed.closed = true;
                    break;
                }
            }
        }
        written
    }
}

impl Target {
    fn of(output: BorrowedFd<'static>) -> Self {
        let kind = rustix::fs::fstat(output).map(|stat| FileType::from_raw_mode(stat.st_mode));
        match kind {
            Ok(FileType::RegularFile) => Self::File(output),
            Ok(FileType::Socket) => Self::Socket(output),
            Ok(_) => again(output).map_or(Self::Small(output), Self::Own),
            Err(_) => Self::Gone,
        }
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Self::Own(descriptor) => Some(descriptor.as_fd()),
            Self::File(descriptor) | Self::Socket(descriptor) | Self::Small(descriptor) => Some(*descriptor),
            Self::Gone => None,
        }
    }

    fn write(&self, bytes: &[u8]) -> rustix::io::Result<usize> {
        match self {
            Self::Own(descriptor) => rustix::io::write(descriptor, bytes),
            Self::File(descriptor) => rustix::io::write(descriptor, bytes),
            Self::Socket(descriptor) => {
                use rustix::net::{SendFlags, send};
                send(descriptor, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL)
            }
            Self::Small(descriptor) => {
                let mut waiting = [PollFd::new(descriptor, PollFlags::OUT)];
                poll(&mut waiting, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))?;
                if waiting[0].revents().is_empty() {
                    return Err(rustix::io::Errno::AGAIN);
                }
                rustix::io::write(descriptor, &bytes[..bytes.len().min(SMALL_BYTES)])
            }
            Self::Gone => Err(rustix::io::Errno::PIPE),
        }
    }
}

/// Opens what a descriptor means once more, for ourselves, so that writing to it does not wait.
fn again(output: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    use std::os::fd::AsRawFd;
    let path = format!("/proc/self/fd/{}", output.as_raw_fd());
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}
