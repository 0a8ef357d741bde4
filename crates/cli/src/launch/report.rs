//! The report of a run: a file that is known to be writable before the run starts.
//!
//! Invariant: whoever asks for a report that cannot be written is told before anything is started. What the file held is
//! there until the report replaces it. Deliberately absent: what the report says, which is the view.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use callboard_engine::View;
use rustix::fs::{Access, access};

use crate::error::Error;

/// A report that is to be written.
pub(crate) struct Report {
    path: PathBuf,
    /// The file was not there before.
    is_new: bool,
}

impl Report {
    /// Makes sure that it can be written.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let fail = |source| Error::File(path.to_owned(), source);
        let path = std::path::absolute(path).map_err(fail)?;
        let is_new = match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(_) => true,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                writable(&path).map_err(fail)?;
                false
            }
            Err(error) => return Err(fail(error)),
        };
        Ok(Self { path, is_new })
    }

    /// Writes it.
    pub(crate) fn write(self, view: &View<'_>) -> Result<(), Error> {
        let mut text = serde_json::to_vec_pretty(view).map_err(|error| Error::Write(error.into()))?;
        text.push(b'\n');
        let written = File::create(&self.path).and_then(|mut file| file.write_all(&text));
        written.map_err(|source| Error::File(self.path, source))
    }

    /// Nothing was started, so there is nothing to report.
    pub(crate) fn discard(self) {
        if self.is_new {
            std::fs::remove_file(self.path).ok();
        }
    }
}

/// A file is opened, which finds out more than its mode says; anything else, such as a pipe, might wait for a reader.
fn writable(path: &Path) -> std::io::Result<()> {
    let kind = std::fs::metadata(path)?;
    if kind.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    if kind.is_file() {
        return OpenOptions::new().write(true).open(path).map(drop);
    }
    Ok(access(path, Access::WRITE_OK)?)
}
