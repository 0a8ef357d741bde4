//! Listings: filtered, ordered, piece by piece, over what is alive and what ended.
//!
//! Invariant: what is alive is judged from the board; what ended is read from the ledger a piece at a time, so a
//! listing of a million costs what it shows. A filter that finds little in a long log gives back what it found with a
//! cursor, and an unknown total, instead of reading on for ever. Deliberately absent: any judgement of its own.

use std::cmp::Reverse;

use callboard_engine::{Sight, View, evaluate};
use callboard_kernel::EntityId;
use callboard_ledger::{Ledger, ReadError, Sequence, Slice, Stored};
use callboard_lifecycle::Severity;

use super::board::Ranked;
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

/// Lists a page; the ranking is of the whole board.
pub(crate) fn list(
    ledger: &Ledger,
    ranking: &[Ranked],
    sight: &Sight<'_>,
    wanted: &Wanted,
) -> Result<Listed, ReadError> {
    match (wanted.order, wanted.ended) {
        (_, false) => Ok(of_board(ranking, wanted)),
        (Order::By(order), true) => {
            pieces(ledger, sight, &wanted.filter, wanted.limit, order, beyond(wanted), &|_| true)
        }
        (Order::Severity, true) => by_severity(ledger, ranking, sight, wanted),
    }
}

const fn beyond(wanted: &Wanted) -> Option<EntityId> {
    match wanted.cursor {
        Some(Cursor::Listed(id)) => Some(id),
        Some(Cursor::Ranked(..) | Cursor::Rest) | None => None,
    }
}

const fn is_urgent(severity: Severity) -> bool {
    matches!(severity, Severity::Critical | Severity::Warning)
}

/// What is alive, from memory.
fn of_board(ranking: &[Ranked], wanted: &Wanted) -> Listed {
    let is_alive = |ranked: &&Ranked| ranked.stored.entity.ended_at.is_none();
    let mut found: Vec<&Ranked> = ranking.iter().filter(is_alive).filter(|one| takes(wanted, one)).collect();
    match wanted.order {
        Order::Severity => {}
        Order::By(Sequence::Newest) => found.sort_by_key(|ranked| Reverse(ranked.id().uuid())),
        Order::By(Sequence::Oldest) => found.sort_by_key(|ranked| ranked.id().uuid()),
    }
    let total = Some(found.len() as u64);
    let is_shown = |ranked: &Ranked| match (wanted.order, wanted.cursor) {
        (_, None | Some(Cursor::Rest)) => true,
        (Order::Severity, Some(Cursor::Ranked(severity, id))) => is_behind(ranked, severity, id),
        (Order::By(Sequence::Oldest), Some(Cursor::Listed(id))) => ranked.id().uuid() > id.uuid(),
        (Order::By(_) | Order::Severity, Some(Cursor::Listed(id) | Cursor::Ranked(_, id))) => {
            ranked.id().uuid() < id.uuid()
        }
    };
    found.retain(|ranked| is_shown(ranked));
    let more = found.len() > wanted.limit;
    found.truncate(wanted.limit);
    let next = found.last().filter(|_| more).map(|ranked| match wanted.order {
        Order::Severity => Cursor::Ranked(ranked.severity, ranked.id()),
        Order::By(_) => Cursor::Listed(ranked.id()),
    });
    Listed { items: found.into_iter().map(|ranked| (*ranked.stored).clone()).collect(), next, total }
}

fn takes(wanted: &Wanted, ranked: &Ranked) -> bool {
    wanted.filter.takes_stored(&ranked.stored) && wanted.filter.takes(ranked.health, ranked.severity)
}

/// Does it come after this one in the order of severity?
fn is_behind(ranked: &Ranked, severity: Severity, id: EntityId) -> bool {
    (ranked.severity, Reverse(ranked.id().uuid())) > (severity, Reverse(id.uuid()))
}

/// The urgent ones from the board, then everything else from the ledger, the newest first.
fn by_severity(
    ledger: &Ledger,
    ranking: &[Ranked],
    sight: &Sight<'_>,
    wanted: &Wanted,
) -> Result<Listed, ReadError> {
    let calm = |view: &View<'_>| !is_urgent(view.state.severity);
    let rest = |limit| pieces(ledger, sight, &wanted.filter, limit, Sequence::Newest, beyond(wanted), &calm);
    let after = match wanted.cursor {
        Some(Cursor::Listed(_) | Cursor::Rest) => return rest(wanted.limit),
        Some(Cursor::Ranked(severity, id)) => Some((severity, id)),
        None => None,
    };
    let mut urgent = ranking
        .iter()
        .take_while(|ranked| is_urgent(ranked.severity))
        .filter(|ranked| after.is_none_or(|(severity, id)| is_behind(ranked, severity, id)))
        .filter(|ranked| takes(wanted, ranked));
    let shown: Vec<&Ranked> = urgent.by_ref().take(wanted.limit).collect();
    let more = urgent.next().is_some();
    let next = shown.last().filter(|_| more).map(|last| Cursor::Ranked(last.severity, last.id()));
    let mut items: Vec<Stored> = shown.into_iter().map(|ranked| (*ranked.stored).clone()).collect();
    if more {
        return Ok(Listed { items, next, total: None });
    }
    let left = wanted.limit - items.len();
    if left == 0 {
        return Ok(Listed { items, next: Some(Cursor::Rest), total: None });
    }
    let rest = rest(left)?;
    items.extend(rest.items);
    Ok(Listed { items, next: rest.next, total: None })
}

/// Reads on behind an id until the page is full or enough was looked at.
fn pieces(
    ledger: &Ledger,
    sight: &Sight<'_>,
    filter: &Filter,
    limit: usize,
    order: Sequence,
    beyond: Option<EntityId>,
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
                if filter.takes(view.state.health, view.state.severity) && also(&view) {
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
