//! What a run wrote: in the order in which it came, or one stream byte for byte.
//!
//! Invariant: bytes are given out as they are, as a download that no browser renders; text is made from them only where
//! it is asked for, and what is no text is replaced visibly. Deliberately absent: changing or removing output.

use std::path::PathBuf;
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, header};
use axum::response::Response;
use callboard_engine::Stream;
use callboard_engine::output::{Log, Piece, What, Whole};
use callboard_kernel::{EntityId, Moment, Value, fact};
use serde::Serialize;
use utoipa::ToSchema;

use super::asked::range::{Source, give_out};
use super::entities::id_of;
use crate::app::{Answer, App, Shared, ask};
use crate::problem::Problem;
use crate::query::Query;

/// Bytes given out at once at the most.
const BYTES_MAX: usize = 1024 * 1024;
/// Pieces given out at once at the most: each costs more than its bytes.
const PIECES_MAX: usize = 4096;

/// A part of the output.
#[derive(Serialize, ToSchema)]
struct OutputPage {
    /// Where it begins.
    from: u64,
    /// Where the next part begins.
    next: u64,
    /// Where the output ends so far.
    end: u64,
    pieces: Vec<OutputPiece>,
}

/// One piece: text, or how many bytes are missing.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
enum OutputPiece {
    Text {
        #[schema(value_type = String)]
        at: Moment,
        offset: u64,
        stream: &'static str,
        text: String,
        bytes: u64,
    },
    Missing {
        dropped: u64,
    },
}

/// What a run wrote, from an offset on.
#[utoipa::path(
    get, path = "/entities/{id}/output", tag = "output",
    params(
        ("id" = String, Path),
        ("from" = Option<i64>, Query, description = "The offset of the first byte; negative counts from the end."),
        ("limit" = Option<u32>, Query, description = "How many bytes: 1 to 1048576, 65536 unless given."),
    ),
    responses((status = 200, body = OutputPage))
)]
pub(super) async fn pieces(
    State(app): State<Shared>,
    Path(id): Path<String>,
    query: Query,
) -> Result<Answer, Problem> {
    query.only(&["from", "limit"])?;
    let id = id_of(&id)?;
    let from: i64 = query.read("from", "an offset")?.unwrap_or(0);
    let limit = query.number("limit", 1, BYTES_MAX)?.unwrap_or(65_536) as u64;
    ask(&app, move |app| {
        let Some(log) = log(app, id)? else {
            return Answer::json(&OutputPage { from: 0, next: 0, end: 0, pieces: Vec::new() });
        };
        let end = log.end().map_err(|error| unreadable(&error))?;
        let from = if from < 0 { end.saturating_sub(from.unsigned_abs()) } else { from.unsigned_abs() };
        let mut reader = log.read(from);
        let (mut pieces, mut next) = (Vec::new(), from);
        while next < from.saturating_add(limit) && pieces.len() < PIECES_MAX {
            let Some(piece) = reader.next() else { break };
            let piece = piece.map_err(|error| unreadable(&error))?;
            let left = from.saturating_add(limit) - next;
            let (piece, length) = shown(piece, left);
            next += length;
            pieces.push(piece);
        }
        Answer::json(&OutputPage { from, next, end: end.max(next), pieces })
    })
    .await
}

/// A piece as it is shown, cut where the answer ends, and how many bytes of the output it stands for.
fn shown(piece: Piece, left: u64) -> (OutputPiece, u64) {
    let Piece { at_us, offset, what } = piece;
    match what {
        What::Bytes(stream, mut bytes) => {
            bytes.truncate(usize::try_from(left).unwrap_or(usize::MAX));
            let at = Moment::from_micros(i64::try_from(at_us).unwrap_or(i64::MAX));
            let (text, count) = (String::from_utf8_lossy(&bytes).into_owned(), bytes.len() as u64);
            (OutputPiece::Text { at, offset, stream: name(stream), text, bytes: count }, count)
        }
        What::Dropped(count) | What::Lost(_, count) => (OutputPiece::Missing { dropped: count }, count),
    }
}

const fn name(stream: Stream) -> &'static str {
    match stream {
        Stream::Stdout => "stdout",
        Stream::Stderr => "stderr",
    }
}

/// The kept output of a run; nothing if nothing was kept.
fn log(app: &App, id: EntityId) -> Result<Option<Log>, Problem> {
    let stored = app.entity(id)?;
    let dir = match stored.entity.facts.value(fact::DIR) {
        Some(Value::Text(dir)) => PathBuf::from(dir),
        Some(_) | None => return Ok(None),
    };
    Ok(Log::open(dir).ok())
}

fn unreadable(error: &std::io::Error) -> Problem {
    Problem::unavailable(format!("the output cannot be read: {error}"))
}

/// One stream of a run, byte for byte, whole or a range of it.
#[utoipa::path(
    get, path = "/entities/{id}/output/{stream}", tag = "output",
    params(
        ("id" = String, Path),
        ("stream" = String, Path, description = "stdout or stderr."),
        ("Range" = Option<String>, Header, description = "bytes=FIRST-LAST"),
    ),
    responses(
        (status = 200, content_type = "application/octet-stream", body = Vec<u8>),
        (status = 206, content_type = "application/octet-stream", body = Vec<u8>),
    )
)]
pub(super) async fn raw(
    State(app): State<Shared>,
    Path((id, stream)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let wanted = match stream.as_str() {
        "stdout" => Stream::Stdout,
        "stderr" => Stream::Stderr,
        other => {
            return Err(Problem::not_found(
                format!("there is no stream {other:?}"),
                "ask for stdout or stderr",
            ));
        }
    };
    let id = id_of(&id)?;
    let range = headers.get(header::RANGE).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let whole = ask(&app, move |app| {
        let log = log(app, id)?;
        log.map(|log| log.whole(wanted)).transpose().map_err(|error| unreadable(&error))
    })
    .await?;
    let total = whole.as_ref().map_or(0, Whole::length);
    let source: Source = Arc::new(move |place, count| match &whole {
        Some(whole) => whole.read_at(place, count),
        None => Ok(Vec::new()),
    });
    give_out(source, total, range.as_deref(), &format!("{id}.{}", name(wanted)))
}
