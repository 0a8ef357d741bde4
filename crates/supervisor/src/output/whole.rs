//! One stream of a kept log as one file: its length, and its bytes from any place on.
//!
//! Invariant: what is read costs what is asked for, not what is there: the files are opened, their parts are found by the index,
//! and nothing before the wanted bytes is read. What the index does not name is not there. Deliberately absent: when the
//! bytes came, and how many had to make room for later ones; [`super::Pieces`] tells that.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::Log;
use super::layout::{ENTRY_BYTES, Entry, HEAD_BYTES, data_path, index_path};
use super::reader::{numbers, open};
use crate::Stream;

/// One stream, as it was when it was opened.
#[derive(Debug)]
pub struct Whole {
    parts: Vec<Part>,
    length: u64,
}

#[derive(Debug)]
struct Part {
    /// The first byte of it, counted from the beginning of the stream.
    first: u64,
    length: u64,
    data: File,
}

/// Bytes of an index that are read at once.
const BLOCK_BYTES: u64 = 4096 * ENTRY_BYTES;
/// The largest index that is read.
const INDEX_MAX_BYTES: u64 = 1 << 30;

impl Log {
    /// One stream of what is there.
    pub fn whole(&self, stream: Stream) -> io::Result<Whole> {
        let mut whole = Whole { parts: Vec::new(), length: 0 };
        for number in numbers(self.dir())? {
            let is_gone = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
            let index = match open(&index_path(self.dir(), number)) {
                Err(error) if is_gone(&error) => continue,
                opened => opened?,
            };
            let length = named_bytes(&index, stream)?;
            if length == 0 {
                continue;
            }
            let data = match open(&data_path(self.dir(), number, stream)) {
                Err(error) if is_gone(&error) => continue,
                opened => opened?,
            };
            whole.parts.push(Part { first: whole.length, length, data });
            whole.length = whole.length.saturating_add(length);
        }
        Ok(whole)
    }
}

impl Whole {
    /// How many bytes there are.
    #[must_use]
    pub const fn length(&self) -> u64 {
        self.length
    }

    /// Bytes from a place on, as many as are asked for or fewer; none at the end.
    pub fn read_at(&self, place: u64, count: usize) -> io::Result<Vec<u8>> {
        let found = self
            .parts
            .iter()
            .find(|part| (part.first..part.first.saturating_add(part.length)).contains(&place));
        let Some(part) = found else { return Ok(Vec::new()) };
        let within = place - part.first;
        let left = usize::try_from(part.length - within).unwrap_or(usize::MAX);
        let mut bytes = vec![0; count.min(left)];
        part.data.read_exact_at(&mut bytes, within)?;
        Ok(bytes)
    }
}

/// How many bytes of a stream an index names.
fn named_bytes(index: &File, stream: Stream) -> io::Result<u64> {
    let end = index.metadata()?.len();
    // The run can write beside its log; reading does not take forever because of it.
    if end > INDEX_MAX_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the index of a kept log is too large"));
    }
    let (mut at, mut sum) = (HEAD_BYTES, 0);
    while at + ENTRY_BYTES <= end {
        let count = (end - at).min(BLOCK_BYTES) / ENTRY_BYTES * ENTRY_BYTES;
        let mut block = vec![0; usize::try_from(count).unwrap_or_default()];
        index.read_exact_at(&mut block, at)?;
        let entries = block.chunks_exact(ENTRY_BYTES as usize).filter_map(|bytes| bytes.try_into().ok());
        let entries = entries.map(Entry::decode).filter(|entry| entry.stream == stream && !entry.lost);
        sum = entries.fold(sum, |sum: u64, entry| sum.saturating_add(entry.length));
        at += count;
    }
    Ok(sum)
}
