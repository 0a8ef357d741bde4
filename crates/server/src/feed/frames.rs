//! Records as the feed writes them: a run of server-sent events in one buffer, with marks to find each of them.
//!
//! Invariant: the bytes between two marks are one whole event. Deliberately absent: who gets which.

use bytes::{Bytes, BytesMut};
use callboard_ledger::Record;
use callboard_lifecycle::{Kind, Lifecycle, Words};
use uuid::Uuid;

/// Several records, written once.
#[derive(Clone, Debug)]
pub(crate) struct Frames {
    bytes: Bytes,
    marks: Vec<Mark>,
}

/// Where one record is, and what somebody may choose it by.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    pub(crate) seq: u64,
    pub(crate) entity: Uuid,
    pub(crate) kind: String,
    pub(crate) channel: String,
    /// Did its entity end with it?
    pub(crate) ends: bool,
    /// Did its entity move to another state with it?
    pub(crate) moves: bool,
    end: usize,
}

impl Frames {
    /// Writes these records, which follow each other.
    pub(crate) fn of(records: &[Record]) -> Self {
        let mut bytes = BytesMut::with_capacity(records.len() * 512);
        let marks = records
            .iter()
            .map(|record| {
                // What cannot be written as JSON is told by its number, so that nobody waits for it.
                let line = record.line().unwrap_or_else(|_| format!("{{\"seq\":{}}}", record.seq));
                let head = format!("id: {}\nevent: record\ndata: ", record.seq);
                bytes.extend_from_slice(head.as_bytes());
                bytes.extend_from_slice(line.as_bytes());
                bytes.extend_from_slice(b"\n\n");
                Mark {
                    seq: record.seq,
                    entity: record.entity,
                    kind: record.kind.clone(),
                    channel: record.channel.clone(),
                    ends: ends(record),
                    moves: record.from_state != record.to_state,
                    end: bytes.len(),
                }
            })
            .collect();
        Self { bytes: bytes.freeze(), marks }
    }

    pub(crate) fn marks(&self) -> &[Mark] {
        &self.marks
    }

    pub(crate) fn first(&self) -> Option<u64> {
        self.marks.first().map(|mark| mark.seq)
    }

    pub(crate) fn last(&self) -> Option<u64> {
        self.marks.last().map(|mark| mark.seq)
    }

    pub(crate) fn count(&self) -> usize {
        self.marks.len()
    }

    pub(crate) fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Takes those after a record that are wanted, in runs that share the buffer, until one says to stop.
    pub(crate) fn take(&self, after: u64, wants: &dyn Fn(&Mark) -> bool, into: &mut Taken) {
        let begin = self.marks.partition_point(|mark| mark.seq <= after);
        let mut from = begin.checked_sub(1).map_or(0, |before| self.marks[before].end);
        let mut run = from;
        for mark in &self.marks[begin..] {
            if wants(mark) {
                run = mark.end;
            } else {
                into.push(self.bytes.slice(from..run));
                (from, run) = (mark.end, mark.end);
            }
            into.after = mark.seq;
            if mark.ends && into.stops_at_end && wants(mark) {
                into.ended = true;
                break;
            }
        }
        into.push(self.bytes.slice(from..run));
    }
}

/// What a listener gets next.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    parts: Vec<Bytes>,
    size: usize,
    /// Everything up to here was taken or is not wanted.
    pub(crate) after: u64,
    /// Stop behind the record that ends the entity.
    stops_at_end: bool,
    /// That record was taken.
    pub(crate) ended: bool,
}

impl Taken {
    /// Nothing yet, behind a record.
    pub(crate) fn behind(after: u64, stops_at_end: bool) -> Self {
        Self { after, stops_at_end, ..Self::default() }
    }

    fn push(&mut self, part: Bytes) {
        self.size += part.len();
        if !part.is_empty() {
            self.parts.push(part);
        }
    }

    pub(crate) const fn size(&self) -> usize {
        self.size
    }

    /// One buffer: shared if it is one run, copied together if there are several.
    pub(crate) fn bytes(mut self) -> Bytes {
        if self.parts.len() == 1 {
            return self.parts.pop().unwrap_or_default();
        }
        let mut all = BytesMut::with_capacity(self.size);
        self.parts.iter().for_each(|part| all.extend_from_slice(part));
        all.freeze()
    }
}

fn ends(record: &Record) -> bool {
    let state = Kind::parse(&record.kind).and_then(|kind| Lifecycle::parse(kind, &record.to_state));
    record.from_state != record.to_state && state.is_ok_and(|state| state.is_terminal())
}
