//! Finds the files that match a glob, without following a link.
//!
//! Invariant: the walk is bounded, and says so when it stopped at its bound. It goes breadth first, so what lies near
//! the top is found before a deep tree uses the bound up. Deliberately absent: opening what was found.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use rustix::fs::FileType;

use crate::artifact_root::{Refused, Root};
use crate::name::Pattern;

/// What a walk found.
#[derive(Debug, Default)]
pub(super) struct Walk {
    /// The regular files that match, sorted.
    pub(super) files: Vec<PathBuf>,
    /// A match that is no regular file, and why it does not count.
    pub(super) other: Option<(PathBuf, Refused)>,
    /// A directory that could not be read.
    pub(super) unread: Option<(PathBuf, Refused)>,
    /// Did it stop at its bound?
    pub(super) cut: bool,
}

impl Walk {
    /// Looks at no more than this many entries.
    pub(super) fn of(root: &Root, pattern: &Pattern, entries_max: usize) -> Self {
        let mut walk = Self::default();
        let mut left = entries_max;
        let mut queue = VecDeque::from([PathBuf::from(pattern.fixed())]);
        while let Some(dir) = queue.pop_front() {
            let listed = match root.directory(&dir) {
                Ok(listed) => listed,
                // What is gone since it was listed, or was a link all along, holds no file of ours.
                Err(Refused::Absent | Refused::Link) => continue,
                Err(refused) => {
                    walk.unread.get_or_insert((dir, refused));
                    continue;
                }
            };
            for entry in listed {
                let Ok(entry) = entry else { break };
                let name = OsStr::from_bytes(entry.file_name().to_bytes());
                if name == "." || name == ".." {
                    continue;
                }
                if left == 0 {
                    walk.cut = true;
                    queue.clear();
                    break;
                }
                left -= 1;
                walk.see(root, pattern, dir.join(name), entry.file_type(), &mut queue);
            }
        }
        walk.files.sort_unstable();
        walk
    }

    fn see(
        &mut self,
        root: &Root,
        pattern: &Pattern,
        path: PathBuf,
        kind: FileType,
        queue: &mut VecDeque<PathBuf>,
    ) {
        let matches = pattern.matches(&path);
        match kind {
            FileType::Directory => {
                let deep = path.components().count();
                if pattern.depth().is_none_or(|depth| deep < depth) {
                    queue.push_back(path);
                }
            }
            FileType::RegularFile if matches => self.files.push(path),
            // Some file systems do not tell in a listing; opening does.
            FileType::Unknown if root.directory(&path).is_ok() => queue.push_back(path),
            FileType::Symlink
            | FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown
                if matches =>
            {
                match root.file(&path) {
                    Ok(_) => self.files.push(path),
                    Err(refused) => {
                        self.other.get_or_insert((path, refused));
                    }
                }
            }
            FileType::RegularFile
            | FileType::Symlink
            | FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => {}
        }
    }
}
