//! How a child hands descriptors to its supervisor that only it can make: those of its own namespace and filter.
//!
//! Invariant: the child's end is closed by `exec`, so whoever waits for a descriptor that never comes is told so.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};

/// What a descriptor is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// The proxy listens there.
    Proxy,
    /// The kernel asks there about refused calls.
    Calls,
}

impl Purpose {
    const ALL: [Self; 2] = [Self::Proxy, Self::Calls];

    const fn byte(self) -> u8 {
        match self {
            Self::Proxy => b'p',
            Self::Calls => b'c',
        }
    }
}

/// The end of the child.
#[derive(Debug)]
pub(super) struct Giver(OwnedFd);

/// The end of the supervisor.
#[derive(Debug)]
pub(super) struct Taker(OwnedFd);

/// What has come.
#[derive(Debug)]
pub(super) enum Taken {
    Descriptor(Purpose, OwnedFd),
    /// Nothing yet.
    Nothing,
    /// Nothing will come any more.
    Closed,
}

pub(super) fn pair() -> Result<(Giver, Taker), Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    // None of the standard descriptors is laid over it.
    let theirs = rustix::io::fcntl_dupfd_cloexec(&theirs, 3)?;
    Ok((Giver(theirs), Taker(ours)))
}

impl Giver {
    /// Hands a descriptor over; in the child.
    pub(super) fn give(&self, purpose: Purpose, descriptor: BorrowedFd<'_>) -> Result<(), Errno> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        let descriptors = [descriptor];
        if !ancillary.push(SendAncillaryMessage::ScmRights(&descriptors)) {
            return Err(Errno::NOBUFS);
        }
        sendmsg(&self.0, &[IoSlice::new(&[purpose.byte()])], &mut ancillary, SendFlags::NOSIGNAL).map(drop)
    }
}

impl AsFd for Taker {
    /// Becomes readable when something comes, or nothing any more.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Taker {
    /// Takes what has come, without waiting.
    pub(super) fn take(&self) -> Taken {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0];
        let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
        match recvmsg(&self.0, &mut [IoSliceMut::new(&mut byte)], &mut ancillary, flags) {
            Err(Errno::AGAIN | Errno::INTR) => return Taken::Nothing,
            Ok(received) if received.bytes > 0 => {}
            Ok(_) | Err(_) => return Taken::Closed,
        }
        let descriptor = ancillary.drain().find_map(|message| {
            if let RecvAncillaryMessage::ScmRights(mut descriptors) = message {
                descriptors.next()
            } else {
                None
            }
        });
        let purpose = Purpose::ALL.into_iter().find(|purpose| [purpose.byte()] == byte);
        match (purpose, descriptor) {
            (Some(purpose), Some(descriptor)) => Taken::Descriptor(purpose, descriptor),
            (None | Some(_), _) => Taken::Nothing,
        }
    }
}
