//! Looking after the store and the runs over HTTP: what the verbs `store`, `verify`, `reap`, `export` and `import` do.
//!
//! Invariant: the same code as the verbs use, and nothing that changes a record. Deliberately absent: archiving and
//! backups, which name files of this host and stay with the command line.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use callboard_engine::{ReapAct, ReapError, Reaped, Reaper, Swept};
use callboard_ledger::{ImportError, Imported, Info, Range, Report};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use utoipa::ToSchema;

use super::asked::body::{Json, is, whole};
use super::commands::Nothing;
use crate::app::{Answer, Shared, ask};
use crate::problem::{Problem, told};
use crate::query::Query;

/// Bytes of an import at the most.
const IMPORT_MAX: usize = 64 * 1024 * 1024;
/// How long they may take to arrive.
const IMPORT_TIME: Duration = Duration::from_secs(600);
/// Bytes of an export that wait for the reader.
const EXPORT_CHUNK: usize = 64 * 1024;

/// The store, and where it is.
#[derive(Serialize, ToSchema)]
struct InfoAnswer {
    path: String,
    #[serde(flatten)]
    #[schema(value_type = serde_json::Value)]
    info: Info,
    legacy: u64,
    version: &'static str,
}

/// What the store says of itself.
#[utoipa::path(get, path = "/admin/info", tag = "admin", responses((status = 200, body = serde_json::Value)))]
pub(super) async fn info(State(app): State<Shared>, query: Query) -> Result<Answer, Problem> {
    query.only(&[])?;
    ask(&app, |app| {
        let (path, info, legacy) =
            (app.ledger.path().display().to_string(), app.ledger.info()?, app.ledger.legacy()?);
        Answer::json(&InfoAnswer { path, info, legacy, version: env!("CARGO_PKG_VERSION") })
    })
    .await
}

/// Which runs to end.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReapRequest {
    /// Say what would be ended, and end nothing.
    #[serde(default)]
    dry_run: bool,
    /// Only what was not heard of for longer than this many seconds.
    #[serde(default)]
    older_than_s: f64,
}

#[derive(Serialize)]
struct ReapAnswer {
    dry_run: bool,
    ended: usize,
    items: Vec<Reaped>,
    swept: Swept,
}

/// End the runs whose supervisor is dead, and remove what supervisors left that died before their first record.
#[utoipa::path(
    post, path = "/admin/reap", tag = "admin", request_body = ReapRequest,
    responses((status = 200, body = serde_json::Value))
)]
pub(super) async fn reap(
    State(app): State<Shared>,
    Json(request, _): Json<ReapRequest>,
) -> Result<Answer, Problem> {
    let older_than = Duration::try_from_secs_f64(request.older_than_s)
        .map_err(|_| Problem::bad_request("older_than_s is out of bounds", "write seconds, 0 or more"))?;
    ask(&app, move |app| {
        let (now, dry_run) = (app.now(), request.dry_run);
        let reaper = Reaper { ledger: &app.ledger, world: &app.host, now, older_than, dry_run };
        let items = reaper.reap().map_err(|error| match error {
            ReapError::Ask(cause) => cause.into(),
            ReapError::Write(fault) => Problem::from(fault),
        })?;
        let ended = items.iter().filter(|item| item.act == ReapAct::Ended).count();
        let swept = app.sweep(dry_run)?;
        Answer::json(&ReapAnswer { dry_run, ended, items, swept })
    })
    .await
}

/// Check every record, as `callboard verify` does.
#[utoipa::path(
    post, path = "/admin/verify", tag = "admin", request_body = Nothing,
    responses((status = 200, body = serde_json::Value))
)]
pub(super) async fn verify(
    State(app): State<Shared>,
    Json(Nothing {}, _): Json<Nothing>,
) -> Result<Answer, Problem> {
    ask(&app, |app| {
        let report: Report = app.ledger.verify()?;
        Answer::json(&report)
    })
    .await
}

/// How many bytes the store had, and has.
#[derive(Serialize, ToSchema)]
struct VacuumAnswer {
    bytes_before: u64,
    bytes_after: u64,
}

/// Give back the space that is not needed.
#[utoipa::path(
    post, path = "/admin/vacuum", tag = "admin", request_body = Nothing,
    responses((status = 200, body = VacuumAnswer))
)]
pub(super) async fn vacuum(
    State(app): State<Shared>,
    Json(Nothing {}, _): Json<Nothing>,
) -> Result<Answer, Problem> {
    ask(&app, |app| {
        let bytes_before = app.ledger.info()?.bytes;
        app.ledger.vacuum()?;
        Answer::json(&VacuumAnswer { bytes_before, bytes_after: app.ledger.info()?.bytes })
    })
    .await
}

/// How far the log is signed.
#[derive(Serialize, ToSchema)]
struct CheckpointAnswer {
    checkpoints: u64,
    head: u64,
}

