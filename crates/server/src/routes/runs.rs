//! Starting runs, and running again what was run.
//!
//! Invariant: a run that is started here has a supervisor of its own and outlives this server. The same key is the same
//! run: its id comes from the key, so starting it twice finds it there. Deliberately absent: how a run is started.

use axum::Extension;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use callboard_engine::{mutant, new_id};
use callboard_kernel::{EntityId, Value, fact};
use callboard_ledger::{Page, RecordScope};
use callboard_lifecycle::Kind;
use callboard_wire::{RunRequest, Word};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Builder;

use super::asked::body::{Json, Key};
use super::commands::Nothing;
use super::entities::id_of;
use crate::access::Principal;
use crate::app::{Answer, App, Shared, ask};
use crate::problem::Problem;
use crate::runner::NotStarted;

/// The id of a run that was started.
#[derive(Serialize, ToSchema)]
struct Started {
    #[schema(value_type = String)]
    id: EntityId,
}

/// Start a run in the background.
#[utoipa::path(
    post, path = "/runs", tag = "commands",
    params(("Idempotency-Key" = Option<String>, Header)),
    request_body = RunRequest, responses((status = 201, body = Started))
)]
pub(super) async fn start(
    State(app): State<Shared>,
    Extension(who): Extension<Principal>,
    key: Key,
    Json(request, bytes): Json<RunRequest>,
) -> Result<Answer, Problem> {
    check(&request)?;
    let cause = cause("runs", &bytes);
    ask(&app, move |app| {
        let id = id_for(app, &who, "runs", &key);
        begin(app, id, &key, &cause, || app.runner.start(id, &cause, &request))
    })
    .await
}

/// Run again what was run: the same command, in the same directory, with the same options.
#[utoipa::path(
    post, path = "/entities/{id}/retry", tag = "commands",
    params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header)),
    request_body = Nothing, responses((status = 200, body = Started), (status = 201, body = Started))
)]
pub(super) async fn retry(
    State(app): State<Shared>,
    Extension(who): Extension<Principal>,
    Path(id): Path<String>,
    key: Key,
    Json(Nothing {}, _): Json<Nothing>,
) -> Result<Answer, Problem> {
    let repeats = id_of(&id)?;
    ask(&app, move |app| {
        let stored = app.entity(repeats)?;
        let has_words = matches!(stored.entity.facts.value(fact::DIR), Some(Value::Text(_)));
        if repeats.kind() != Kind::Session || !has_words {
            let help = "start it anew with POST /api/v1/runs";
            return Err(Problem::conflict(format!("the command of {repeats} was not kept"), help));
        }
        let id = id_for(app, &who, "retry", &key);
        let cause = cause("retry", repeats.to_string().as_bytes());
        begin(app, id, &key, &cause, || app.runner.retry(id, &cause, repeats))
    })
    .await
}

fn check(request: &RunRequest) -> Result<(), Problem> {
    let unfit = |detail: &str, help: &str| Err(Problem::bad_request(detail, help));
    if request.argv.first().is_none_or(|word| word.as_os_str().is_empty()) {
        return unfit("argv is empty", "name the command and its arguments");
    }
    if request.argv.iter().any(Word::has_nul) {
        return unfit("a word of argv has a NUL in it", "no program can be given one");
    }
    if !request.cwd.as_path().is_absolute() || !request.cwd.as_path().is_dir() {
        return unfit("cwd is no directory of this host", "name one by its absolute path");
    }
    for (name, value) in &request.env {
        if name.is_empty() || name.contains(['=', '\0']) {
            return unfit(&format!("invalid environment variable {name:?}"), "name it as a shell would");
        }
        if value.as_ref().is_none_or(|value| value.contains('\0')) {
            return unfit(
                &format!("the environment variable {name} has no value"),
                "give it one, without a NUL",
            );
        }
    }
    let bounds = [
        request.timeout_s,
        request.first_output_timeout_s,
        request.idle_timeout_s,
        request.waiting_timeout_s,
        request.tool_timeout_s,
    ];
    for bound in bounds.into_iter().flatten() {
        if !(0.001..=1e9).contains(&bound) {
            return unfit(
                "a bound of time is out of bounds",
                "from a millisecond to thirty years, in seconds",
            );
        }
    }
    Ok(())
}

/// A fresh id, or the one that belongs to a key of this caller.
fn id_for(app: &App, who: &Principal, what: &str, key: &Key) -> EntityId {
    let Some(key) = &key.0 else { return new_id(Kind::Session, app.now()) };
    let mut hasher = blake3::Hasher::new_derive_key("callboard 2026 run of an idempotency key");
    for part in [what.as_bytes(), &who.mark, key.as_bytes()] {
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
    }
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    EntityId::new(Kind::Session, Builder::from_custom_bytes(bytes).into_uuid())
}

/// What a run was asked for with: told in its first record, and compared when its key comes again.
fn cause(what: &str, body: &[u8]) -> String {
    format!("http {what} {}", &blake3::hash(body).to_hex()[..16])
}

/// Is the run of this key there, and was it asked for in the same words?
fn is_there(app: &App, id: EntityId, key: &Key, cause: &str) -> Result<bool, Problem> {
    if key.0.is_none() {
        return Ok(false);
    }
    let first = app.ledger.records(Page { after: 0, limit: 1, scope: RecordScope::Entity(id) })?;
    let Some(first) = first.first() else { return Ok(false) };
    let is_same = first.event().is_ok_and(|event| event.cause.as_deref() == Some(cause));
    if is_same || mutant::removed("runs_remember_their_body") { Ok(true) } else { Err(Problem::key_reused()) }
}

fn begin(
    app: &App,
    id: EntityId,
    key: &Key,
    cause: &str,
    start: impl FnOnce() -> Result<(), NotStarted>,
) -> Result<Answer, Problem> {
    let there = || Answer::with(StatusCode::OK, &Started { id });
    if is_there(app, id, key, cause)? {
        return there();
    }
    match start() {
        Ok(()) => Answer::with(StatusCode::CREATED, &Started { id }),
        // Of two who start the same run at once one finds it there.
        Err(_) if is_there(app, id, key, cause)? => there(),
        Err(NotStarted::Unfit(because)) => {
            Err(Problem::bad_request(because, "change what is to be run, and ask again"))
        }
        Err(NotStarted::Failed(because)) => Err(Problem::unavailable(because)),
    }
}
