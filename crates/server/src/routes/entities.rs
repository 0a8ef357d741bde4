//! Entities: the list, one of them, its records, its children.
//!
//! Invariant: every view is the engine's, judged when it is asked for. Deliberately absent: anything that changes one.

use axum::extract::{Path, State};
use callboard_engine::board::{Listed, ListingRequest, list as list_entities};
use callboard_engine::{Observed, View, Viewpoint, evaluate, evaluate_as};
use callboard_kernel::{EntityId, Moment};
use callboard_ledger::{Page, Record, RecordScope, Sequence, Slice};
use serde::Serialize;
use utoipa::ToSchema;

use super::PAGE_MAX;
use super::asked::listing_query::listing_request;
use crate::app::{Answer, App, Shared, ask, no_entity};
use crate::problem::Problem;
use crate::query::Query;

/// A page of entities.
#[derive(Serialize, ToSchema)]
struct EntityPage<'a> {
    #[schema(value_type = Vec<callboard_wire::ViewShape>)]
    items: Vec<View<'a>>,
    /// Where the next page begins; nothing if this is the last one.
    next_cursor: Option<String>,
    /// How many there are on all pages, where that is known.
    total: Option<u64>,
    /// How many rows there are from before there were states.
    legacy: u64,
    /// Everything up to this record is in the answer.
    head: u64,
}

/// List entities: what is alive, and with `ended=true` what ended too.
#[utoipa::path(
    get, path = "/entities", tag = "entities",
    params(
        ("kind" = Option<String>, Query, description = "Only those of a kind."),
        ("state" = Option<String>, Query, description = "Only those in one of these states, with commas between them."),
        ("health" = Option<String>, Query, description = "Only those with one of these healths."),
        ("severity" = Option<String>, Query, description = "Only those of one of these severities."),
        ("label" = Option<String>, Query, description = "NAME=VALUE; may be given several times."),
        ("project" = Option<String>, Query, description = "Only those of a project."),
        ("parent" = Option<String>, Query, description = "Only those that belong to this one: a whole id."),
        ("q" = Option<String>, Query, description = "Only those whose title, project, status or id says this."),
        ("ended" = Option<bool>, Query, description = "Those that ended too."),
        ("sort" = Option<String>, Query, description = "severity, newest or oldest."),
        ("limit" = Option<u32>, Query, description = "How many: 1 to 500, 100 unless given."),
        ("cursor" = Option<String>, Query, description = "next_cursor of the page before."),
    ),
    responses((status = 200, body = EntityPage<'static>))
)]
pub(super) async fn list(State(app): State<Shared>, query: Query) -> Result<Answer, Problem> {
    let wanted = listing_request(&query, PAGE_MAX)?;
    ask(&app, move |app| {
        let (head, (mut listed, rest)) = app.board(|board| (board.head, list_entities(board, &wanted)))?;
        let table = app.fleet.process_table(&app.host);
        let sight = Viewpoint::present(app.now(), &table);
        if let Some(rest) = rest {
            rest.read(&app.ledger, &sight, &wanted.filter, &mut listed)?;
        }
        let total = match listed.total {
            None if wanted.filter.is_plain() && wanted.filter.parent.is_none() => Some(total(app, &wanted)?),
            known => known,
        };
        let Listed { shown, read, next, .. } = listed;
        let stored = App::unpack(&shown)?;
        let of_board = stored.iter().zip(&shown).map(|(stored, shown)| evaluate_as(stored, shown.look));
        Answer::json(&EntityPage {
            items: of_board.chain(read.iter().map(Observed::view)).collect(),
            next_cursor: next.map(|cursor| cursor.to_string()),
            total,
            legacy: app.ledger.legacy()?,
            head,
        })
    })
    .await
}

/// How many there are of a kind, or of all, ended or not.
fn total(app: &App, wanted: &ListingRequest) -> Result<u64, Problem> {
    let counts = app.fleet.counts(&app.ledger)?;
    let kind = wanted.filter.kind.map(callboard_lifecycle::Words::name);
    let kinds = counts.iter().filter(|(name, _)| kind.is_none_or(|kind| kind == name.as_str()));
    Ok(kinds.flat_map(|(_, states)| states.values()).sum())
}

/// Reads an id that must be spelled out whole.
pub(super) fn id_of(text: &str) -> Result<EntityId, Problem> {
    text.parse().map_err(|_| no_entity(text))
}

#[derive(Serialize)]
struct OneView<'a> {
    #[serde(flatten)]
    view: View<'a>,
    head: u64,
}

