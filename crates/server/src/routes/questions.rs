//! Questions over HTTP: asking, waiting for an answer, answering, and standing rules.
//!
//! Invariant: only a person answers; an agent asks about its own run or task and sees what it asked itself (`engine::questions`). Deliberately
//! absent: what an answer does.

use std::time::Duration;

use axum::Extension;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use callboard_engine::questions::{inbox, rules, shown, wait};
use callboard_engine::tasks::{ActError, Acting, Performed, TaskError};
use callboard_kernel::EntityId;
use callboard_wire::{
    AnswerRequest, AskRequest, DecisionRequest, InboxShape, QuestionShape, RuleShape, RulesShape,
};

use super::PAGE_MAX;
use super::asked::body::{Json, Key};
use super::entities::id_of;
use super::tasks::{Asked, caller, problem};
use crate::access::Principal;
use crate::app::{Answer, App, Shared, ask as ask_store, no_entity};
use crate::problem::Problem;
use crate::query::Query;

/// How long a request may wait for an answer. An agent makes one request at a time, and heartbeats must get through.
const WAIT_MAX_S: usize = 25;

/// The questions that wait for a person, the oldest first; with `all`, the newest of all.
#[utoipa::path(
    get, path = "/questions", tag = "questions", operation_id = "inbox",
    params(("all" = Option<u32>, Query, description = "The newest N of all questions, ended ones too: 1 to 500.")),
    responses((status = 200, body = InboxShape))
)]
pub(super) async fn list(State(app): State<Shared>, query: Query) -> Result<Answer, Problem> {
    query.only(&["all"])?;
    let all = query.number("all", 1, PAGE_MAX)?;
    ask_store(&app, move |app| Answer::json(&inbox(&app.ledger, all)?)).await
}

/// One question; with `wait_s`, once it is answered or that time is over.
#[utoipa::path(
    get, path = "/questions/{id}", tag = "questions", operation_id = "question",
    params(
        ("id" = String, Path),
        ("wait_s" = Option<u32>, Query, description = "Wait up to this many seconds for an answer: 1 to 25."),
    ),
    responses((status = 200, body = QuestionShape))
)]
pub(super) async fn one(
    State(app): State<Shared>,
    Extension(who): Extension<Principal>,
    Path(id): Path<String>,
    query: Query,
) -> Result<Answer, Problem> {
    query.only(&["wait_s"])?;
    let seconds = query.number("wait_s", 1, WAIT_MAX_S)?;
    let id = id_of(&id)?;
    ask_store(&app, move |app| {
        let acting = Acting::new(&app.ledger, caller(app, &who), app.now());
        acting.look_at_question(id).map_err(problem)?;
        if let Some(seconds) = seconds {
            let until = app.now().plus(Duration::from_secs(seconds as u64));
            wait(&app.ledger, id, until, &*app.clock, &|| true).map_err(|error| problem(error.into()))?;
        }
        question(app, id, StatusCode::OK)
    })
    .await
}

/// Ask a person.
#[utoipa::path(
    post, path = "/questions", tag = "questions", operation_id = "ask",
    params(("Idempotency-Key" = Option<String>, Header)),
    request_body = AskRequest,
    responses((status = 200, body = QuestionShape), (status = 201, body = QuestionShape))
)]
pub(super) async fn ask(
    State(app): State<Shared>,
    Extension(who): Extension<Principal>,
    key: Key,
    Json(body, bytes): Json<AskRequest>,
) -> Result<Answer, Problem> {
    let asked = Asked::new(&app, &who, "ask", &key, &bytes)?;
    asked
        .with(&app, move |app, acting| {
            let (id, performed) = acting.ask(&body).map_err(problem)?;
            let status = match performed {
                Performed::Now => StatusCode::CREATED,
                Performed::Before => StatusCode::OK,
            };
            question(app, id, status)
        })
        .await
}

/// Answer a question; the first answer counts.
#[utoipa::path(
    post, path = "/questions/{id}/answer", tag = "questions", operation_id = "answer_question",
    params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header)),
    request_body = AnswerRequest, responses((status = 200, body = QuestionShape))
)]
pub(super) async fn answer(
    State(app): State<Shared>,
    Extension(who): Extension<Principal>,
    Path(id): Path<String>,
    key: Key,
    Json(body, bytes): Json<AnswerRequest>,
) -> Result<Answer, Problem> {
    let asked = Asked::new(&app, &who, "answer", &key, &bytes)?;
    acted(&app, asked, &id, move |acting, id| acting.answer(id, &body)).await
}

/// Take a question back that the caller asked.
#[utoipa::path(
    post, path = "/questions/{id}/withdraw", tag = "questions", operation_id = "withdraw_question",
    params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header)),
    responses((status = 200, body = QuestionShape))
)]
pub(super) async fn withdraw(
    State(app): State<Shared>,
    Extension(who): Extension<Principal>,
    Path(id): Path<String>,
    key: Key,
) -> Result<Answer, Problem> {
    let asked = Asked::new(&app, &who, "withdraw", &key, &[])?;
    acted(&app, asked, &id, |acting, id| acting.retract(id)).await
}

/// The standing rules, which answer questions in the name of whoever made them.
#[utoipa::path(
    get, path = "/rules", tag = "questions", operation_id = "rules",
    params(("all" = Option<bool>, Query, description = "true: those that were revoked too.")),
    responses((status = 200, body = RulesShape))
)]
pub(super) async fn list_rules(State(app): State<Shared>, query: Query) -> Result<Answer, Problem> {
    query.only(&["all"])?;
    let all = query.one("all") == Some("true");
    ask_store(&app, move |app| Answer::json(&rules(&app.ledger, all)?)).await
}

/// Revoke a standing rule.
#[utoipa::path(
    post, path = "/rules/{id}/revoke", tag = "questions", operation_id = "revoke_rule",
    params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header)),
    request_body = DecisionRequest, responses((status = 200, body = RuleShape))
)]
pub(super) async fn revoke(
    State(app): State<Shared>,
    Extension(who): Extension<Principal>,
    Path(id): Path<String>,
    key: Key,
    Json(body, bytes): Json<DecisionRequest>,
) -> Result<Answer, Problem> {
    let asked = Asked::new(&app, &who, "revoke", &key, &bytes)?;
    let id = id_of(&id)?;
    asked
        .with(&app, move |app, acting| {
            acting.revoke_rule(id, body.because.as_deref()).map_err(problem)?;
            let all = rules(&app.ledger, true)?;
            let name = id.to_string();
            let rule = all.items.into_iter().find(|rule| rule.id == name);
            Answer::json(&rule.ok_or_else(|| no_entity(&name))?)
        })
        .await
}

/// Does something to one question, and shows it.
async fn acted(
    app: &Shared,
    asked: Asked,
    id: &str,
    act: impl FnOnce(&Acting<'_>, EntityId) -> Result<Performed, ActError> + Send + 'static,
) -> Result<Answer, Problem> {
    let id = id_of(id)?;
    asked
        .with(app, move |app, acting| {
            act(acting, id).map_err(problem)?;
            question(app, id, StatusCode::OK)
        })
        .await
}

fn question(app: &App, id: EntityId, status: StatusCode) -> Result<Answer, Problem> {
    let missing = || problem(ActError::Task(TaskError::NotFound { id }));
    let stored = app.ledger.entity(id)?.ok_or_else(missing)?;
    Answer::with(status, &shown(&app.ledger, &stored)?)
}
