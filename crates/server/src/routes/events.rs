//! The feed over HTTP: server-sent events from a record on, for everything or for one entity.
//!
//! Invariant: `Last-Event-ID` wins over `since`, because a browser that comes back sends it by itself. A number from the
//! future is answered with a `reset` event, never silently. Deliberately absent: how records get there (`feed`).

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use callboard_engine::mutant;
use callboard_kernel::{Channel, EntityId};
use callboard_lifecycle::{Kind, Words};

use super::entities::id_of;
use crate::access::Principal;
use crate::app::{Shared, ask};
use crate::feed::{Choice, Start, stream};
use crate::problem::Problem;
use crate::query::Query;

/// Every record as it is written.
///
/// Each is `id: SEQ`, `event: record`, `data: Record`. `look` has no id and says that something is judged differently
/// although nothing was recorded, such as a run whose supervisor was killed: `data` is what `/entities/{id}` answers.
/// `missed` says that more changed this way than is told one by one: read again what you show. `behind` says that the log
/// is being read because the reader was too slow; `reset` says that the place that was named does not exist.
#[utoipa::path(
    get, path = "/events", tag = "feed",
    params(
        ("since" = Option<u64>, Query, description = "After this record; the newest unless given."),
        ("kind" = Option<String>, Query, description = "Only those of a kind."),
        ("entity" = Option<String>, Query, description = "Only those of one entity: a whole id."),
        ("channel" = Option<String>, Query, description = "Only those of a channel: replay or audit."),
        ("Last-Event-ID" = Option<u64>, Header, description = "The last record that was seen; wins over since."),
    ),
    responses((status = 200, content_type = "text/event-stream", body = String))
)]
pub(super) async fn all(
    State(app): State<Shared>,
    Extension(who): Extension<Principal>,
    headers: HeaderMap,
    query: Query,
) -> Result<Response, Problem> {
    query.only(&["since", "kind", "entity", "channel"])?;
    let kinds = query.words::<Kind>("kind")?;
    if kinds.len() > 1 {
        return Err(Problem::bad_request("several kinds are named", "name one kind, or none for all"));
    }
    let entity: Option<EntityId> =
        query.read("entity", "a whole id, such as ses_01k7c3h2f4x8w6t5r3q1n0m9bz")?;
    let channel = match query.one("channel") {
        None => None,
        Some(word) => Some(Channel::parse(word).map_err(|unknown| {
            Problem::bad_request(unknown.to_string(), "the channels are replay and audit")
        })?),
    };
    let choice = Choice {
        kind: kinds.first().map(|kind| kind.name().to_owned()),
        entity,
        channel: channel.map(|channel| channel.name().to_owned()),
        until_end: false,
    };
    let named = place(&headers, &query)?;
    let head = ask(&app, |app| Ok(app.ledger.head()?)).await?;
    let start = Start {
        after: named.unwrap_or(head).min(head),
        reset: named.is_some_and(|named| named > head),
        ended_at: None,
    };
    open(app, &who, choice, start)
}

/// The records of one entity as they are written, then `done` when it has ended.
#[utoipa::path(
    get, path = "/entities/{id}/events", tag = "feed",
    params(
        ("id" = String, Path, description = "Its whole id."),
        ("since" = Option<u64>, Query, description = "After this record; from its first one unless given."),
        ("Last-Event-ID" = Option<u64>, Header, description = "The last record that was seen; wins over since."),
    ),
    responses((status = 200, content_type = "text/event-stream", body = String))
)]
pub(super) async fn of_entity(
    State(app): State<Shared>,
    Extension(who): Extension<Principal>,
    Path(id): Path<String>,
    headers: HeaderMap,
    query: Query,
) -> Result<Response, Problem> {
    query.only(&["since"])?;
    let id = id_of(&id)?;
    let named = place(&headers, &query)?;
    let (head, stored) = ask(&app, move |app| Ok((app.ledger.head()?, app.entity(id)?))).await?;
    let start = Start {
        after: named.unwrap_or(0).min(head),
        reset: named.is_some_and(|named| named > head),
        ended_at: stored.entity.ended_at.is_some().then_some(stored.last_seq),
    };
    // Of one that has ended everything is sent, also what was said about it later.
    let until_end = start.ended_at.is_none();
    open(app, &who, Choice { entity: Some(id), until_end, ..Choice::default() }, start)
}

/// The last record that was seen.
fn place(headers: &HeaderMap, query: &Query) -> Result<Option<u64>, Problem> {
    let since = query.read("since", "the number of a record")?;
    let given = headers.get("last-event-id").filter(|_| !mutant::removed("last_event_id"));
    let Some(header) = given.filter(|value| !value.is_empty()) else {
        return Ok(since);
    };
    let seq = header.to_str().ok().and_then(|text| text.parse().ok());
    seq.map(Some).ok_or_else(|| {
        Problem::bad_request(
            "the Last-Event-ID is no number of a record",
            "send the id of the last event, or none",
        )
    })
}

fn open(app: Shared, who: &Principal, choice: Choice, start: Start) -> Result<Response, Problem> {
    let held = app.shares.stream(who)?;
    let permit = Arc::clone(&app.streams)
        .try_acquire_owned()
        .map_err(|_| Problem::too_many("as many streams are open as this server allows", 5))?;
    // While somebody listens, what time alone changes is told too.
    app.deaths.bell.ring();
    let body = Body::from_stream(stream(app, choice, start, who.mark, (permit, held)));
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store"),
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    Ok((headers, body).into_response())
}
