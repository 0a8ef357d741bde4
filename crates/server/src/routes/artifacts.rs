//! What a run promised and delivered, and the files themselves.
//!
//! Invariant: only a file that the run's verification lists is ever given out: a regular file beneath the artifact
//! directory, reached without a link, with no hidden part in its path. The artifact directory is often the whole working
//! directory, where tokens and `.env` files lie too; for a caller they do not exist. Deliberately absent: listing a
//! directory.

use std::os::unix::fs::FileExt;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, header};
use axum::response::Response;
use callboard_engine::delivery::{Opened, Root};
use callboard_engine::{Artifacts, Viewpoint, evaluate};
use callboard_kernel::Value;

use super::asked::range::{Source, give_out};
use super::entities::id_of;
use crate::app::{Answer, Shared, ask};
use crate::problem::Problem;
use crate::query::Query;

/// The longest path that is looked at.
const PATH_MAX: usize = 4096;

/// What a run promised, where, and what became of it.
#[utoipa::path(
    get, path = "/entities/{id}/artifacts", tag = "output",
    params(("id" = String, Path)),
    responses((status = 200, body = callboard_wire::ArtifactsShape))
)]
pub(super) async fn overview(
    State(app): State<Shared>,
    Path(id): Path<String>,
    query: Query,
) -> Result<Answer, Problem> {
    query.only(&[])?;
    let id = id_of(&id)?;
    ask(&app, move |app| {
        let stored = app.entity(id)?;
        let view = evaluate(&stored, &Viewpoint::past(app.now()));
        let Artifacts { dir, contract, verification } = view.artifacts;
        Answer::json(&Artifacts { dir, contract, verification })
    })
    .await
}

/// One file that a run left behind, as a download.
#[utoipa::path(
    get, path = "/entities/{id}/artifacts/{*path}", tag = "output",
    params(
        ("id" = String, Path),
        ("path" = String, Path, description = "The path beneath the artifact directory."),
        ("Range" = Option<String>, Header, description = "bytes=FIRST-LAST"),
    ),
    responses(
        (status = 200, content_type = "application/octet-stream", body = Vec<u8>),
        (status = 206, content_type = "application/octet-stream", body = Vec<u8>),
    )
)]
pub(super) async fn file(
    State(app): State<Shared>,
    Path((id, path)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let id = id_of(&id)?;
    let range = headers.get(header::RANGE).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let (opened, name) = ask(&app, move |app| {
        let stored = app.entity(id)?;
        let view = evaluate(&stored, &Viewpoint::past(app.now()));
        let dir = match view.artifacts.dir {
            Some(Value::Text(dir)) => PathBuf::from(dir),
            Some(_) | None => return Err(no_file(&path)),
        };
        if !view.artifacts.verification.is_some_and(|verification| lists(verification, &path)) {
            return Err(no_file(&path));
        }
        Ok((open(&dir, &path)?, path))
    })
    .await?;
    let Opened { file, stamp } = opened;
    let name = name.rsplit('/').next().unwrap_or("artifact");
    let source: Source = Arc::new(move |place, count| {
        let mut chunk = vec![0; count];
        let count = file.read_at(&mut chunk, place)?;
        chunk.truncate(count);
        Ok(chunk)
    });
    give_out(source, stamp.bytes, range.as_deref(), name)
}

/// Is the file one of those that the verification found?
fn lists(verification: &Value, path: &str) -> bool {
    let files = list_in(verification, "items").iter().flat_map(|item| list_in(item, "files"));
    files.filter_map(|file| field(file, "path")).any(|found| *found == Value::Text(path.to_owned()))
}

fn field<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    if let Value::Map(facts) = value { facts.get(name) } else { None }
}

fn list_in<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    if let Some(Value::List(list)) = field(value, name) { list } else { &[] }
}

fn open(dir: &FilePath, path: &str) -> Result<Opened, Problem> {
    let is_plain = !path.is_empty()
        && path.len() <= PATH_MAX
        && !path.contains(['\0', '\\'])
        && path.split('/').all(|part| !part.is_empty() && !part.starts_with('.'));
    if !is_plain {
        return Err(no_file(path));
    }
    let root = Root::open(dir).map_err(|_| no_file(path))?;
    root.file(FilePath::new(path)).map_err(|_| no_file(path))
}

fn no_file(path: &str) -> Problem {
    let detail = format!("the run delivered no file {path:?}");
    Problem::not_found(detail, "the verification of the run names the files that were found")
}
