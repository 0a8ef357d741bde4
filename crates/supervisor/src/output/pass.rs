//! Passes one stream on to our own stdout or stderr.
//!
//! Invariant: it never waits. What the reader does not take at once goes to the [`Spill`], and from then on everything
//! does until it is empty, so the order stays. A reader that is gone is told to whoever reads from the command. Our own
//! descriptor is not made non-blocking, since others share it: a pipe or a terminal is opened again for ourselves.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, Mode, OFlags};

use super::screen::Screen;
use super::spill::Spill;
use crate::Passed;

/// The way to one of our own outputs.
#[derive(Debug)]
pub(super) struct Pass {
    target: Target,
    spill: Option<Spill>,
    spill_dir: PathBuf,
    passed: Passed,
    /// What the command has set on our terminal, if it is one.
    screen: Option<Screen>,
    /// Nobody can become its reader again, so a reader that is gone is gone for ever.
    is_private: bool,
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
        Self {
            target: Target::of(output),
            spill: None,
            spill_dir,
            passed: Passed::default(),
            screen: rustix::termios::isatty(output).then(Screen::default),
            is_private: is_private(output),
        }
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

    /// The descriptor that tells when the reader goes, while nothing waits for it.
    pub(super) fn watches(&self) -> Option<BorrowedFd<'_>> {
        self.target.descriptor().filter(|_| self.is_private && self.waits_for().is_none())
    }

    /// Whether the reader has gone.
    pub(super) const fn is_closed(&self) -> bool {
        self.passed.closed
    }

    /// How many bytes wait.
    pub(super) fn backlog(&self) -> u64 {
        self.spill.as_ref().map_or(0, Spill::len)
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
            match Spill::new(&self.spill_dir, BACKLOG_MAX) {
                Ok(spill) => self.spill = Some(spill),
                Err(error) => self.passed.errno = self.passed.errno.or(error.raw_os_error()),
            }
        }
        let taken = self.spill.as_mut().map_or(0, |spill| spill.push(bytes));
        self.refuse((bytes.len() - taken) as u64);
    }

    /// Counts bytes that the reader does not get although it is there.
    const fn refuse(&mut self, count: u64) {
        self.passed.dropped += count;
        self.passed.refused += count;
    }

    /// The reader is gone; what waits for it is dropped.
    fn close(&mut self) {
        self.target = Target::Gone;
        self.passed.closed = true;
    }

    /// Passes on what waits; the reader is ready.
    pub(super) fn resume(&mut self, buffer: &mut [u8]) {
        if self.waits_for().is_none() {
            if self.target.descriptor().is_some_and(has_no_reader) {
                self.close();
            }
            return;
        }
        let Some(mut spill) = self.spill.take() else { return };
        while !spill.is_empty() {
            let part = match spill.peek(buffer) {
                Ok(part) => part,
                Err(error) => {
                    self.passed.errno = self.passed.errno.or(error.raw_os_error());
                    return self.refuse(spill.len());
                }
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

    /// Resets what the command has set on our terminal and left so.
    pub(super) fn restore(&mut self) {
        let bytes = self.screen.as_mut().map(Screen::restore).unwrap_or_default();
        let mut rest = bytes.as_slice();
        for _ in 0..RESTORE_TRIES {
            let count = self.write(rest);
            rest = &rest[count..];
            let (false, Some(descriptor)) = (rest.is_empty(), self.target.descriptor()) else { return };
            let mut waiting = [PollFd::from_borrowed_fd(descriptor, PollFlags::OUT)];
            // A terminal that stands still keeps what it has.
            poll(&mut waiting, Some(&RESTORE_WAIT)).ok();
        }
    }

    /// Writes what is taken without waiting.
    fn write(&mut self, bytes: &[u8]) -> usize {
        use rustix::io::Errno;
        let mut written = 0;
        while written < bytes.len() {
            let rest = &bytes[written..];
            match self.target.write(rest) {
                Ok(0) => break,
                Ok(count) => {
                    if let Some(screen) = &mut self.screen {
                        screen.feed(&rest[..count]);
                    }
                    written += count;
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(Errno::PIPE | Errno::CONNRESET | Errno::NOTCONN | Errno::SHUTDOWN) => {
                    self.close();
                    break;
                }
                // A terminal that was hung up.
                Err(Errno::IO) if self.screen.is_some() => {
                    self.close();
                    break;
                }
                // A full disk may have room again for what comes later.
                Err(errno) => {
                    self.passed.errno.get_or_insert(errno.raw_os_error());
                    self.refuse(rest.len() as u64);
                    return bytes.len();
                }
            }
        }
        written
    }
}

/// How often and how long a terminal is waited for that does not take what resets it.
const RESTORE_TRIES: usize = 4;
const RESTORE_WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// Whether nobody reads from a pipe or a socket any more.
fn has_no_reader(descriptor: BorrowedFd<'_>) -> bool {
    let mut waiting = [PollFd::from_borrowed_fd(descriptor, PollFlags::empty())];
    let asked = poll(&mut waiting, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
    asked.is_ok() && !waiting[0].revents().is_empty()
}

/// Whether a descriptor is a pipe without a name, or a socket: nobody can come later and read from it.
fn is_private(output: BorrowedFd<'_>) -> bool {
    use std::os::fd::AsRawFd;
    let name = std::fs::read_link(format!("/proc/self/fd/{}", output.as_raw_fd())).unwrap_or_default();
    ["pipe:[", "socket:["].iter().any(|kind| name.as_os_str().as_encoded_bytes().starts_with(kind.as_bytes()))
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
