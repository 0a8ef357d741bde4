//! A segment: a part of the log in a file of its own, in the format of an export.
//!
//! Invariant: the store knows the digest of the file and the checkpoint it ends at, so a file that was changed or cut
//! is found out; a file that is missing is named. A page is found by halves, as the records stand in their order.
//! Deliberately absent: taking records out of the store; the engine does that once the file was read back.

use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use callboard_kernel::Moment;
use serde::{Serialize, Serializer};

use crate::error::ReadError;
use crate::moving::import::{Line, Piece, read_piece};
use crate::record::{Hash, Record};

/// A part of the log that was archived.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Segment {
    /// The record before its first one.
    pub after: u64,
    /// Its last record, at which there is a checkpoint.
    pub until: u64,
    /// When the last record was decided.
    pub at: Moment,
    /// The hash of the file.
    #[serde(serialize_with = "text")]
    pub digest: Hash,
    /// Where the file is.
    pub path: PathBuf,
}

fn text<S: Serializer>(hash: &Hash, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(hash)
}

/// A search by halves ends here; reading so much costs less than another step.
const NEAR_BYTES: u64 = 64 * 1024;

/// The hash of a file.
pub(crate) fn digest_of(path: &Path) -> std::io::Result<Hash> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(open(path)?)?;
    Ok(Hash(*hasher.finalize().as_bytes()))
}

/// Opens the file of a segment. Anything but a file is refused: whoever reads a FIFO waits for its writer.
pub(crate) fn open(path: &Path) -> std::io::Result<File> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(std::io::Error::other("it is not a regular file"));
    }
    File::open(path)
}

impl Segment {
    /// Calls `each` for the records after one of them, in order, until it has enough.
    pub(crate) fn each(
        &self,
        after: u64,
        each: &mut dyn FnMut(Record) -> Result<ControlFlow<()>, ReadError>,
    ) -> Result<ControlFlow<()>, ReadError> {
        let told = |error: std::io::Error| self.lost(&error.to_string());
        let mut file = BufReader::new(open(&self.path).map_err(told)?);
        seek_near(&mut file, after).map_err(told)?;
        let mut expected = after.max(self.after) + 1;
        let mut line = String::new();
        while expected <= self.until {
            line.clear();
            if file.read_line(&mut line).map_err(told)? == 0 {
                return Err(self.lost(&format!("it ends before record {expected}")));
            }
            let Piece::Line(Line::Record(record)) = read_piece(&line).map_err(|told| self.lost(&told))?
            else {
                continue;
            };
            if record.seq < expected {
                continue;
            }
            if record.seq != expected {
                return Err(self.lost(&format!("record {expected} is missing in it")));
            }
            expected += 1;
            if each(*record)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// The file cannot be used.
    pub(crate) fn lost(&self, problem: &str) -> ReadError {
        ReadError::Segment {
            first: self.after + 1,
            last: self.until,
            path: self.path.clone(),
            problem: problem.to_owned(),
        }
    }

    /// Is the file what was archived?
    pub(crate) fn check(&self) -> Result<(), ReadError> {
        match digest_of(&self.path) {
            Ok(found) if found == self.digest => Ok(()),
            Ok(_) => Err(self.lost("it was changed since it was written")),
            Err(error) => Err(self.lost(&error.to_string())),
        }
    }
}

/// Goes to the beginning of a line that is not far before the record behind `after`.
fn seek_near(file: &mut BufReader<File>, after: u64) -> std::io::Result<()> {
    let (mut low, mut high) = (0, file.get_ref().metadata()?.len());
    let mut line = String::new();
    while high - low > NEAR_BYTES {
        let middle = low + (high - low) / 2;
        file.seek(SeekFrom::Start(middle))?;
        // The rest of the line in the middle, then a whole one.
        file.read_until(b'\n', &mut Vec::new())?;
        line.clear();
        file.read_line(&mut line)?;
        match read_piece(&line) {
            Ok(Piece::Line(Line::Record(record))) if record.seq <= after => low = middle,
            // What is unreadable is told by whoever reads from the beginning up to it.
            Ok(_) | Err(_) => high = middle,
        }
    }
    file.seek(SeekFrom::Start(low))?;
    if low > 0 {
        file.read_until(b'\n', &mut Vec::new())?;
    }
    Ok(())
}
