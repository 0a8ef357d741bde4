//! `callboard export`: the log as lines of JSON, from which `import` makes the same log again.
//!
//! Invariant: every record is checked before its line is written; the first that does not hold ends the export at its
//! position, and what was written before it holds. No file is overwritten. Deliberately absent: other formats.

use std::fs::File;
use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use callboard_ledger::{ExportError, Range};
use clap::Args;

use crate::error::{Error, Exit, tell};
use crate::show::record_text::count;
use crate::show::screen::Screen;
use crate::store::Store;

/// Write the log as JSON, one record a line, as `events --json` prints them.
///
/// The checkpoints over the records come first, so that an import finds out if the export was cut off. A whole export
/// ends with the rows from before there were states. A record that does not hold ends it with exit code 1; --until
/// writes what holds before it.
#[derive(Args, Debug)]
pub(crate) struct ExportArgs {
    /// Only the records after this one.
    #[arg(long, value_name = "SEQ")]
    since: Option<u64>,
    /// Only the records up to and with this one.
    #[arg(long, value_name = "SEQ")]
    until: Option<u64>,
    /// The file to write, which must not exist; standard output unless given.
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
}

impl ExportArgs {
    /// Writes it.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        let ledger = store.open_to_read()?;
        let range = Range {
            after: self.since.unwrap_or(Range::ALL.after),
            until: self.until.unwrap_or(Range::ALL.until),
        };
        let Some(path) = self.file.as_deref().filter(|path| *path != Path::new("-")) else {
            let mut out = BufWriter::new(screen.data());
            let exported = ledger.export(range, &mut |line| writeln!(out, "{}", screen.for_programs(line)));
            out.flush().map_err(Error::Write)?;
            exported.map_err(|error| failure(error, Error::Write))?;
            return Ok(Exit::DONE);
        };
        let not_written = |cause| Error::File(path.to_owned(), cause);
        let file =
            File::create_new(path).map_err(|cause| match cause.kind() == ErrorKind::AlreadyExists {
                true => Error::Occupied(path.to_owned()),
                false => not_written(cause),
            })?;
        let mut out = BufWriter::new(file);
        let exported = ledger.export(range, &mut |line| writeln!(out, "{line}"));
        // What holds is kept on the disk before anything is told, damage included.
        out.flush().and_then(|()| out.get_ref().sync_all()).map_err(not_written)?;
        let exported = exported.map_err(|error| failure(error, not_written))?;
        let (records, legacy) = (count(exported.records, "record"), count(exported.legacy, "legacy row"));
        tell(&format!("{records} and {legacy}\n"));
        Ok(Exit::DONE)
    }
}

fn failure(error: ExportError, not_written: impl Fn(std::io::Error) -> Error) -> Error {
    match error {
        ExportError::Corrupt { seq, problem } => Error::Corrupt { seq, problem },
        ExportError::Read(cause) => Error::Ask(cause),
        ExportError::Write(cause) => not_written(cause),
    }
}
