//! Listings: filtered, ordered, piece by piece, over what is alive and what ended.
//!
//! Invariant: what is alive is judged from the board; what ended is read from the ledger a piece at a time, so a
//! listing of a million costs what it shows. A filter that finds little in a long log gives back what it found with a
//! cursor, and an unknown total, instead of reading on for ever. Deliberately absent: any judgement of its own.

use std::cmp::Reverse;

use callboard_engine::{Observed, View, Viewpoint};
use callboard_kernel::EntityId;
use callboard_ledger::{Ledger, ReadError, Sequence, Slice};
use callboard_lifecycle::Severity;

use super::board::{Board, is_urgent};
use super::cursor::Cursor;
use super::entry::{Entry, Shown, Traits};
use super::filter::Filter;
use crate::problem::Problem;
use crate::query::Query;

/// Rows read at once from the ledger.
const PIECE: usize = 1000;
/// Rows looked at for one page at the most.
const LOOKED_MAX: usize = 20_000;

/// What comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// The most urgent, then the newest.
    Severity,
    /// By id.
    By(Sequence),
}

/// A page that is asked for.
pub(crate) struct Wanted {
    pub(crate) filter: Filter,
    pub(crate) ended: bool,
    order: Order,
    limit: usize,
    cursor: Option<Cursor>,
}

impl Wanted {
    pub(crate) fn read(query: &Query, limit_max: usize) -> Result<Self, Problem> {
        let mut names = Filter::NAMES.to_vec();
        names.extend(["ended", "sort", "limit", "cursor"]);
        query.only(&names)?;
        let order = match query.one("sort") {
            None | Some("severity") => Order::Severity,
            Some("newest") => Order::By(Sequence::Newest),
            Some("oldest") => Order::By(Sequence::Oldest),
            Some(other) => {
                let help = "sort by severity, newest or oldest";
                return Err(Problem::bad_request(format!("unknown order {other:?}"), help));
            }
        };
        let cursor = query.one("cursor").map(Cursor::read).transpose()?;
        let fits = match (order, cursor) {
            (_, None) => true,
            (Order::Severity, Some(_)) => true,
            (Order::By(_), Some(cursor)) => matches!(cursor, Cursor::Listed(_)),
        };
        if !fits {
            return Err(Problem::bad_request(
                "the cursor belongs to another order",
                "ask with the same sort as the page before",
            ));
        }
        let limit = query.number("limit", 1, limit_max)?.unwrap_or(100);
        Ok(Self { filter: Filter::read(query)?, ended: query.flag("ended")?, order, limit, cursor })
    }
}

/// What a page shows: of what is on the board, how it was judged, then what was read from the ledger.
#[derive(Default)]
pub(crate) struct Listed {
    pub(crate) shown: Vec<Shown>,
    pub(crate) read: Vec<Observed>,
    pub(crate) next: Option<Cursor>,
    /// How many there are on all pages, if that is known.
    pub(crate) total: Option<u64>,
}

/// Lists a page of what is on the board, and says what else the ledger has to be asked for.
pub(crate) fn list(board: &Board, wanted: &Wanted) -> (Listed, Option<Rest>) {
    match (wanted.order, wanted.ended) {
        (_, false) => (of_board(board, wanted), None),
        (Order::By(order), true) => {
            let rest = Rest { limit: wanted.limit, order, beyond: beyond(wanted), is_calm: false };
            (Listed::default(), Some(rest))
        }
        (Order::Severity, true) => by_severity(board, wanted),
    }
}

/// What is still to be read from the ledger for a page.
pub(crate) struct Rest {
    limit: usize,
    order: Sequence,
    beyond: Option<EntityId>,
    /// What is urgent was shown already.
    is_calm: bool,
}

const fn beyond(wanted: &Wanted) -> Option<EntityId> {
    match wanted.cursor {
        Some(Cursor::Listed(id)) => Some(id),
        Some(Cursor::Ranked(..) | Cursor::Rest) | None => None,
    }
}

