//! What is kept of runs beside the ledger: a directory each, with its output.
//!
//! Invariant: only the user can read it, because output and command lines have secrets in them.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

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
