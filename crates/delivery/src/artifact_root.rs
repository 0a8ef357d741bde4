//! The artifact directory as a place that nothing leaves: files are opened beneath it, without following a link.
//!
//! Invariant: what is opened is a regular file that was reached from the directory's descriptor through real
//! directories only, whatever another process swaps meanwhile; what is read is that descriptor, never its path again.
//! A fifo or a device is refused before it is opened for reading, so nothing blocks and no driver is woken.
//! Deliberately absent: what is in the file (`inspection`).

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{self as sys, CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use callboard_supervisor::mutant;

/// An open artifact directory.
#[derive(Debug)]
pub struct Root {
    fd: OwnedFd,
    way: Way,
    /// Whose directory it is.
    owner: u32,
}

/// How a path is resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// By the kernel in one call, `openat2` with `RESOLVE_BENEATH`.
    OneCall,
    /// Component by component, where the kernel has no `openat2` or a sandbox forbids it.
    Components,
}

/// A regular file beneath the directory.
#[derive(Debug)]
pub struct Opened {
    /// The descriptor that is to be read.
    pub file: File,
    /// What it was when it was opened.
    pub stamp: Stamp,
}

/// What tells one version of a file from the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Its size.
    pub bytes: u64,
    /// Its inode.
    pub inode: i64,
    /// When its content was changed, in nanoseconds since 1970.
    pub modified_ns: i64,
    /// When anything about it was changed, in nanoseconds since 1970.
    pub changed_ns: i64,
}

impl Stamp {
    fn of(stat: &sys::Stat) -> Self {
        let nanoseconds =
            |seconds: i64, rest: u64| seconds.saturating_mul(1_000_000_000).saturating_add_unsigned(rest);
        Self {
            bytes: u64::try_from(stat.st_size).unwrap_or(0),
            inode: stat.st_ino.cast_signed(),
            modified_ns: nanoseconds(stat.st_mtime, stat.st_mtime_nsec),
            changed_ns: nanoseconds(stat.st_ctime, stat.st_ctime_nsec),
        }
    }
}

/// Why nothing was opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// There is nothing.
    #[error("does not exist")]
    Absent,
    /// A symbolic link is, or leads to, what was asked for.
    #[error("is or is behind a symbolic link, and links are not followed")]
    Link,
    /// The path leads out of the directory.
    #[error("leads out of the artifact directory")]
    Outside,
    /// It is something else than a regular file.
    #[error("is {0}, not a regular file")]
    NotAFile(&'static str),
    /// It is another user's file under a second name.
    #[error("is a hard link to a file of another user")]
    ForeignLink,
    /// The system refused.
    #[error("cannot be read: {0}")]
    Unreadable(Errno),
}

/// How often `openat2` is asked again when a rename in the tree made it give up.
const AGAIN_MAX: usize = 16;

const NO_LINKS: ResolveFlags = ResolveFlags::NO_SYMLINKS.union(ResolveFlags::NO_MAGICLINKS);
/// For reading without waiting for anybody and without becoming anybody's terminal.
const TO_READ: OFlags = OFlags::RDONLY
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOFOLLOW);
/// For looking at what is there without opening it.
const TO_LOOK: OFlags = OFlags::PATH.union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);
const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::CLOEXEC).union(OFlags::DIRECTORY);

impl Root {
    /// Opens a directory by its absolute path, in which no component is a symbolic link.
    pub fn open(dir: &Path) -> Result<Self, Refused> {
        match Self::open_by(dir, Way::OneCall) {
            Err(Refused::Unreadable(Errno::NOSYS | Errno::PERM)) => Self::open_by(dir, Way::Components),
            other => other,
        }
    }

    /// Opens a directory and everything beneath it in this way.
    pub fn open_by(dir: &Path, way: Way) -> Result<Self, Refused> {
        if !dir.is_absolute() {
            return Err(Refused::Outside);
        }
        let fd = match way {
            Way::OneCall => sys::openat2(CWD, dir, DIRECTORY, Mode::empty(), NO_LINKS).map_err(told)?,
            Way::Components => {
                let top = sys::openat(CWD, "/", DIRECTORY, Mode::empty()).map_err(told)?;
                let within = dir.strip_prefix("/").unwrap_or(dir).as_os_str().as_bytes();
                if within.is_empty() { top } else { by_components(top, within, DIRECTORY)? }
            }
        };
        let owner = sys::fstat(&fd).map_err(told)?.st_uid;
        Ok(Self { fd, way, owner })
    }

    /// Opens a regular file beneath the directory.
    pub fn file(&self, path: &Path) -> Result<Opened, Refused> {
        // What is there is looked at before it is opened: opening a fifo lets a waiting writer go, and opening a
        // device can do anything.
        let looked = self.resolve(path, TO_LOOK)?;
        regular(&sys::fstat(&looked).map_err(told)?)?;
        let fd = self.resolve(path, TO_READ)?;
        let stat = sys::fstat(&fd).map_err(told)?;
        regular(&stat)?;
        if stat.st_nlink > 1 && stat.st_uid != self.owner {
            return Err(Refused::ForeignLink);
        }
        Ok(Opened { file: File::from(fd), stamp: Stamp::of(&stat) })
    }

