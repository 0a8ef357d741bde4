//! The newest records, written once and kept for a while, for all listeners together.
//!
//! Invariant: what is in the ring is a piece of the log without gaps that ends at its newest record; a listener whose
//! place is before it is told so and reads the ledger. Bounded by records and by bytes.

use std::collections::VecDeque;
use std::sync::{PoisonError, RwLock};

use super::frames::{Frames, Mark, Taken};

/// Records kept at the most.
const RECORDS_MAX: usize = 8192;
/// Bytes kept at the most; the newest run stays whatever its size.
const BYTES_MAX: usize = 16 * 1024 * 1024;
/// Bytes handed out at once.
const CHUNK_BYTES: usize = 256 * 1024;

/// The newest records.
pub(crate) struct Ring(RwLock<Inside>);

struct Inside {
    runs: VecDeque<Frames>,
    records: usize,
    bytes: usize,
    /// Everything after this record is in the ring.
    floor: u64,
    head: u64,
}

/// What the ring has for a place in the log.
pub(crate) enum Next {
    /// It begins behind that place.
    Behind,
    /// This; empty if nothing of it is wanted.
    Some(Taken),
    /// Nothing yet.
    Nothing,
}

impl Ring {
    /// An empty ring that goes on behind a record.
    pub(crate) const fn after(head: u64) -> Self {
        Self(RwLock::new(Inside { runs: VecDeque::new(), records: 0, bytes: 0, floor: head, head }))
    }

    /// Adds what follows.
    pub(crate) fn push(&self, frames: Frames) {
        let (Some(first), Some(last)) = (frames.first(), frames.last()) else { return };
        let mut inside = self.0.write().unwrap_or_else(PoisonError::into_inner);
        assert!(first == inside.head + 1, "BUG: record {first} does not continue the ring");
        inside.records += frames.count();
        inside.bytes += frames.size();
        inside.head = last;
        inside.runs.push_back(frames);
        while inside.runs.len() > 1 && (inside.records > RECORDS_MAX || inside.bytes > BYTES_MAX) {
            let Some(oldest) = inside.runs.pop_front() else { break };
            inside.records -= oldest.count();
            inside.bytes -= oldest.size();
            inside.floor = oldest.last().unwrap_or(inside.floor);
        }
    }

    pub(crate) fn head(&self) -> u64 {
        self.0.read().unwrap_or_else(PoisonError::into_inner).head
    }

    /// Everything after this record is in the ring.
    pub(crate) fn floor(&self) -> u64 {
        self.0.read().unwrap_or_else(PoisonError::into_inner).floor
    }

    /// What comes after a record, as far as it is wanted.
    pub(crate) fn next(&self, after: u64, stops_at_end: bool, wants: &dyn Fn(&Mark) -> bool) -> Next {
        let inside = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if after < inside.floor {
            return Next::Behind;
        }
        if after >= inside.head {
            return Next::Nothing;
        }
        let mut taken = Taken::behind(after, stops_at_end);
        let begin = inside.runs.partition_point(|run| run.last().is_some_and(|last| last <= after));
        for run in inside.runs.iter().skip(begin) {
            run.take(taken.after, wants, &mut taken);
            if taken.ended || taken.size() >= CHUNK_BYTES {
                break;
            }
        }
        Next::Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use callboard_kernel::Moment;
    use callboard_ledger::{Hash, Record};
    use uuid::Uuid;

    use super::*;

    fn record(seq: u64, kind: &str, to: &str) -> Record {
        Record {
            seq,
            entity: Uuid::from_u128(u128::from(seq % 3)),
            kind: kind.to_owned(),
            version: 1,
            at: Moment::default(),
            event_type: "transitioned".to_owned(),
            channel: "audit".to_owned(),
            from_state: "running".to_owned(),
            via: "x".to_owned(),
            to_state: to.to_owned(),
            actor_type: "system".to_owned(),
            actor_id: "t".to_owned(),
            key: None,
            body: "{}".to_owned(),
            hash: Hash::GENESIS,
        }
    }

    fn ids(ring: &Ring, mut after: u64, wants: &dyn Fn(&Mark) -> bool) -> Vec<u64> {
        let mut all = Vec::new();
        while let Next::Some(taken) = ring.next(after, false, wants) {
            after = taken.after;
            let text = String::from_utf8(taken.bytes().to_vec()).unwrap_or_default();
            all.extend(text.lines().filter_map(|line| line.strip_prefix("id: ")?.parse::<u64>().ok()));
        }
        all
    }

    fn filled() -> Ring {
        let ring = Ring::after(10);
        let mut seq = 10;
        for size in [1, 5, 2, 9, 1, 7] {
            let run: Vec<Record> = (0..size).map(|n| record(seq + 1 + n, "session", "running")).collect();
            seq += size;
            ring.push(Frames::of(&run));
        }
        ring
    }

    #[test]
    fn from_every_place_everything_comes_once_and_in_order() {
        let ring = filled();
        for after in 10..=ring.head() {
            assert_eq!(ids(&ring, after, &|_| true), (after + 1..=ring.head()).collect::<Vec<_>>());
            let odd = |mark: &Mark| mark.seq % 2 == 1;
            let expected: Vec<u64> = (after + 1..=ring.head()).filter(|seq| seq % 2 == 1).collect();
            assert_eq!(ids(&ring, after, &odd), expected);
        }
        assert!(matches!(ring.next(9, false, &|_| true), Next::Behind));
        assert!(matches!(ring.next(ring.head(), false, &|_| true), Next::Nothing));
    }

    #[test]
    fn it_holds_no_more_than_it_may_and_says_what_is_gone() {
        let ring = Ring::after(0);
        for n in 0..(RECORDS_MAX as u64 / 100 + 5) {
            let run: Vec<Record> =
                (0..100).map(|at| record(n * 100 + at + 1, "session", "running")).collect();
            ring.push(Frames::of(&run));
        }
        let inside = ring.0.read().unwrap();
        assert!(inside.records <= RECORDS_MAX && inside.floor > 0);
        let floor = inside.floor;
        drop(inside);
        assert!(matches!(ring.next(floor - 1, false, &|_| true), Next::Behind));
        assert_eq!(ids(&ring, floor, &|_| true).first(), Some(&(floor + 1)));
    }

    #[test]
    fn a_stream_of_one_entity_stops_at_its_end() {
        let ring = Ring::after(0);
        let run =
            [record(1, "session", "running"), record(2, "session", "failed"), record(3, "session", "x")];
        ring.push(Frames::of(&run));
        let Next::Some(taken) = ring.next(0, true, &|_| true) else { panic!("there are three") };
        assert!(taken.ended && taken.after == 2);
    }
}
