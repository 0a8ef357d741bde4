//! The notification socket of a run, as systemd gives it to its services: a child says that it is ready, what it does, and
//! that it is alive.
//!
//! Invariant: only who belongs to the run is heard. The kernel attaches the sender's pid to every message; a sender that is
//! gone before it could be looked at is not heard, because nobody can tell whose it was.

use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SocketAddrUnix, SocketFlags,
    SocketType, bind, recvmsg, socket_with, sockopt,
};

use crate::Notification;

/// A socket that a run's processes write to.
#[derive(Debug)]
pub(crate) struct Notices {
    socket: OwnedFd,
    /// The value of `NOTIFY_SOCKET`.
    address: String,
    path: Option<PathBuf>,
}

/// A message and who sent it.
#[derive(Debug)]
pub(crate) struct Notice {
    pub(crate) sender: u32,
    pub(crate) words: Vec<Notification>,
}

/// Longer paths do not fit into an address.
const PATH_MAX: usize = 100;
const MESSAGE_MAX: usize = 4096;

impl Notices {
    /// Opens the socket: in the directory of the run, which nobody else can enter, or without a path.
    pub(crate) fn open(marker: &str, dir: Option<&Path>) -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::DGRAM, flags, None)?;
        sockopt::set_socket_passcred(&socket, true)?;
        let path = dir.and_then(|dir| std::path::absolute(dir).ok()).map(|dir| dir.join("notify"));
        if let Some(path) = path.filter(|path| path.as_os_str().len() < PATH_MAX)
            && let Some(address) = path.to_str().map(str::to_owned)
            && bind(&socket, &SocketAddrUnix::new(&path)?).is_ok()
        {
            return Ok(Self { socket, address, path: Some(path) });
        }
        let name = format!("callboard/{marker}");
        bind(&socket, &SocketAddrUnix::new_abstract_name(name.as_bytes())?)?;
        Ok(Self { socket, address: format!("@{name}"), path: None })
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Where it is in the file system, if it is there.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// The next message, if there is one.
    pub(crate) fn next(&self) -> Option<Notice> {
        let mut bytes = [0; MESSAGE_MAX];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmCredentials(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut parts = [IoSliceMut::new(&mut bytes)];
        // A descriptor that comes along is closed, which is what a sender waits for that wants to be sure.
        let received = recvmsg(&self.socket, &mut parts, &mut control, RecvFlags::CMSG_CLOEXEC).ok()?;
        let sender = control.drain().find_map(|message| {
            let RecvAncillaryMessage::ScmCredentials(credentials) = message else { return None };
            Some(credentials.pid.as_raw_nonzero().get() as u32)
        });
        let text = String::from_utf8_lossy(&bytes[..received.bytes]);
        Some(Notice { sender: sender.unwrap_or_default(), words: text.lines().filter_map(word).collect() })
    }
}

impl Drop for Notices {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // Somebody may have removed the whole directory.
            drop(std::fs::remove_file(path));
        }
    }
}

fn word(line: &str) -> Option<Notification> {
    let (key, value) = line.split_once('=')?;
    Some(match (key, value) {
        ("READY", "1") => Notification::Ready,
        ("STOPPING", "1") => Notification::Stopping,
        ("WATCHDOG", "1") => Notification::Watchdog,
        ("STATUS", status) => Notification::Status(status.to_owned()),
        ("EXTEND_TIMEOUT_USEC", time) => Notification::Extend(Duration::from_micros(time.parse().ok()?)),
        (_, _) => Notification::Other(line.to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read() {
        assert_eq!(word("READY=1"), Some(Notification::Ready));
        assert_eq!(word("STATUS=a=b"), Some(Notification::Status("a=b".to_owned())));
        assert_eq!(word("WATCHDOG=1"), Some(Notification::Watchdog));
        assert_eq!(word("EXTEND_TIMEOUT_USEC=1500"), Some(Notification::Extend(Duration::from_micros(1500))));
        assert_eq!(word("EXTEND_TIMEOUT_USEC=soon"), None);
        assert_eq!(word("X_AGENT=1"), Some(Notification::Other("X_AGENT=1".to_owned())));
        assert_eq!(word("nothing"), None);
    }
}
