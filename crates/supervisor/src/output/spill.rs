//! The backlog of a reader that is slower than the child: an unlinked file, used as a ring.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// Bytes that wait for a reader.
#[derive(Debug)]
pub(super) struct Spill {
    file: File,
    capacity: u64,
    read: u64,
    written: u64,
}

impl Spill {
    pub(super) fn new(dir: &Path, capacity: u64) -> io::Result<Self> {
        Ok(Self { file: unlinked(dir)?, capacity, read: 0, written: 0 })
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.read == self.written
    }

    /// How many bytes wait.
    pub(super) const fn len(&self) -> u64 {
        self.written - self.read
    }

    /// Takes as much as it can, and says how much.
    pub(super) fn push(&mut self, bytes: &[u8]) -> usize {
        let mut taken = 0;
        while taken < bytes.len() {
            let at = self.written % self.capacity;
            let room = (self.capacity - self.len()).min(self.capacity - at);
            let rest = &bytes[taken..];
            let part = &rest[..rest.len().min(usize::try_from(room).unwrap_or(usize::MAX))];
            match self.file.write_at(part, at) {
                Ok(count) if count > 0 => {
                    self.written += count as u64;
                    taken += count;
                }
                Ok(_) | Err(_) => break,
            }
        }
        taken
    }

    /// Reads the bytes that have waited longest.
    pub(super) fn peek<'a>(&self, buffer: &'a mut [u8]) -> io::Result<&'a [u8]> {
        let at = self.read % self.capacity;
        let most = self.len().min(self.capacity - at).min(buffer.len() as u64) as usize;
        let count = self.file.read_at(&mut buffer[..most], at)?;
        Ok(&buffer[..count])
    }

    /// Forgets bytes that have found their reader.
    pub(super) fn advance(&mut self, count: usize) {
        self.read += count as u64;
        if self.is_empty() {
            (self.read, self.written) = (0, 0);
            // The room is given back; if that fails, it is used again.
            drop(self.file.set_len(0));
        }
    }
}

/// A file without a name.
fn unlinked(dir: &Path) -> io::Result<File> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    match rustix::fs::open(dir, flags, Mode::from_raw_mode(0o600)) {
        Ok(file) => Ok(File::from(file)),
        Err(_) => {
            // Not every file system has files without names.
            let path = dir.join(format!(".callboard-spill-{}", std::process::id()));
            let file = File::options().read(true).write(true).create_new(true).open(&path)?;
            std::fs::remove_file(path)?;
            Ok(file)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_gives_back_what_it_took_in_order_and_refuses_the_rest() {
        let dir = tempfile::tempdir().unwrap();
        let mut spill = Spill::new(dir.path(), 8).unwrap();
        assert_eq!(spill.push(b"abcdef"), 6);
        let mut buffer = [0; 4];
        assert_eq!(spill.peek(&mut buffer).unwrap(), b"abcd");
        spill.advance(4);
        assert_eq!(spill.push(b"ghijklm"), 6, "two are left, so six fit");
        let mut read = Vec::new();
        while !spill.is_empty() {
            let mut buffer = [0; 3];
            let part = spill.peek(&mut buffer).unwrap().to_vec();
            spill.advance(part.len());
            read.extend(part);
        }
        assert_eq!(read, b"efghijkl");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
