//! Reads a kept log, also while it is being written.
//!
//! An offset counts the bytes of both streams from the beginning of the run, in the order in which they came, those that
//! are not there any more included. So an offset means the same byte for ever, and a reader that comes too late is told
//! how much it missed. To follow, call [`Pieces::next`] again later: `None` means that there is nothing more yet.
//!
//! A supervisor that was killed may have written bytes that the index does not name yet. They are in the file of their
//! stream and do not appear here: when they came is not known.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::layout::{ENTRY_BYTES, Entry, HEAD_BYTES, Head, data_path, index_path, number_of, place};
use crate::Stream;

/// The kept output of one run.
#[derive(Clone, Debug)]
pub struct Log {
    dir: PathBuf,
}

/// A part of the output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The time of day, in microseconds since 1970. For what is missing, the time of what follows.
    pub at_us: u64,
    /// The offset of its first byte.
    pub offset: u64,
    /// What it is.
    pub what: What,
}

/// What a part of the output is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// Bytes, as the child wrote them.
    Bytes(Stream, Vec<u8>),
    /// So many bytes of both streams had to make room for later ones.
    Dropped(u64),
    /// So many bytes could not be written, because the disk was full or failed.
    Lost(Stream, u64),
}

/// Entries of an index that are read at once on the way to an offset.
const ENTRIES_AT_ONCE: usize = 2048;
/// The most one piece holds.
const PIECE_BYTES: u64 = 64 * 1024;

impl Log {
    /// Opens the output of a run. A run that has said nothing yet has an empty one.
    pub fn open(dir: impl Into<PathBuf>) -> io::Result<Self> {
        let dir = dir.into();
        std::fs::read_dir(&dir)?;
        Ok(Self { dir })
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Everything from an offset on.
    #[must_use]
    pub fn read(&self, from: u64) -> Pieces {
        Pieces { dir: self.dir.clone(), offset: from, segment: None }
    }

    /// The offset behind the last byte that is there.
    pub fn end(&self) -> io::Result<u64> {
        let Some(last) = numbers(&self.dir)?.pop() else { return Ok(0) };
        let Some(mut segment) = Segment::open(&self.dir, last)? else { return Ok(0) };
        segment.skip(u64::MAX)?;
        // The last entry may still grow.
        Ok(segment.offset + segment.entry()?.map_or(0, |entry| entry.length))
    }

    /// Where the last so many bytes begin.
    pub fn tail(&self, bytes: u64) -> io::Result<u64> {
        Ok(self.end()?.saturating_sub(bytes))
    }
}

/// Opens a file of the log. The run can write beside it, so a link is not followed and a pipe is not waited for.
pub(super) fn open(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits();
    let flags = i32::try_from(flags).unwrap_or_default();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("it is not a regular file")),
    }
}

/// The output from an offset on, piece by piece.
#[derive(Debug)]
pub struct Pieces {
    dir: PathBuf,
    offset: u64,
    segment: Option<Segment>,
}

impl Pieces {
    /// Where the next piece begins; a later reader can go on from here.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    fn advance(&mut self) -> io::Result<Option<Piece>> {
        loop {
            if self.segment.is_none() {
                match self.enter(None)? {
                    Entered::Nothing => return Ok(None),
                    Entered::Gap(piece) => return Ok(Some(piece)),
                    Entered::Segment => {}
                }
            }
            if let Some(piece) = self.inside()? {
                return Ok(Some(piece));
            }
            let Some(number) = self.segment.as_ref().map(|segment| segment.number) else { continue };
            if numbers(&self.dir)?.last().is_none_or(|last| *last <= number) {
                return Ok(None);
            }
            // There is a later segment, so this one is complete: one look for what came since the last one.
            if let Some(piece) = self.inside()? {
                return Ok(Some(piece));
            }
            match self.enter(Some(number))? {
                Entered::Nothing => return Ok(None),
                Entered::Gap(piece) => return Ok(Some(piece)),
                Entered::Segment => {}
            }
        }
    }

    /// Opens the segment that holds the offset, or the first one behind it.
    fn enter(&mut self, after: Option<u64>) -> io::Result<Entered> {
        let mut found = None;
        for number in numbers(&self.dir)? {
            if after.is_some_and(|after| number <= after) {
                continue;
            }
            let Some(segment) = Segment::open(&self.dir, number)? else { continue };
            let begins = segment.head.before[0] + segment.head.before[1];
            if begins > self.offset && found.is_some() {
                break;
            }
            found = Some((segment, begins));
            if begins > self.offset {
                break;
            }
        }
        let Some((mut segment, begins)) = found else { return Ok(Entered::Nothing) };
        segment.skip(self.offset)?;
        let gap = begins.checked_sub(self.offset).filter(|gap| *gap > 0);
        let at_us = segment.head.began_us;
        self.segment = Some(segment);
        Ok(match gap {
            Some(gap) => Entered::Gap(self.missing(at_us, gap)?),
            None => Entered::Segment,
        })
    }

    fn missing(&mut self, began_us: u64, gap: u64) -> io::Result<Piece> {
        let first = match &self.segment {
            Some(segment) => segment.entry()?.map_or(0, |entry| entry.at_us),
            None => 0,
        };
        let piece = Piece { at_us: began_us + first, offset: self.offset, what: What::Dropped(gap) };
        self.offset += gap;
        Ok(piece)
    }

    /// The next piece of the segment that is open.
    fn inside(&mut self) -> io::Result<Option<Piece>> {
        let Some(segment) = &mut self.segment else { return Ok(None) };
        while let Some(entry) = segment.entry()? {
            let end = segment.offset + entry.length;
            if end <= self.offset {
                if !segment.has_next()? {
                    return Ok(None);
                }
                segment.step(entry);
                continue;
            }
            let skipped = self.offset.saturating_sub(segment.offset);
            let at_us = segment.head.began_us + entry.at_us;
            let what = if entry.lost {
                What::Lost(entry.stream, entry.length - skipped)
            } else {
                let length = (entry.length - skipped).min(PIECE_BYTES);
                match segment.data(&self.dir, entry.stream, skipped, length)? {
                    Some(bytes) => What::Bytes(entry.stream, bytes),
                    // The segment was removed between its index and its data; the next one tells how much is missing.
                    None => return Ok(None),
                }
            };
            let offset = self.offset;
            self.offset += match &what {
                What::Bytes(_, bytes) => bytes.len() as u64,
                What::Dropped(count) | What::Lost(_, count) => *count,
            };
            return Ok(Some(Piece { at_us, offset, what }));
        }
        Ok(None)
    }
}