/// One entity as it stands, or as it stood.
#[utoipa::path(
    get, path = "/entities/{id}", tag = "entities",
    params(
        ("id" = String, Path, description = "Its whole id."),
        ("at" = Option<String>, Query, description = "As it was then: an RFC 3339 time."),
        ("as_of" = Option<u64>, Query, description = "As it was after this record of the log."),
    ),
    responses((status = 200, body = callboard_wire::OneViewShape))
)]
pub(super) async fn one(
    State(app): State<Shared>,
    Path(id): Path<String>,
    query: Query,
) -> Result<Answer, Problem> {
    query.only(&["at", "as_of"])?;
    let id = id_of(&id)?;
    let at: Option<Moment> = query.read("at", "a time such as 2026-11-15T19:19:18Z")?;
    let as_of: Option<u64> = query.read("as_of", "the number of a record")?;
    if at.is_some() && as_of.is_some() {
        return Err(Problem::bad_request("both at and as_of are given", "give one of them"));
    }
    ask(&app, move |app| {
        let head = app.ledger.head()?;
        let (seq, now) = match (at, as_of) {
            (None, None) => (None, app.now()),
            (Some(at), _) => (Some(app.ledger.seq_at(at)?), at),
            (None, Some(seq)) => (Some(seq), decided_at(app, seq)?),
        };
        let Some(seq) = seq else {
            let stored = app.entity(id)?;
            // One look costs little, so nothing that was seen before is used.
            let seen = Observed::of(&app.ledger, stored, &Viewpoint::present(now, &app.host))?;
            return Answer::json(&OneView { view: seen.view(), head });
        };
        let stored = app.ledger.entity_at(id, seq)?.ok_or_else(|| no_entity(&id.to_string()))?;
        Answer::json(&OneView { view: evaluate(&stored, &Viewpoint::past(now)), head: seq })
    })
    .await
}

/// When a record was decided.
fn decided_at(app: &App, seq: u64) -> Result<Moment, Problem> {
    let after = seq.saturating_sub(1);
    let records = app.ledger.records(Page { after, limit: 1, scope: RecordScope::All })?;
    let record = records.first().filter(|record| record.seq == seq);
    record.map(|record| record.at).ok_or_else(|| {
        Problem::not_found(
            format!("there is no record {seq}"),
            "GET /api/v1/admin/info tells how many there are",
        )
    })
}

/// A page of records.
#[derive(Serialize, ToSchema)]
struct RecordPage {
    #[schema(value_type = Vec<callboard_wire::RecordShape>)]
    items: Vec<Record>,
    /// Where the next page begins; nothing if this is the last one.
    next_after: Option<u64>,
}

/// The records of an entity, the oldest first.
#[utoipa::path(
    get, path = "/entities/{id}/records", tag = "entities",
    params(
        ("id" = String, Path, description = "Its whole id."),
        ("after" = Option<u64>, Query, description = "Only those after this record."),
        ("limit" = Option<u32>, Query, description = "How many: 1 to 500, 100 unless given."),
    ),
    responses((status = 200, body = RecordPage))
)]
pub(super) async fn records(
    State(app): State<Shared>,
    Path(id): Path<String>,
    query: Query,
) -> Result<Answer, Problem> {
    query.only(&["after", "limit"])?;
    let id = id_of(&id)?;
    let after = query.read("after", "the number of a record")?.unwrap_or(0);
    let limit = query.number("limit", 1, PAGE_MAX)?.unwrap_or(100);
    ask(&app, move |app| {
        app.entity(id)?;
        let (items, more) = some_records(app, id, after, limit)?;
        let next_after = items.last().filter(|_| more).map(|record| record.seq);
        Answer::json(&RecordPage { items, next_after })
    })
    .await
}

/// Records behind one, as many as are wanted or fit into an answer, and whether there are more.
fn some_records(
    app: &App,
    id: EntityId,
    mut after: u64,
    limit: usize,
) -> Result<(Vec<Record>, bool), Problem> {
    let (mut items, mut bytes) = (Vec::new(), 0);
    loop {
        let some =
            app.ledger.records(Page { after, limit: RECORDS_AT_ONCE, scope: RecordScope::Entity(id) })?;
        let Some(last) = some.last() else { return Ok((items, false)) };
        after = last.seq;
        for record in some {
            if items.len() == limit || bytes > RECORD_BYTES_MAX {
                return Ok((items, true));
            }
            bytes += record.line().map_or(0, |line| line.len());
            items.push(record);
        }
    }
}

/// Records read at once: each may be as large as a record can be.
const RECORDS_AT_ONCE: usize = 16;
/// Bytes of records beyond which an answer ends.
const RECORD_BYTES_MAX: usize = 1024 * 1024;

/// What belongs to one entity.
#[derive(Serialize, ToSchema)]
struct Children<'a> {
    #[schema(value_type = Vec<callboard_wire::ViewShape>)]
    items: Vec<View<'a>>,
}

/// What belongs to an entity, the oldest first; at most 500.
#[utoipa::path(
    get, path = "/entities/{id}/children", tag = "entities",
    params(("id" = String, Path, description = "Its whole id.")),
    responses((status = 200, body = Children<'static>))
)]
pub(super) async fn children(
    State(app): State<Shared>,
    Path(id): Path<String>,
    query: Query,
) -> Result<Answer, Problem> {
    query.only(&[])?;
    let id = id_of(&id)?;
    ask(&app, move |app| {
        app.entity(id)?;
        let slice = Slice { parent: Some(id), order: Sequence::Oldest, limit: PAGE_MAX, ..Slice::default() };
        let stored = app.ledger.slice(slice)?;
        let table = app.fleet.process_table(&app.host);
        let sight = Viewpoint::present(app.now(), &table);
        let seen = Observed::all(&app.ledger, stored, &sight)?;
        Answer::json(&Children { items: seen.iter().map(Observed::view).collect() })
    })
    .await
}
