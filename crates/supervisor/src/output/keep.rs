//! Writes a kept log: bounded, in segments, never waiting for room on the disk.
//!
//! Invariant: an entry of the index is written after its bytes, so what the index names is there. What could not be written
//! leaves an entry that says how much it was. Nothing here is synced: the output is evidence beside the record, and a sync
//! for each line would make a chatty child wait for the disk.

use std::collections::VecDeque;
use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::PathBuf;
use std::time::Duration;

use super::layout::{ENTRY_BYTES, Entry, HEAD_BYTES, Head, data_path, index_path, place};
use crate::{Keep, Kept, Stream, mutant};

/// Makes the directory. A disk that is full or fails costs the output and not the run.
pub(crate) fn prepare(keep: &Keep) -> io::Result<()> {
    match DirBuilder::new().recursive(true).mode(0o700).create(&keep.dir) {
        Err(error) if !is_of_the_disk(&error) => return Err(error),
        Err(_) | Ok(()) => {}
    }
    if index_path(&keep.dir, 0).exists() {
        return Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            format!("{} holds the output of another run", keep.dir.display()),
        ));
    }
    Ok(())
}

/// The log of one run, as it is written.
#[derive(Debug)]
pub(super) struct Keeper {
    dir: PathBuf,
    began_us: u64,
    /// The size of the first segment, and of each other one.
    sizes: [u64; 2],
    segment: Option<Segment>,
    next: u64,
    /// The segments after the first that are there, and how many bytes of output each holds.
    tail: VecDeque<(u64, u64)>,
    /// Bytes that came in, by stream.
    seen: [u64; 2],
    /// Bytes that could not be written and are not in the index yet.
    owed: [u64; 2],
    dropped: u64,
    lost: u64,
    /// After a failure, no attempt is made before this.
    retry_at: Option<Duration>,
}

#[derive(Debug)]
struct Segment {
    number: u64,
    index: File,
    data: [Option<File>; 2],
    lengths: [u64; 2],
    index_length: u64,
    last: Option<Entry>,
}

/// As many segments after the first are kept, each an eighth of the quota; the first has a quarter.
const TAIL_SEGMENTS: usize = 6;
const QUOTA_MIN: u64 = 16 * 1024;
/// Chunks of one stream within this time share an entry.
const SHARED_US: u64 = 10_000;
const RETRY: Duration = Duration::from_millis(100);

impl Keeper {
    /// Begins a log in a directory that has been prepared.
    pub(super) fn new(keep: &Keep) -> Self {
        let quota = keep.max_bytes.max(QUOTA_MIN);
        Self {
            dir: keep.dir.clone(),
            began_us: keep.began_us,
            sizes: [quota / 4, quota / 8],
            segment: None,
            next: 0,
            tail: VecDeque::new(),
            seen: [0; 2],
            owed: [0; 2],
            dropped: 0,
            lost: 0,
            retry_at: None,
        }
    }

    /// Keeps what it can.
    pub(super) fn write(&mut self, stream: Stream, at: Duration, mut bytes: &[u8]) {
        let at_us = at.as_micros() as u64;
        if self.retry_at.is_none_or(|retry_at| at >= retry_at) {
            self.retry_at = None;
            while !bytes.is_empty() {
                match self.write_some(stream, at_us, bytes) {
                    Ok(count) => {
                        self.seen[place(stream)] += count as u64;
                        bytes = &bytes[count..];
                    }
                    Err(_) => {
                        self.retry_at = Some(at + RETRY);
                        break;
                    }
                }
            }
        }
        let rest = bytes.len() as u64;
        self.seen[place(stream)] += rest;
        self.owed[place(stream)] += rest;
        self.lost += rest;
    }

    /// What became of the output.
    pub(super) fn account(&self, kept: &mut Kept) {
        kept.dropped = self.dropped;
        kept.lost = self.lost;
    }

    /// Tries once more to write down what was lost, so that a reader knows.
    pub(super) fn finish(&mut self, at: Duration) {
        // If the disk is still full, the account of the run says it.
        drop(self.ready().and_then(|_| self.pay(at.as_micros() as u64)));
    }