impl Iterator for Pieces {
    type Item = io::Result<Piece>;

    fn next(&mut self) -> Option<Self::Item> {
        self.advance().transpose()
    }
}

enum Entered {
    Nothing,
    Gap(Piece),
    Segment,
}

#[derive(Debug)]
struct Segment {
    number: u64,
    head: Head,
    index: File,
    data: [Option<File>; 2],
    /// The entry that is being read, and where its bytes begin: for both streams together, and in the file of each.
    place: u64,
    offset: u64,
    within: [u64; 2],
}

impl Segment {
    /// Opens a segment; `None` if it was removed, or is only being made.
    fn open(dir: &Path, number: u64) -> io::Result<Option<Self>> {
        let index = match open(&index_path(dir, number)) {
            Ok(index) => index,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut head = [0; HEAD_BYTES as usize];
        if !read_whole(&index, &mut head, 0)? {
            return Ok(None);
        }
        let head = Head::decode(head).ok_or_else(|| {
            let problem = format!("{} is not an index of a kept log", index_path(dir, number).display());
            io::Error::new(io::ErrorKind::InvalidData, problem)
        })?;
        let offset = head.before[0] + head.before[1];
        Ok(Some(Self { number, head, index, data: [None, None], place: 0, offset, within: [0; 2] }))
    }

    fn entry(&self) -> io::Result<Option<Entry>> {
        self.entry_at(self.place)
    }

    fn has_next(&self) -> io::Result<bool> {
        Ok(self.entry_at(self.place + 1)?.is_some())
    }

    fn entry_at(&self, place: u64) -> io::Result<Option<Entry>> {
        let mut bytes = [0; ENTRY_BYTES as usize];
        let whole = read_whole(&self.index, &mut bytes, HEAD_BYTES + place * ENTRY_BYTES)?;
        Ok(whole.then(|| Entry::decode(bytes)))
    }

    /// Goes behind an entry that will not grow any more. It may have grown since it was read, so it is read again.
    fn step(&mut self, seen: Entry) {
        let entry = self.entry().ok().flatten().unwrap_or(seen);
        if entry.length == seen.length {
            self.offset += entry.length;
            if !entry.lost {
                self.within[place(entry.stream)] += entry.length;
            }
            self.place += 1;
        }
    }

    /// Goes behind every entry that ends at or before an offset, but not behind the last one, which may still grow. Many are read
    /// at once: a run that writes single bytes has as many entries as bytes.
    fn skip(&mut self, until: u64) -> io::Result<()> {
        let mut bytes = vec![0; ENTRY_BYTES as usize * ENTRIES_AT_ONCE];
        loop {
            let read = read_some(&self.index, &mut bytes, HEAD_BYTES + self.place * ENTRY_BYTES)?;
            let whole = read / ENTRY_BYTES as usize;
            for chunk in bytes.chunks_exact(ENTRY_BYTES as usize).take(whole.saturating_sub(1)) {
                let Ok(chunk) = chunk.try_into() else { return Ok(()) };
                let entry = Entry::decode(chunk);
                if self.offset.saturating_add(entry.length) > until {
                    return Ok(());
                }
                self.offset += entry.length;
                if !entry.lost {
                    self.within[place(entry.stream)] += entry.length;
                }
                self.place += 1;
            }
            if whole < ENTRIES_AT_ONCE {
                return Ok(());
            }
        }
    }

    fn data(&mut self, dir: &Path, stream: Stream, skip: u64, length: u64) -> io::Result<Option<Vec<u8>>> {
        let at = self.within[place(stream)] + skip;
        let file = match &mut self.data[place(stream)] {
            Some(file) => file,
            none => match open(&data_path(dir, self.number, stream)) {
                Ok(file) => none.insert(file),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(error),
            },
        };
        let mut bytes = vec![0; length as usize];
        Ok(read_whole(file, &mut bytes, at)?.then_some(bytes))
    }
}

/// Fills as much of the buffer as the file has.
fn read_some(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read_at(&mut buffer[filled..], at + filled as u64) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Fills the buffer; `false` if the file is too short.
fn read_whole(file: &File, buffer: &mut [u8], at: u64) -> io::Result<bool> {
    match file.read_exact_at(buffer, at) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

/// The segments that are there, oldest first.
pub(super) fn numbers(dir: &Path) -> io::Result<Vec<u64>> {
    let mut numbers = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        numbers.extend(entry?.file_name().to_str().and_then(number_of));
    }
    numbers.sort_unstable();
    Ok(numbers)
}
