//! What the words of a record mean: its kind, its type and its two states.
//!
//! Invariant: a log has few different shapes, so each is understood once and remembered; what is remembered is
//! compared word by word before it is used. Deliberately absent: who asked, why, and by which trigger; folding does
//! not depend on them.

use callboard_kernel::EventType;
use callboard_lifecycle::{Kind, Lifecycle, Words};

use crate::reading::borrowed::Borrowed;
use crate::record::Unreadable;

/// What a record does to its entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecordShape {
    pub(crate) kind: Kind,
    pub(crate) event: EventType,
    pub(crate) from: Option<Lifecycle>,
    pub(crate) to: Lifecycle,
}

impl RecordShape {
    /// Understands a record. One whose type only a newer program knows moves its entity as its columns say.
    pub(crate) fn of(line: &Borrowed<'_>) -> Result<Self, Unreadable> {
        let kind = Kind::parse(line.kind)?;
        let to = Lifecycle::parse(kind, line.to_state)?;
        let from = match line.from_state {
            "" => None,
            name => Some(Lifecycle::parse(kind, name)?),
        };
        let event = EventType::parse(line.event_type).unwrap_or(match from {
            Some(from) if from == to => EventType::Observed,
            Some(_) => EventType::Transitioned,
            None => EventType::Created,
        });
        Ok(Self { kind, event, from, to })
    }
}

/// What is known of one shape.
#[derive(Clone, Copy)]
pub(crate) struct Known {
    /// Nothing, if this program cannot read it.
    pub(crate) shape: Option<RecordShape>,
}

struct Remembered {
    words: [String; 4],
    known: Known,
}

/// The shapes met so far; one that finds its place taken takes it over.
pub(crate) struct RecordShapes(Vec<Option<Remembered>>);

/// More than the tables have edges, a power of two.
const PLACES: usize = 1024;

impl RecordShapes {
    pub(crate) fn new() -> Self {
        Self((0..PLACES).map(|_| None).collect())
    }

    /// What is known of the shape of a record.
    pub(crate) fn of(&mut self, line: &Borrowed<'_>) -> Known {
        let words = [line.kind, line.event_type, line.from_state, line.to_state];
        let place = &mut self.0[place(words)];
        match place {
            Some(known) if known.words.iter().zip(words).all(|(known, word)| known == word) => known.known,
            _ => {
                let known = Known { shape: RecordShape::of(line).ok() };
                *place = Some(Remembered { words: words.map(str::to_owned), known });
                known
            }
        }
    }
}

/// Lengths and first letters tell most words apart.
fn place(words: [&str; 4]) -> usize {
    let mixed = words.iter().fold(0u64, |mixed, word| {
        let mut start = [0; 8];
        let len = word.len().min(8);
        start[..len].copy_from_slice(&word.as_bytes()[..len]);
        (mixed.rotate_left(5) ^ u64::from_le_bytes(start) ^ word.len() as u64)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
    });
    (mixed >> 32) as usize % PLACES
}
