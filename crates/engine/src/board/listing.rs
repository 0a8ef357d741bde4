//! Listings: filtered, ordered, piece by piece, over what is alive and what ended.
//!
//! Invariant: what is alive is judged from the board; what ended is read from the ledger a piece at a time, so a
//! listing of a million costs what it shows. A filter that finds little in a long log gives back what it found with a
//! cursor, and an unknown total, instead of reading on for ever. Deliberately absent: any judgement of its own.

use std::cmp::Reverse;

use callboard_kernel::EntityId;
use callboard_ledger::{Ledger, ReadError, Sequence, Slice};
use callboard_lifecycle::Severity;

use super::cursor::Cursor;
use super::entry::{BoardEntry, SearchKeys, ShownEntity};
use super::filter::Filter;
use super::ranked::Board;
use crate::{Observed, View, Viewpoint};

/// Rows read at once from the ledger.
const PIECE: usize = 1000;
/// Rows looked at for one page at the most.
const LOOKED_MAX: usize = 20_000;

/// What comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListingOrder {
    /// The most urgent, then the newest.
    Severity,
    /// By id.
    By(Sequence),
}

/// A page that is asked for.
pub struct ListingRequest {
    /// Which are meant.
    pub filter: Filter,
    /// Those that ended too.
    pub ended: bool,
    /// What comes first.
    pub order: ListingOrder,
    /// How many at the most.
    pub limit: usize,
    /// The last one of the page before.
    pub cursor: Option<Cursor>,
}

impl ListingRequest {
    /// Does the cursor belong to a page of the same order?
    pub fn cursor_fits(&self) -> bool {
        match (self.order, self.cursor) {
            (_, None) | (ListingOrder::Severity, Some(_)) => true,
            (ListingOrder::By(_), Some(cursor)) => matches!(cursor, Cursor::Listed(_)),
        }
    }
}

/// What a page shows: of what is on the board, how it was judged, then what was read from the ledger.
#[derive(Default)]
pub struct Listed {
    /// Those on the board.
    pub shown: Vec<ShownEntity>,
    /// Those that were read from the ledger, which come after them.
    pub read: Vec<Observed>,
    /// Where the next page begins.
    pub next: Option<Cursor>,
    /// How many there are on all pages, if that is known.
    pub total: Option<u64>,
}

/// Lists a page of what is on the board, and says what else the ledger has to be asked for.
pub fn list(board: &Board, wanted: &ListingRequest) -> (Listed, Option<Remaining>) {
    match (wanted.order, wanted.ended) {
        (_, false) => (of_board(board, wanted), None),
        (ListingOrder::By(order), true) => {
            let rest = Remaining { limit: wanted.limit, order, beyond: beyond(wanted), is_calm: false };
            (Listed::default(), Some(rest))
        }
        (ListingOrder::Severity, true) => by_severity(board, wanted),
    }
}

/// What is still to be read from the ledger for a page.
pub struct Remaining {
    limit: usize,
    order: Sequence,
    beyond: Option<EntityId>,
    /// What is urgent was shown already.
    is_calm: bool,
}

const fn beyond(wanted: &ListingRequest) -> Option<EntityId> {
    match wanted.cursor {
        Some(Cursor::Listed(id)) => Some(id),
        Some(Cursor::Ranked(..) | Cursor::Rest) | None => None,
    }
}

/// What is alive, from memory.
fn of_board(board: &Board, wanted: &ListingRequest) -> Listed {
    let mut found: Vec<&BoardEntry> =
        board.ranked().filter(|entry| entry.keys.is_alive && wanted.filter.admits_entry(entry)).collect();
    let uuid = |entry: &BoardEntry| entry.keys.id.uuid();
    match wanted.order {
        ListingOrder::Severity => {}
        ListingOrder::By(Sequence::Newest) => found.sort_unstable_by_key(|entry| Reverse(uuid(entry))),
        ListingOrder::By(Sequence::Oldest) => found.sort_unstable_by_key(|entry| uuid(entry)),
    }
    let total = Some(found.len() as u64);
    let is_shown = |entry: &BoardEntry| match (wanted.order, wanted.cursor) {
        (_, None | Some(Cursor::Rest)) => true,
        (ListingOrder::Severity, Some(Cursor::Ranked(severity, id))) => is_behind(entry, severity, id),
        (ListingOrder::By(Sequence::Oldest), Some(Cursor::Listed(id))) => uuid(entry) > id.uuid(),
        (ListingOrder::By(_) | ListingOrder::Severity, Some(Cursor::Listed(id) | Cursor::Ranked(_, id))) => {
            uuid(entry) < id.uuid()
        }
    };
    found.retain(|entry| is_shown(entry));
    let more = found.len() > wanted.limit;
    found.truncate(wanted.limit);
    let next = found.last().filter(|_| more).map(|entry| match wanted.order {
        ListingOrder::Severity => Cursor::Ranked(entry.verdict.severity, entry.keys.id),
        ListingOrder::By(_) => Cursor::Listed(entry.keys.id),
    });
    Listed { shown: found.into_iter().map(BoardEntry::shown).collect(), read: Vec::new(), next, total }
}

