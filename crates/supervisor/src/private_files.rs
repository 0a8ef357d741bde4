//! Private files: what is kept of runs beside the ledger, in a directory each.
//!
//! Invariant: only the user can read it, because output and command lines have secrets in them.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

/// Writes a file that only the user can read, and its directory if it is not there.
pub fn keep_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let open = || {
        if let Some(dir) = path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        }
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
    };
    let file = match open() {
        // A directory that was still empty may have been taken for a leftover.
        Err(error) if error.kind() == io::ErrorKind::NotFound => open(),
        opened => opened,
    };
    file?.write_all(bytes)
}

/// Opens a file that somebody else may have put there: a plain one, not through a link, and without waiting for a pipe.
pub fn open_plain(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits();
    let file = OpenOptions::new().read(true).custom_flags(flags.cast_signed()).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("it is no plain file")),
    }
}

/// Reads such a file, if it is not larger than this.
pub fn read_plain(path: &Path, max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_plain(path)?.take(max + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > max {
        true => Err(io::Error::other(format!("it has more than {max} bytes"))),
        false => Ok(bytes),
    }
}