    /// Looks at a regular file beneath the directory without opening it.
    pub fn stamp(&self, path: &Path) -> Result<Stamp, Refused> {
        let stat = sys::fstat(&self.resolve(path, TO_LOOK)?).map_err(told)?;
        regular(&stat)?;
        Ok(Stamp::of(&stat))
    }

    /// Opens a directory beneath the directory, to list it; an empty path is the directory itself.
    pub(super) fn directory(&self, path: &Path) -> Result<sys::Dir, Refused> {
        let to_list = TO_READ.union(OFlags::DIRECTORY);
        let fd = if path.as_os_str().is_empty() {
            sys::openat(&self.fd, ".", to_list, Mode::empty()).map_err(told)?
        } else {
            self.resolve(path, to_list)?
        };
        sys::Dir::new(fd).map_err(told)
    }

    /// Where a link beneath the directory points to; it is not followed.
    pub(super) fn link(&self, path: &Path) -> Result<Vec<u8>, Refused> {
        let link = self.resolve(path, TO_LOOK)?;
        Ok(sys::readlinkat(&link, "", Vec::new()).map_err(told)?.into_bytes())
    }

    fn resolve(&self, path: &Path, flags: OFlags) -> Result<OwnedFd, Refused> {
        if mutant::removed("refuse_symlinks") {
            return sys::openat(&self.fd, path, flags - OFlags::NOFOLLOW, Mode::empty()).map_err(told);
        }
        match self.way {
            Way::OneCall => self.in_one_call(path, flags),
            Way::Components => {
                let top = self.fd.try_clone().map_err(|_| Refused::Unreadable(Errno::MFILE))?;
                by_components(top, path.as_os_str().as_bytes(), flags)
            }
        }
    }

    fn in_one_call(&self, path: &Path, flags: OFlags) -> Result<OwnedFd, Refused> {
        let beneath =
            if mutant::removed("refuse_parents") { NO_LINKS } else { NO_LINKS.union(ResolveFlags::BENEATH) };
        for _ in 0..AGAIN_MAX {
            match sys::openat2(&self.fd, path, flags, Mode::empty(), beneath) {
                Err(Errno::AGAIN | Errno::INTR) => {}
                other => return other.map_err(told),
            }
        }
        Err(Refused::Unreadable(Errno::AGAIN))
    }
}

/// Goes down one component at a time. A directory that is renamed after it was opened stays the one that was opened.
fn by_components(top: OwnedFd, path: &[u8], last: OFlags) -> Result<OwnedFd, Refused> {
    let may_leave = mutant::removed("refuse_parents");
    let absolute = path.first() == Some(&b'/') && !may_leave;
    let mut parts = path.split(|byte| *byte == b'/').filter(|part| !matches!(*part, b"" | b".")).peekable();
    if absolute || parts.peek().is_none() || path.contains(&0) {
        return Err(Refused::Outside);
    }
    let mut at = top;
    while let Some(part) = parts.next() {
        if part == b".." && !may_leave {
            return Err(Refused::Outside);
        }
        let flags = if parts.peek().is_some() { DIRECTORY } else { last };
        at = match sys::openat(&at, part, flags.union(OFlags::NOFOLLOW), Mode::empty()) {
            Ok(below) => below,
            Err(errno) => return Err(why(&at, part, errno)),
        };
    }
    Ok(at)
}

/// A link where a directory was wanted is refused with the same code as a file there.
fn why(dir: &impl AsFd, part: &[u8], errno: Errno) -> Refused {
    let is_link = || {
        let stat = sys::statat(dir, part, rustix::fs::AtFlags::SYMLINK_NOFOLLOW);
        stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
    };
    if errno == Errno::NOTDIR && is_link() { Refused::Link } else { told(errno) }
}

fn told(errno: Errno) -> Refused {
    match errno {
        // A file where a directory should be: what would be in it is not there.
        Errno::NOENT | Errno::NOTDIR => Refused::Absent,
        Errno::LOOP => Refused::Link,
        Errno::XDEV => Refused::Outside,
        // What is there cannot be opened as a file: a socket, or a device nobody drives.
        Errno::NXIO | Errno::NODEV => Refused::NotAFile("a socket or a device"),
        other => Refused::Unreadable(other),
    }
}

fn regular(stat: &sys::Stat) -> Result<(), Refused> {
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => return Ok(()),
        FileType::Symlink => return Err(Refused::Link),
        FileType::Directory => "a directory",
        FileType::Fifo => "a fifo",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        FileType::Unknown => "of a kind that is not known",
    };
    Err(Refused::NotAFile(kind))
}
