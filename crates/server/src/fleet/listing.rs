//! Listings: filtered, ordered, piece by piece, over what is alive and what ended.
//!
//! Invariant: what is alive is judged from the board; what ended is read from the ledger a piece at a time, so a
//! listing of a million costs what it shows. A filter that finds little in a long log gives back what it found with a
//! cursor, and an unknown total, instead of reading on for ever. Deliberately absent: any judgement of its own.

use std::cmp::Reverse;

use callboard_engine::{Sight, View, evaluate};
use callboard_ledger::{Ledger, ReadError, Sequence, Slice, Stored};
use callboard_lifecycle::Severity;

use super::board::Seen;
use super::cursor::Cursor;
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

/// What a page shows.
pub(crate) struct Listed {
    pub(crate) items: Vec<Stored>,
    pub(crate) next: Option<Cursor>,
    /// How many there are on all pages, if that is known.
    pub(crate) total: Option<u64>,
}

/// Lists a page.
pub(crate) fn list(
    ledger: &Ledger,
    seen: &Seen,
    sight: &Sight<'_>,
    wanted: &Wanted,
) -> Result<Listed, ReadError> {
    match (wanted.order, wanted.ended) {
        (_, false) => Ok(of_board(seen, sight, wanted)),
        (Order::By(order), true) => of_ledger(ledger, sight, wanted, order, beyond(wanted), &|_| true),
        (Order::Severity, true) => by_severity(ledger, seen, sight, wanted),
    }
}

const fn beyond(wanted: &Wanted) -> Option<callboard_kernel::EntityId> {
    match wanted.cursor {
        Some(Cursor::Listed(id)) => Some(id),
        Some(Cursor::Ranked(..) | Cursor::Rest) | None => None,
    }
}

const fn is_urgent(severity: Severity) -> bool {
    matches!(severity, Severity::Critical | Severity::Warning)
}

/// What is alive, from memory.
fn of_board(seen: &Seen, sight: &Sight<'_>, wanted: &Wanted) -> Listed {
    let stored = seen.alive().filter(|stored| wanted.filter.takes_stored(stored));
    let mut views: Vec<(View<'_>, &Stored)> = stored
        .map(|stored| (evaluate(stored, sight), stored))
        .filter(|(view, _)| wanted.filter.takes(view))
        .collect();
    match wanted.order {
        Order::Severity => views.sort_by_key(|(view, _)| (view.state.severity, Reverse(view.id.uuid()))),
        Order::By(Sequence::Newest) => views.sort_by_key(|(view, _)| Reverse(view.id.uuid())),
        Order::By(Sequence::Oldest) => views.sort_by_key(|(view, _)| view.id.uuid()),
    }
    let total = Some(views.len() as u64);
    let is_shown = |view: &View<'_>| match (wanted.order, wanted.cursor) {
        (_, None | Some(Cursor::Rest)) => true,
        (Order::Severity, Some(Cursor::Ranked(severity, id))) => {
            (view.state.severity, Reverse(view.id.uuid())) > (severity, Reverse(id.uuid()))
        }
        (Order::By(Sequence::Oldest), Some(Cursor::Listed(id))) => view.id.uuid() > id.uuid(),
        (Order::By(_) | Order::Severity, Some(Cursor::Listed(id) | Cursor::Ranked(_, id))) => {
            view.id.uuid() < id.uuid()
        }
    };
    views.retain(|(view, _)| is_shown(view));
    let more = views.len() > wanted.limit;
    views.truncate(wanted.limit);
    let next = views.last().filter(|_| more).map(|(view, _)| match wanted.order {
        Order::Severity => Cursor::Ranked(view.state.severity, view.id),
        Order::By(_) => Cursor::Listed(view.id),
    });
    Listed { items: views.into_iter().map(|(_, stored)| stored.clone()).collect(), next, total }
}

/// The urgent ones from the board, then everything else from the ledger, the newest first.
fn by_severity(
    ledger: &Ledger,
    seen: &Seen,
    sight: &Sight<'_>,
    wanted: &Wanted,
) -> Result<Listed, ReadError> {
    let newest = Sequence::Newest;
    let calm = |view: &View<'_>| !is_urgent(view.state.severity);
    if matches!(wanted.cursor, Some(Cursor::Listed(_) | Cursor::Rest)) {
        return of_ledger(ledger, sight, wanted, newest, beyond(wanted), &calm);
    }
    let after = match wanted.cursor {
        Some(Cursor::Ranked(severity, id)) => Some((severity, Reverse(id.uuid()))),
        Some(Cursor::Listed(_) | Cursor::Rest) | None => None,
    };
    let stored = seen.all().filter(|stored| wanted.filter.takes_stored(stored));
    let mut urgent: Vec<(Severity, Reverse<uuid::Uuid>, &Stored)> = stored
        .map(|stored| (evaluate(stored, sight), stored))
        .filter(|(view, _)| !calm(view) && wanted.filter.takes(view))
        .map(|(view, stored)| (view.state.severity, Reverse(view.id.uuid()), stored))
        .filter(|(severity, id, _)| after.is_none_or(|after| (*severity, *id) > after))
        .collect();
    urgent.sort_by_key(|(severity, id, _)| (*severity, *id));
    let more = urgent.len() > wanted.limit;
    urgent.truncate(wanted.limit);
    let next =
        urgent.last().filter(|_| more).map(|(rank, _, last)| Cursor::Ranked(*rank, last.entity.state.id));
    let mut items: Vec<Stored> = urgent.into_iter().map(|(_, _, stored)| stored.clone()).collect();
    if more {
        return Ok(Listed { items, next, total: None });
    }
    let left =
        Wanted { filter: Filter::default(), limit: wanted.limit - items.len(), cursor: None, ..*wanted };
    if left.limit == 0 {
        return Ok(Listed { items, next: Some(Cursor::Rest), total: None });
    }
    let rest = pieces(ledger, sight, &wanted.filter, left.limit, newest, None, &calm)?;
    items.extend(rest.items);
    Ok(Listed { items, next: rest.next, total: None })
}

fn of_ledger(
    ledger: &Ledger,
    sight: &Sight<'_>,
    wanted: &Wanted,
    order: Sequence,
    beyond: Option<callboard_kernel::EntityId>,
    also: &dyn Fn(&View<'_>) -> bool,
) -> Result<Listed, ReadError> {
    pieces(ledger, sight, &wanted.filter, wanted.limit, order, beyond, also)
}

/// Reads on behind an id until the page is full or enough was looked at.
fn pieces(
    ledger: &Ledger,
    sight: &Sight<'_>,
    filter: &Filter,
    limit: usize,
    order: Sequence,
    beyond: Option<callboard_kernel::EntityId>,
    also: &dyn Fn(&View<'_>) -> bool,
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
            if filter.takes_stored(&stored) {
                let view = evaluate(&stored, sight);
                if filter.takes(&view) && also(&view) {
                    items.push(stored);
                }
            }
            looked += 1;
            if items.len() == limit {
                return Ok(Listed { items, next: Some(Cursor::Listed(id)), total: None });
            }
        }
        slice.beyond = last;
        match last {
            Some(_) if count < piece => return Ok(Listed { items, next: None, total: None }),
            None => return Ok(Listed { items, next: None, total: None }),
            Some(last) if looked >= LOOKED_MAX => {
                return Ok(Listed { items, next: Some(Cursor::Listed(last)), total: None });
            }
            Some(_) => {}
        }
    }
}
