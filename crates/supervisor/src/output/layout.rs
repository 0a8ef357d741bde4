//! The files of a kept log: their names, the head of an index, and its entries.
//!
//! An index begins with 32 bytes: eight that say what it is, the time of day at the start of the run in microseconds, and
//! how many bytes of stdout and of stderr came before this segment. Then follow entries of 16 bytes: the time since the
//! start in microseconds (56 bits) with the kind of the entry above it (8 bits), and a length. All numbers are
//! little-endian. The length of the last entry may still grow; it is one aligned word, so a reader sees the old or the
//! new one.

use std::path::{Path, PathBuf};

use crate::Stream;

const MAGIC: [u8; 8] = *b"cblog\x01\0\0";
pub(super) const HEAD_BYTES: u64 = 32;
pub(super) const ENTRY_BYTES: u64 = 16;

/// The head of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) began_us: u64,
    /// Bytes of stdout and stderr before this segment.
    pub(super) before: [u64; 2],
}

impl Head {
    pub(super) fn encode(self) -> [u8; HEAD_BYTES as usize] {
        let mut bytes = [0; HEAD_BYTES as usize];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..16].copy_from_slice(&self.began_us.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.before[0].to_le_bytes());
        bytes[24..].copy_from_slice(&self.before[1].to_le_bytes());
        bytes
    }

    pub(super) fn decode(bytes: [u8; HEAD_BYTES as usize]) -> Option<Self> {
        let head = Self { began_us: word(&bytes, 8), before: [word(&bytes, 16), word(&bytes, 24)] };
        (bytes[..8] == MAGIC).then_some(head)
    }
}

/// What an entry says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Since the start.
    pub(super) at_us: u64,
    pub(super) stream: Stream,
    /// The bytes could not be written; only their number is known.
    pub(super) lost: bool,
    pub(super) length: u64,
}

const AT_BITS: u32 = 56;

impl Entry {
    pub(super) fn encode(self) -> [u8; ENTRY_BYTES as usize] {
        let kind = place(self.stream) as u64 | u64::from(self.lost) << 1;
        let at = self.at_us & ((1 << AT_BITS) - 1);
        let mut bytes = [0; ENTRY_BYTES as usize];
        bytes[..8].copy_from_slice(&(at | kind << AT_BITS).to_le_bytes());
        bytes[8..].copy_from_slice(&self.length.to_le_bytes());
        bytes
    }

    pub(super) fn decode(bytes: [u8; ENTRY_BYTES as usize]) -> Self {
        let (first, length) = (word(&bytes, 0), word(&bytes, 8));
        let kind = first >> AT_BITS;
        let stream = if kind & 1 == 0 { Stream::Stdout } else { Stream::Stderr };
        Self { at_us: first & ((1 << AT_BITS) - 1), stream, lost: kind & 2 != 0, length }
    }
}

fn word(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

/// Where a stream stands in a pair.
pub(super) const fn place(stream: Stream) -> usize {
    match stream {
        Stream::Stdout => 0,
        Stream::Stderr => 1,
    }
}

pub(super) fn index_path(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("{number:08}.idx"))
}

pub(super) fn data_path(dir: &Path, number: u64, stream: Stream) -> PathBuf {
    let ending = match stream {
        Stream::Stdout => "out",
        Stream::Stderr => "err",
    };
    dir.join(format!("{number:08}.{ending}"))
}

/// The number of the segment whose index has this name.
pub(super) fn number_of(name: &str) -> Option<u64> {
    name.strip_suffix(".idx")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_and_entries_read_back() {
        let head = Head { began_us: 1_700_000_000_000_000, before: [7, u64::MAX] };
        assert_eq!(Head::decode(head.encode()), Some(head));
        assert_eq!(Head::decode([0; 32]), None);
        for (stream, lost) in
            [(Stream::Stdout, false), (Stream::Stderr, false), (Stream::Stdout, true), (Stream::Stderr, true)]
        {
            let entry = Entry { at_us: 123_456_789, stream, lost, length: 1 << 40 };
            assert_eq!(Entry::decode(entry.encode()), entry);
        }
    }
}