/// Does it come after this one in the order of severity?
fn is_behind(entry: &BoardEntry, severity: Severity, id: EntityId) -> bool {
    (entry.verdict.severity, Reverse(entry.keys.id.uuid())) > (severity, Reverse(id.uuid()))
}

/// The urgent ones from the board, then everything else from the ledger, the newest first.
fn by_severity(board: &Board, wanted: &ListingRequest) -> (Listed, Option<Remaining>) {
    let rest = |limit| Remaining { limit, order: Sequence::Newest, beyond: beyond(wanted), is_calm: true };
    let after = match wanted.cursor {
        Some(Cursor::Listed(_) | Cursor::Rest) => return (Listed::default(), Some(rest(wanted.limit))),
        Some(Cursor::Ranked(severity, id)) => Some((severity, id)),
        None => None,
    };
    let mut urgent = board
        .urgent()
        .filter(|entry| after.is_none_or(|(severity, id)| is_behind(entry, severity, id)))
        .filter(|entry| wanted.filter.admits_entry(entry));
    let found: Vec<&BoardEntry> = urgent.by_ref().take(wanted.limit).collect();
    let more = urgent.next().is_some();
    let last = found.last().map(|last| Cursor::Ranked(last.verdict.severity, last.keys.id));
    let left = wanted.limit - found.len();
    let next = if more { last } else { Some(Cursor::Rest).filter(|_| left == 0) };
    let listed =
        Listed { shown: found.into_iter().map(BoardEntry::shown).collect(), next, ..Listed::default() };
    (listed, (!more && left > 0).then(|| rest(left)))
}

impl Remaining {
    /// Reads the rest of a page.
    pub fn read(
        &self,
        ledger: &Ledger,
        sight: &Viewpoint<'_>,
        filter: &Filter,
        into: &mut Listed,
    ) -> Result<(), ReadError> {
        let also =
            |view: &View<'_>, on_board: bool| !(self.is_calm && on_board && view.state.severity.is_urgent());
        let listed = read_on(ledger, sight, filter, self.limit, self.order, self.beyond, &also)?;
        (into.read, into.next) = (listed.read, listed.next);
        Ok(())
    }
}

/// Reads on behind an id until the page is full or enough was looked at.
fn read_on(
    ledger: &Ledger,
    sight: &Viewpoint<'_>,
    filter: &Filter,
    limit: usize,
    order: Sequence,
    beyond: Option<EntityId>,
    also: &dyn Fn(&View<'_>, bool) -> bool,
) -> Result<Listed, ReadError> {
    let (mut items, mut looked) = (Vec::new(), 0);
    let piece = if filter.is_plain() { limit + 1 } else { PIECE };
    let mut slice =
        Slice { kind: filter.kind, parent: filter.parent, live: false, order, beyond, limit: piece };
    loop {
        let rows = ledger.slice(slice.clone())?;
        let (count, last) = (rows.len(), rows.last().map(|stored| stored.entity.state.id));
        for stored in rows {
            let id = stored.entity.state.id;
            let on_board = stored.entity.ended_at.is_none() || stored.is_urgent();
            if filter.is_plain() || filter.may_admit(&SearchKeys::of(&stored)) {
                let seen = Observed::of(ledger, stored, sight)?;
                let view = seen.view();
                if filter.admits(&view, view.entered_at) && also(&view, on_board) {
                    items.push(seen);
                }
            }
            looked += 1;
            if items.len() == limit {
                return Ok(Listed { read: items, next: Some(Cursor::Listed(id)), ..Listed::default() });
            }
        }
        slice.beyond = last;
        match last {
            Some(_) if count < piece => return Ok(Listed { read: items, ..Listed::default() }),
            None => return Ok(Listed { read: items, ..Listed::default() }),
            Some(last) if looked >= LOOKED_MAX => {
                return Ok(Listed { read: items, next: Some(Cursor::Listed(last)), ..Listed::default() });
            }
            Some(_) => {}
        }
    }
}
