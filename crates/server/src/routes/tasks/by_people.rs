//! What people do on the board: they add tasks, change them and decide.

use axum::Extension;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use callboard_engine::tasks::Performed;
use callboard_wire::{
    ApprovalRequest, DecisionRequest, RejectionRequest, RetryRequest, TaskChange, TaskRequest,
};

use super::super::asked::body::{Json, Key};
use super::performing::{Asked, problem, shown};
use crate::access::Principal;
use crate::app::{Answer, Shared};
use crate::problem::Problem;

/// Add a task, open to be claimed.
#[utoipa::path(
    post, path = "/tasks", tag = "tasks", operation_id = "add_task",
    params(("Idempotency-Key" = Option<String>, Header)),
    request_body = TaskRequest,
    responses((status = 200, body = callboard_wire::ViewShape), (status = 201, body = callboard_wire::ViewShape))
)]
pub(in super::super) async fn add(
    State(app): State<Shared>,
    Extension(who): Extension<Principal>,
    key: Key,
    Json(body, bytes): Json<TaskRequest>,
) -> Result<Answer, Problem> {
    let asked = Asked::new(&app, &who, "add", &key, &bytes)?;
    asked
        .with(&app, move |app, acting| {
            let (id, performed) = acting.add(&body).map_err(problem)?;
            let status = match performed {
                Performed::Now => StatusCode::CREATED,
                Performed::Before => StatusCode::OK,
            };
            shown(app, id, status)
        })
        .await
}

/// Change a task that nobody works on.
#[utoipa::path(
    patch, path = "/tasks/{id}", tag = "tasks", operation_id = "edit_task",
    params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header)),
    request_body = TaskChange, responses((status = 200, body = callboard_wire::ViewShape))
)]
pub(in super::super) async fn edit(
    State(app): State<Shared>,
    Extension(who): Extension<Principal>,
    Path(id): Path<String>,
    key: Key,
    Json(body, bytes): Json<TaskChange>,
) -> Result<Answer, Problem> {
    let asked = Asked::new(&app, &who, "edit", &key, &bytes)?;
    asked.act(&app, &id, move |acting, id| acting.edit(id, &body)).await
}

/// Approve a plan or a result that waits for a person.
#[utoipa::path(
    post, path = "/tasks/{id}/approve", tag = "tasks", operation_id = "approve_task",
    params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header)),
    request_body = ApprovalRequest, responses((status = 200, body = callboard_wire::ViewShape))
)]
pub(in super::super) async fn approve(
    State(app): State<Shared>,
    Extension(who): Extension<Principal>,
    Path(id): Path<String>,
    key: Key,
    Json(body, bytes): Json<ApprovalRequest>,
) -> Result<Answer, Problem> {
    let asked = Asked::new(&app, &who, "approve", &key, &bytes)?;
    asked.act(&app, &id, move |acting, id| acting.approve(id, &body)).await
}

/// Reject a plan or a result that waits for a person.
#[utoipa::path(
    post, path = "/tasks/{id}/reject", tag = "tasks", operation_id = "reject_task",
    params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header)),
    request_body = RejectionRequest, responses((status = 200, body = callboard_wire::ViewShape))
)]
pub(in super::super) async fn reject(
    State(app): State<Shared>,
    Extension(who): Extension<Principal>,
    Path(id): Path<String>,
    key: Key,
    Json(body, bytes): Json<RejectionRequest>,
) -> Result<Answer, Problem> {
    let asked = Asked::new(&app, &who, "reject", &key, &bytes)?;
    asked.act(&app, &id, move |acting, id| acting.reject(id, &body)).await
}

/// Call a task off, with everything that belongs to it.
#[utoipa::path(
    post, path = "/tasks/{id}/cancel", tag = "tasks", operation_id = "cancel_task",
    params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header)),
    request_body = DecisionRequest, responses((status = 200, body = callboard_wire::ViewShape))
)]
pub(in super::super) async fn cancel(
    State(app): State<Shared>,
    Extension(who): Extension<Principal>,
    Path(id): Path<String>,
    key: Key,
    Json(body, bytes): Json<DecisionRequest>,
) -> Result<Answer, Problem> {
    let asked = Asked::new(&app, &who, "cancel", &key, &bytes)?;
    asked.act(&app, &id, move |acting, id| acting.cancel(id, &body)).await
}

/// Let a failed task be tried once more.
#[utoipa::path(
    post, path = "/tasks/{id}/retry", tag = "tasks", operation_id = "retry_task",
    params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header)),
    request_body = RetryRequest, responses((status = 200, body = callboard_wire::ViewShape))
)]
pub(in super::super) async fn retry(
    State(app): State<Shared>,
    Extension(who): Extension<Principal>,
    Path(id): Path<String>,
    key: Key,
    Json(body, bytes): Json<RetryRequest>,
) -> Result<Answer, Problem> {
    let asked = Asked::new(&app, &who, "retry", &key, &bytes)?;
    asked.act(&app, &id, move |acting, id| acting.retry(id, &body)).await
}

/// Say that what a task waits for is there.
#[utoipa::path(
    post, path = "/tasks/{id}/unblock", tag = "tasks", operation_id = "unblock_task",
    params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header)),
    request_body = DecisionRequest, responses((status = 200, body = callboard_wire::ViewShape))
)]
pub(in super::super) async fn unblock(
    State(app): State<Shared>,
    Extension(who): Extension<Principal>,
    Path(id): Path<String>,
    key: Key,
    Json(body, bytes): Json<DecisionRequest>,
) -> Result<Answer, Problem> {
    let asked = Asked::new(&app, &who, "unblock", &key, &bytes)?;
    asked.act(&app, &id, move |acting, id| acting.unblock(id, &body)).await
}