/// What is alive, from memory.
fn of_board(board: &Board, wanted: &Wanted) -> Listed {
    let mut found: Vec<&Entry> =
        board.ranked().filter(|entry| entry.traits.is_alive && takes(wanted, entry)).collect();
    let uuid = |entry: &Entry| entry.traits.id.uuid();
    match wanted.order {
        Order::Severity => {}
        Order::By(Sequence::Newest) => found.sort_unstable_by_key(|entry| Reverse(uuid(entry))),
        Order::By(Sequence::Oldest) => found.sort_unstable_by_key(|entry| uuid(entry)),
    }
    let total = Some(found.len() as u64);
    let is_shown = |entry: &Entry| match (wanted.order, wanted.cursor) {
        (_, None | Some(Cursor::Rest)) => true,
        (Order::Severity, Some(Cursor::Ranked(severity, id))) => is_behind(entry, severity, id),
        (Order::By(Sequence::Oldest), Some(Cursor::Listed(id))) => uuid(entry) > id.uuid(),
        (Order::By(_) | Order::Severity, Some(Cursor::Listed(id) | Cursor::Ranked(_, id))) => {
            uuid(entry) < id.uuid()
        }
    };
    found.retain(|entry| is_shown(entry));
    let more = found.len() > wanted.limit;
    found.truncate(wanted.limit);
    let next = found.last().filter(|_| more).map(|entry| match wanted.order {
        Order::Severity => Cursor::Ranked(entry.verdict.severity, entry.traits.id),
        Order::By(_) => Cursor::Listed(entry.traits.id),
    });
    Listed { shown: found.into_iter().map(Entry::shown).collect(), read: Vec::new(), next, total }
}

fn takes(wanted: &Wanted, entry: &Entry) -> bool {
    wanted.filter.takes_traits(&entry.traits)
        && wanted.filter.takes(entry.verdict.health, entry.verdict.severity)
}

/// Does it come after this one in the order of severity?
fn is_behind(entry: &Entry, severity: Severity, id: EntityId) -> bool {
    (entry.verdict.severity, Reverse(entry.traits.id.uuid())) > (severity, Reverse(id.uuid()))
}

/// The urgent ones from the board, then everything else from the ledger, the newest first.
fn by_severity(board: &Board, wanted: &Wanted) -> (Listed, Option<Rest>) {
    let rest = |limit| Rest { limit, order: Sequence::Newest, beyond: beyond(wanted), is_calm: true };
    let after = match wanted.cursor {
        Some(Cursor::Listed(_) | Cursor::Rest) => return (Listed::default(), Some(rest(wanted.limit))),
        Some(Cursor::Ranked(severity, id)) => Some((severity, id)),
        None => None,
    };
    let mut urgent = board
        .urgent()
        .filter(|entry| after.is_none_or(|(severity, id)| is_behind(entry, severity, id)))
        .filter(|entry| takes(wanted, entry));
    let found: Vec<&Entry> = urgent.by_ref().take(wanted.limit).collect();
    let more = urgent.next().is_some();
    let last = found.last().map(|last| Cursor::Ranked(last.verdict.severity, last.traits.id));
    let left = wanted.limit - found.len();
    let next = if more { last } else { Some(Cursor::Rest).filter(|_| left == 0) };
    let listed = Listed { shown: found.into_iter().map(Entry::shown).collect(), next, ..Listed::default() };
    (listed, (!more && left > 0).then(|| rest(left)))
}

impl Rest {
    /// Reads the rest of a page.
    pub(crate) fn read(
        &self,
        ledger: &Ledger,
        sight: &Viewpoint<'_>,
        filter: &Filter,
        into: &mut Listed,
    ) -> Result<(), ReadError> {
        let also =
            |view: &View<'_>, on_board: bool| !(self.is_calm && on_board && is_urgent(view.state.severity));
        let listed = pieces(ledger, sight, filter, self.limit, self.order, self.beyond, &also)?;
        (into.read, into.next) = (listed.read, listed.next);
        Ok(())
    }
}

/// Reads on behind an id until the page is full or enough was looked at.
fn pieces(
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
            if filter.is_plain() || filter.takes_traits(&Traits::of(&stored)) {
                let seen = Observed::of(ledger, stored, sight)?;
                let view = seen.view();
                if filter.takes(view.state.health, view.state.severity) && also(&view, on_board) {
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