    /// Writes as much as the segment takes.
    fn write_some(&mut self, stream: Stream, at_us: u64, bytes: &[u8]) -> io::Result<usize> {
        self.ready()?;
        self.pay(at_us)?;
        let (dir, sizes) = (&self.dir, self.sizes);
        let Some(segment) = self.segment.as_mut() else { return Err(io::ErrorKind::NotFound.into()) };
        let room = segment.room(sizes).saturating_sub(ENTRY_BYTES).max(1);
        let count = bytes.len().min(usize::try_from(room).unwrap_or(usize::MAX));
        let file = match &mut segment.data[place(stream)] {
            Some(file) => file,
            none => none.insert(create(data_path(dir, segment.number, stream))?),
        };
        let before = segment.lengths[place(stream)];
        let written = write_all_at(file, &bytes[..count], before)?;
        segment.note(Entry { at_us, stream, lost: false, length: written as u64 })?;
        segment.lengths[place(stream)] += written as u64;
        if let Some((_, held)) = self.tail.back_mut().filter(|(number, _)| *number == segment.number) {
            *held += written as u64;
        }
        Ok(written)
    }

    /// Makes sure that there is a segment with room.
    fn ready(&mut self) -> io::Result<()> {
        if self.segment.as_ref().is_some_and(|segment| segment.room(self.sizes) > ENTRY_BYTES) {
            return Ok(());
        }
        let number = self.next;
        let index = create(index_path(&self.dir, number))?;
        let owed = self.owed;
        let before = [self.seen[0] - owed[0], self.seen[1] - owed[1]];
        index.write_all_at(&Head { began_us: self.began_us, before }.encode(), 0)?;
        self.segment = Some(Segment {
            number,
            index,
            data: [None, None],
            lengths: [0; 2],
            index_length: HEAD_BYTES,
            last: None,
        });
        self.next += 1;
        if number > 0 {
            self.tail.push_back((number, 0));
        }
        while self.tail.len() > TAIL_SEGMENTS && !mutant::removed("quota") {
            if let Some((oldest, held)) = self.tail.pop_front() {
                self.dropped += held;
                remove(&self.dir, oldest);
            }
        }
        Ok(())
    }

    /// Writes down what was lost before.
    fn pay(&mut self, at_us: u64) -> io::Result<()> {
        let Some(segment) = self.segment.as_mut() else { return Ok(()) };
        for stream in [Stream::Stdout, Stream::Stderr] {
            let length = self.owed[place(stream)];
            if length > 0 {
                segment.note(Entry { at_us, stream, lost: true, length })?;
                self.owed[place(stream)] = 0;
            }
        }
        Ok(())
    }
}

impl Segment {
    fn room(&self, sizes: [u64; 2]) -> u64 {
        let size = sizes[usize::from(self.number > 0)];
        size.saturating_sub(self.lengths[0] + self.lengths[1] + self.index_length)
    }

    /// Adds an entry, or lets the last one grow.
    fn note(&mut self, entry: Entry) -> io::Result<()> {
        if let Some(last) = &mut self.last
            && (last.stream, last.lost) == (entry.stream, entry.lost)
            && entry.at_us.saturating_sub(last.at_us) < SHARED_US
        {
            let length = last.length + entry.length;
            self.index.write_all_at(&length.to_le_bytes(), self.index_length - 8)?;
            last.length = length;
            return Ok(());
        }
        self.index.write_all_at(&entry.encode(), self.index_length)?;
        self.index_length += ENTRY_BYTES;
        self.last = Some(entry);
        Ok(())
    }
}

fn create(path: PathBuf) -> io::Result<File> {
    File::options().write(true).create(true).truncate(true).mode(0o600).open(path)
}

/// Writes until all is written or the disk refuses; an error only if nothing was.
fn write_all_at(file: &File, bytes: &[u8], at: u64) -> io::Result<usize> {
    let mut written = 0;
    while written < bytes.len() {
        match file.write_at(&bytes[written..], at + written as u64) {
            Ok(0) => break,
            Ok(count) => written += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if written == 0 => return Err(error),
            Err(_) => break,
        }
    }
    if written == 0 { Err(io::ErrorKind::WriteZero.into()) } else { Ok(written) }
}

/// Removes a segment, the index first: a reader that finds it gone goes on with the next.
fn remove(dir: &std::path::Path, number: u64) {
    let data = [Stream::Stdout, Stream::Stderr].map(|stream| data_path(dir, number, stream));
    for path in [index_path(dir, number)].into_iter().chain(data) {
        // A stream that said nothing in this segment has no file.
        drop(std::fs::remove_file(path));
    }
}

fn is_of_the_disk(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOSPC | libc::EDQUOT | libc::EIO))
}
