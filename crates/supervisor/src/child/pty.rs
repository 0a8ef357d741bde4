//! A terminal stays a terminal: the child gets a pseudoterminal, and ours passes on every key.
//!
//! Invariant: our terminal is put back as it was when this is dropped, also by a panic. Its keys are passed on as bytes,
//! Ctrl-C too: the child's terminal makes a signal of it, or the child reads it, as it likes; we note that it went by.
//! Deliberately absent: the key that suspends, for a child that could not be resumed. The kernel drops such a stop when
//! the group has no parent in its session, so we suspend the whole run and ourselves instead.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{
    LocalModes, OptionalActions, OutputModes, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcgetwinsize,
    tcsetattr, tcsetwinsize,
};

use crate::watching::keys::{Codes, Key, last_key};

/// A pseudoterminal and the terminal it stands for.
#[derive(Debug)]
pub(crate) struct Pty {
    controller: OwnedFd,
    ours: BorrowedFd<'static>,
    /// How our terminal was, if its keys are passed on.
    saved: Option<Termios>,
    raw: bool,
    /// Keys that the child has not taken yet.
    keys: Vec<u8>,
    open: bool,
}

/// What went by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Keys {
    /// The last key, if one was typed.
    pub(crate) last: Option<Key>,
    /// The child's terminal makes signals of keys, so the key was one.
    pub(crate) are_signals: bool,
    pub(crate) suspend: bool,
}

const KEYS_MAX: usize = 4096;
const CTRL_C: u8 = 0x03;
const CTRL_BACKSLASH: u8 = 0x1c;

impl Pty {
    /// Opens one that looks like `ours`; with `keys`, what is typed at ours is passed on.
    pub(crate) fn open(ours: BorrowedFd<'static>, keys: bool) -> io::Result<(Self, OwnedFd)> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let controller = openpt(flags)?;
        grantpt(&controller)?;
        unlockpt(&controller)?;
        let child = ioctl_tiocgptpeer(&controller, flags)?;
        let mut modes = tcgetattr(ours)?;
        let saved = keys.then(|| modes.clone());
        if !keys {
            // Our terminal stays as it is and ends lines by itself.
            modes.output_modes.remove(OutputModes::OPOST);
        }
        tcsetattr(&child, OptionalActions::Now, &modes)?;
        rustix::io::ioctl_fionbio(&controller, true)?;
        let pty = Self { controller, ours, saved, raw: false, keys: Vec::new(), open: keys };
        pty.resize();
        Ok((pty, child))
    }

    pub(crate) fn controller(&self) -> io::Result<OwnedFd> {
        self.controller.try_clone()
    }

    /// Tells the child how large our terminal is.
    pub(crate) fn resize(&self) {
        // A terminal without a size leaves the child's as it is.
        if let Ok(size) = tcgetwinsize(self.ours) {
            tcsetwinsize(&self.controller, size).ok();
        }
    }

    /// Makes our terminal pass on every key.
    pub(crate) fn make_raw(&mut self) {
        if let Some(saved) = &self.saved {
            let mut modes = saved.clone();
            modes.make_raw();
            self.raw = tcsetattr(self.ours, OptionalActions::Now, &modes).is_ok();
        }
    }

    /// Puts our terminal back.
    pub(crate) fn restore(&mut self) {
        if let Some(saved) = self.saved.as_ref().filter(|_| self.raw) {
            // A terminal that is gone needs nothing.
            tcsetattr(self.ours, OptionalActions::Now, saved).ok();
            self.raw = false;
        }
    }

    /// The descriptor to read keys from, unless some still wait for the child.
    pub(crate) fn typed(&self) -> Option<BorrowedFd<'_>> {
        (self.open && self.keys.is_empty()).then_some(self.ours)
    }

    /// The descriptor to wait for while keys wait for the child.
    pub(crate) fn waits_for(&self) -> Option<BorrowedFd<'_>> {
        (!self.keys.is_empty()).then(|| self.controller.as_fd())
    }

    /// Takes keys and passes them on.
    pub(crate) fn take_keys(&mut self) -> Keys {
        let mut bytes = [0; KEYS_MAX];
        match rustix::io::read(self.ours, &mut bytes) {
            Ok(0) => {
                self.open = false;
                Keys::default()
            }
            Ok(count) => {
                let seen = self.look_at(&bytes[..count]);
                self.keys.extend(&bytes[..count]);
                if seen.suspend {
                    let suspend = self.code(SpecialCodeIndex::VSUSP);
                    self.keys.retain(|key| Some(*key) != suspend);
                }
                self.pass_keys();
                seen
            }
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => Keys::default(),
            Err(_) => {
                self.open = false;
                Keys::default()
            }
        }
    }

    /// Passes on what waits.
    pub(crate) fn pass_keys(&mut self) {
        match rustix::io::write(&self.controller, &self.keys) {
            Ok(count) => drop(self.keys.drain(..count)),
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
            Err(_) => {
                self.keys.clear();
                self.open = false;
            }
        }
    }

    /// What the keys mean to the child's terminal, if it gives them a meaning.
    fn look_at(&self, keys: &[u8]) -> Keys {
        let signals =
            tcgetattr(&self.controller).is_ok_and(|modes| modes.local_modes.contains(LocalModes::ISIG));
        let has = |code| signals && self.code(code).is_some_and(|code| keys.contains(&code));
        // Without a key of their own the usual ones are meant, as a child that reads them itself does.
        let codes = Codes {
            interrupt: self.code(SpecialCodeIndex::VINTR).unwrap_or(CTRL_C),
            quit: self.code(SpecialCodeIndex::VQUIT).unwrap_or(CTRL_BACKSLASH),
        };
        Keys {
            last: last_key(keys, codes),
            are_signals: signals,
            suspend: has(SpecialCodeIndex::VSUSP) && self.is_alone(),
        }
    }

    fn code(&self, index: SpecialCodeIndex) -> Option<u8> {
        // Zero means that no key has this meaning.
        Some(tcgetattr(&self.controller).ok()?.special_codes[index]).filter(|code| *code != 0)
    }

    /// Whether the first group of the child's session has the terminal, rather than a job of a shell in it.
    fn is_alone(&self) -> bool {
        let session = rustix::termios::tcgetsid(&self.controller);
        matches!((session, tcgetpgrp(&self.controller)), (Ok(session), Ok(group)) if session == group)
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        self.restore();
    }
}

/// Whether a descriptor is a terminal that we may read from and change: we are in its foreground.
pub(crate) fn is_ours(terminal: BorrowedFd<'_>) -> bool {
    rustix::termios::isatty(terminal)
        && tcgetpgrp(terminal).map_or(true, |group| group == rustix::process::getpgrp())
}
