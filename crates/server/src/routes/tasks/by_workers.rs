//! What workers do on the board: they claim, begin, say how far they are, and end what they hold.

use axum::Extension;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use callboard_wire::{
    BlockRequest, ClaimOneRequest, ClaimRequest, DoneReport, FailReport, HoldShape, LeaseRenewal,
    ProgressReport, ReleaseRequest, SplitRequest, StartReport,
};

use super::super::asked::body::{Json, Key};
use super::super::entities::id_of;
use super::performing::{Asked, problem};
use crate::access::Principal;
use crate::app::{Answer, Shared};
use crate::problem::Problem;

/// Claim the next task that fits, for a worker of yours; 204 if none does.
#[utoipa::path(
    post, path = "/tasks/claim", tag = "tasks", operation_id = "claim_next_task",
    params(("Idempotency-Key" = Option<String>, Header)),
    request_body = ClaimRequest,
    responses((status = 200, body = HoldShape), (status = 204, description = "No task can be claimed."))
)]
pub(in super::super) async fn claim_next(
    State(app): State<Shared>,
    Extension(who): Extension<Principal>,
    key: Key,
    Json(body, bytes): Json<ClaimRequest>,
) -> Result<Response, Problem> {
    let asked = Asked::new(&app, &who, "claim", &key, &bytes)?;
    match asked.with(&app, move |_, acting| acting.claim_next(&body).map_err(problem)).await? {
        Some(hold) => Ok(Answer::json(&hold)?.into_response()),
        None => Ok(StatusCode::NO_CONTENT.into_response()),
    }
}

/// Claim one task, for a worker of yours.
#[utoipa::path(
    post, path = "/tasks/{id}/claim", tag = "tasks", operation_id = "claim_task",
    params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header)),
    request_body = ClaimOneRequest, responses((status = 200, body = HoldShape))
)]
pub(in super::super) async fn claim(
    State(app): State<Shared>,
    Extension(who): Extension<Principal>,
    Path(id): Path<String>,
    key: Key,
    Json(body, bytes): Json<ClaimOneRequest>,
) -> Result<Answer, Problem> {
    let asked = Asked::new(&app, &who, &format!("claim {id}"), &key, &bytes)?;
    let id = id_of(&id)?;
    asked.with(&app, move |_, acting| Answer::json(&acting.claim(id, &body).map_err(problem)?)).await
}

/// Say that the worker is there: its claim goes on.
#[utoipa::path(
    post, path = "/tasks/{id}/heartbeat", tag = "tasks", operation_id = "heartbeat_task",
    params(("id" = String, Path)),
    request_body = LeaseRenewal, responses((status = 200, body = HoldShape))
)]
pub(in super::super) async fn beat(
    State(app): State<Shared>,
    Extension(who): Extension<Principal>,
    Path(id): Path<String>,
    key: Key,
    Json(body, bytes): Json<LeaseRenewal>,
) -> Result<Answer, Problem> {
    let asked = Asked::new(&app, &who, "heartbeat", &key, &bytes)?;
    let id = id_of(&id)?;
    asked.with(&app, move |_, acting| Answer::json(&acting.heartbeat(id, &body).map_err(problem)?)).await
}

/// Say that the work on a task has begun.
#[utoipa::path(
    post, path = "/tasks/{id}/start", tag = "tasks", operation_id = "start_task",
    params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header)),
    request_body = StartReport, responses((status = 200, body = callboard_wire::ViewShape))
)]
pub(in super::super) async fn start(
    State(app): State<Shared>,
    Extension(who): Extension<Principal>,
    Path(id): Path<String>,
    key: Key,
    Json(body, bytes): Json<StartReport>,
) -> Result<Answer, Problem> {
    let asked = Asked::new(&app, &who, "start", &key, &bytes)?;
    asked.act(&app, &id, move |acting, id| acting.start(id, &body)).await
}

