//! A listing as it is written behind the question mark: the filter, the order, the page.
//!
//! Invariant: what is not understood is refused. Deliberately absent: what a filter admits, which the engine decides.

use callboard_engine::board::{Cursor, Filter, ListingOrder, ListingRequest, StateCondition};
use callboard_ledger::Sequence;
use callboard_lifecycle::Kind;

use crate::problem::Problem;
use crate::query::Query;

/// The parameters of a listing.
const NAMES: [&str; 12] = [
    "kind", "state", "health", "severity", "label", "project", "parent", "q", "ended", "sort", "limit",
    "cursor",
];

/// Reads the request for a page.
pub(crate) fn listing_request(query: &Query, limit_max: usize) -> Result<ListingRequest, Problem> {
    query.only(&NAMES)?;
    let order = match query.one("sort") {
        None | Some("severity") => ListingOrder::Severity,
        Some("newest") => ListingOrder::By(Sequence::Newest),
        Some("oldest") => ListingOrder::By(Sequence::Oldest),
        Some(other) => {
            let help = "sort by severity, newest or oldest";
            return Err(Problem::bad_request(format!("unknown order {other:?}"), help));
        }
    };
    let unreadable = |error| Problem::bad_request(format!("{error}"), "take next_cursor of the page before");
    let cursor = query.one("cursor").map(str::parse::<Cursor>).transpose().map_err(unreadable)?;
    let limit = query.number("limit", 1, limit_max)?.unwrap_or(100);
    let request =
        ListingRequest { filter: filter(query)?, ended: query.flag("ended")?, order, limit, cursor };
    if !request.cursor_fits() {
        return Err(Problem::bad_request(
            "the cursor belongs to another order",
            "ask with the same sort as the page before",
        ));
    }
    Ok(request)
}

fn filter(query: &Query) -> Result<Filter, Problem> {
    let kinds = query.words::<Kind>("kind")?;
    if kinds.len() > 1 {
        return Err(Problem::bad_request("several kinds are named", "name one kind, or none for all"));
    }
    let label = |text: &str| match text.split_once('=') {
        Some((name, value)) => Ok((name.to_owned(), Some(value.to_owned()))),
        None => Err(Problem::bad_request(format!("label={text:?} cannot be read"), "write label=NAME=VALUE")),
    };
    let names = query.all("state").flat_map(|states| states.split(','));
    let lifecycles = StateCondition::lifecycles(names).map_err(|unknown| {
        Problem::bad_request(unknown.to_string(), "GET /api/v1/machines lists the states of every kind")
    })?;
    let healths = StateCondition::healths(query.words("health")?);
    let severities = StateCondition::severities(query.words("severity")?);
    let states = [lifecycles, healths, severities].into_iter().filter(|condition| !condition.is_empty());
    Ok(Filter {
        kind: kinds.first().copied(),
        parent: query.read("parent", "a whole id, such as ses_01k7c3h2f4x8w6t5r3q1n0m9bz")?,
        states: states.collect(),
        labels: query.all("label").map(label).collect::<Result<_, _>>()?,
        project: query.one("project").map(str::to_owned),
        text: query.one("q").map(str::to_lowercase).filter(|text| !text.is_empty()),
        older_than: None,
        newer_than: None,
    })
}