/// How far the log is signed: the writer signs by itself as the log grows, and this tells where it is.
#[utoipa::path(
    post, path = "/admin/checkpoint", tag = "admin", request_body = Nothing,
    responses((status = 200, body = CheckpointAnswer))
)]
pub(super) async fn checkpoint(
    State(app): State<Shared>,
    Json(Nothing {}, _): Json<Nothing>,
) -> Result<Answer, Problem> {
    ask(&app, |app| {
        let (checkpoints, head) = (app.ledger.info()?.checkpoints, app.ledger.head()?);
        Answer::json(&CheckpointAnswer { checkpoints, head })
    })
    .await
}

/// The whole log as lines of JSON, as `callboard export` writes it.
#[utoipa::path(
    get, path = "/admin/export", tag = "admin",
    params(
        ("since" = Option<u64>, Query, description = "Only the records after this one."),
        ("until" = Option<u64>, Query, description = "Only the records up to and with this one."),
    ),
    responses((status = 200, content_type = "application/jsonl", body = String))
)]
pub(super) async fn export(State(app): State<Shared>, query: Query) -> Result<Response, Problem> {
    query.only(&["since", "until"])?;
    // No store counts further than this, and an export that fails is broken off in its middle.
    let bounded = |number: u64| number.min(i64::MAX.unsigned_abs());
    let after = query.read("since", "the number of a record")?.map_or(Range::ALL.after, bounded);
    let until = query.read("until", "the number of a record")?.map_or(Range::ALL.until, bounded);
    let (send, mut receive) = mpsc::channel::<std::io::Result<Bytes>>(4);
    let permit = Arc::clone(&app.streams).try_acquire_owned();
    let permit =
        permit.map_err(|_| Problem::too_many("as many streams are open as this server allows", 5))?;
    let ledger = app.ledger.clone();
    // A thread of its own: a reader that does not read must not take one away from those who ask the store.
    let export = std::thread::Builder::new().name("export".to_owned()).spawn(move || {
        let _permit = permit;
        let mut chunk = Vec::with_capacity(EXPORT_CHUNK);
        let exported = ledger.export(Range { after, until }, &mut |line| {
            chunk.extend_from_slice(line.as_bytes());
            chunk.push(b'\n');
            if chunk.len() < EXPORT_CHUNK {
                return Ok(());
            }
            let full = std::mem::replace(&mut chunk, Vec::with_capacity(EXPORT_CHUNK));
            send.blocking_send(Ok(full.into())).map_err(|_| std::io::ErrorKind::BrokenPipe.into())
        });
        // A reader that went away needs nothing more; an export that failed is broken off, so that it is not taken
        // for a whole one.
        drop(send.blocking_send(Ok(chunk.into())));
        if let Err(error) = exported {
            drop(send.blocking_send(Err(std::io::Error::other(told(&error)))));
        }
    });
    export.map_err(|error| Problem::unavailable(error.to_string()))?;
    let lines = futures_util::stream::poll_fn(move |context| receive.poll_recv(context));
    let headers = [
        (header::CONTENT_TYPE, "application/jsonl"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"callboard.jsonl\""),
    ];
    Ok((headers, Body::from_stream(lines)).into_response())
}

/// Take in rows from before there were states: one `{"legacy":{"kind","title","data"}}` a line.
#[utoipa::path(
    post, path = "/admin/import-legacy", tag = "admin",
    request_body(content = String, content_type = "application/jsonl"),
    responses((status = 200, body = serde_json::Value))
)]
pub(super) async fn import_legacy(State(app): State<Shared>, request: Request) -> Result<Answer, Problem> {
    let media = ["application/jsonl", "application/x-ndjson", "application/json"];
    if !media.iter().any(|media| is(request.headers(), media)) {
        return Err(Problem::wrong_media(media[0]));
    }
    let bytes = whole(request.into_body(), IMPORT_MAX, IMPORT_TIME).await?;
    let is_legacy = |line: &&[u8]| {
        line.iter().all(u8::is_ascii_whitespace) || line.trim_ascii_start().starts_with(b"{\"legacy\"")
    };
    if let Some(at) = bytes.split(|byte| *byte == b'\n').position(|line| !is_legacy(&line)) {
        let detail = format!("line {} is no row from before there were states", at + 1);
        return Err(Problem::bad_request(detail, "callboard import takes whole exports"));
    }
    ask(&app, move |app| {
        let imported: Imported = app.ledger.import(&mut &bytes[..]).map_err(|error| match error {
            ImportError::Line { .. } | ImportError::Input(_) => {
                Problem::bad_request(told(&error), "correct the line, and send all of them again")
            }
            ImportError::Store(cause) => cause.into(),
        })?;
        Answer::json(&imported)
    })
    .await
}