/// Say how far the work is.
#[utoipa::path(
    post, path = "/tasks/{id}/progress", tag = "tasks", operation_id = "progress_task",
    params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header)),
    request_body = ProgressReport, responses((status = 200, body = callboard_wire::ViewShape))
)]
pub(in super::super) async fn progress(
    State(app): State<Shared>,
    Extension(who): Extension<Principal>,
    Path(id): Path<String>,
    key: Key,
    Json(body, bytes): Json<ProgressReport>,
) -> Result<Answer, Problem> {
    let asked = Asked::new(&app, &who, "progress", &key, &bytes)?;
    asked.act(&app, &id, move |acting, id| acting.progress(id, &body)).await
}

/// Say that a task is done; it is verified next.
#[utoipa::path(
    post, path = "/tasks/{id}/done", tag = "tasks", operation_id = "done_task",
    params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header)),
    request_body = DoneReport, responses((status = 200, body = callboard_wire::ViewShape))
)]
pub(in super::super) async fn done(
    State(app): State<Shared>,
    Extension(who): Extension<Principal>,
    Path(id): Path<String>,
    key: Key,
    Json(body, bytes): Json<DoneReport>,
) -> Result<Answer, Problem> {
    let asked = Asked::new(&app, &who, "done", &key, &bytes)?;
    asked.act(&app, &id, move |acting, id| acting.done(id, &body)).await
}

/// Say that the attempt failed; the task is tried again if a retry is left.
#[utoipa::path(
    post, path = "/tasks/{id}/fail", tag = "tasks", operation_id = "fail_task",
    params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header)),
    request_body = FailReport, responses((status = 200, body = callboard_wire::ViewShape))
)]
pub(in super::super) async fn fail(
    State(app): State<Shared>,
    Extension(who): Extension<Principal>,
    Path(id): Path<String>,
    key: Key,
    Json(body, bytes): Json<FailReport>,
) -> Result<Answer, Problem> {
    let asked = Asked::new(&app, &who, "fail", &key, &bytes)?;
    asked.act(&app, &id, move |acting, id| acting.fail(id, &body)).await
}

/// Say that a task cannot go on without something that is not there.
#[utoipa::path(
    post, path = "/tasks/{id}/block", tag = "tasks", operation_id = "block_task",
    params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header)),
    request_body = BlockRequest, responses((status = 200, body = callboard_wire::ViewShape))
)]
pub(in super::super) async fn block(
    State(app): State<Shared>,
    Extension(who): Extension<Principal>,
    Path(id): Path<String>,
    key: Key,
    Json(body, bytes): Json<BlockRequest>,
) -> Result<Answer, Problem> {
    let asked = Asked::new(&app, &who, "block", &key, &bytes)?;
    asked.act(&app, &id, move |acting, id| acting.block(id, &body)).await
}

/// Split a task into parts that it waits for.
#[utoipa::path(
    post, path = "/tasks/{id}/split", tag = "tasks", operation_id = "split_task",
    params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header)),
    request_body = SplitRequest, responses((status = 200, body = callboard_wire::ViewShape))
)]
pub(in super::super) async fn split(
    State(app): State<Shared>,
    Extension(who): Extension<Principal>,
    Path(id): Path<String>,
    key: Key,
    Json(body, bytes): Json<SplitRequest>,
) -> Result<Answer, Problem> {
    let asked = Asked::new(&app, &who, "split", &key, &bytes)?;
    asked.act(&app, &id, move |acting, id| acting.split(id, &body)).await
}

/// Give a task back to the board.
#[utoipa::path(
    post, path = "/tasks/{id}/release", tag = "tasks", operation_id = "release_task",
    params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header)),
    request_body = ReleaseRequest, responses((status = 200, body = callboard_wire::ViewShape))
)]
pub(in super::super) async fn release(
    State(app): State<Shared>,
    Extension(who): Extension<Principal>,
    Path(id): Path<String>,
    key: Key,
    Json(body, bytes): Json<ReleaseRequest>,
) -> Result<Answer, Problem> {
    let asked = Asked::new(&app, &who, "release", &key, &bytes)?;
    asked.act(&app, &id, move |acting, id| acting.release(id, &body)).await
}
