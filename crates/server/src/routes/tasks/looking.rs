//! The board, its workers, and the story and the diff of one task.

use axum::Extension;
use axum::extract::{Path, State};
use callboard_crew::{NoDiff, TaskComparison};
use callboard_engine::tasks::{
    Acting, CardFilter, TaskFilter, TaskStory, WorkersWanted, board as read_board, story as tell_story,
    workers as read_workers,
};
use callboard_engine::{Observed, View, Viewpoint};
use callboard_lifecycle::task::TaskState;
use callboard_wire::{BoardShape, TaskDiffShape, WorkersShape};
use serde::Serialize;

use super::super::PAGE_MAX;
use super::super::entities::id_of;
use super::performing::{caller, problem};
use crate::access::Principal;
use crate::app::{Answer, Shared, ask};
use crate::problem::Problem;
use crate::query::Query;

/// The view of a task, and what it has been through.
#[derive(Serialize)]
struct Story<'a> {
    #[serde(flatten)]
    view: View<'a>,
    #[serde(flatten)]
    story: TaskStory,
}

/// The whole story of a task: its view, claims, turns, runs, verdicts and merge.
#[utoipa::path(
    get, path = "/tasks/{id}/story", tag = "tasks", operation_id = "story_task",
    params(("id" = String, Path, description = "Its whole id.")),
    responses((status = 200, body = callboard_wire::TaskStoryShape))
)]
pub(in super::super) async fn story(
    State(app): State<Shared>,
    Extension(who): Extension<Principal>,
    Path(id): Path<String>,
    query: Query,
) -> Result<Answer, Problem> {
    query.only(&[])?;
    let id = id_of(&id)?;
    ask(&app, move |app| {
        let acting = Acting::new(&app.ledger, caller(app, &who), app.now());
        let stored = acting.look(id).map_err(problem)?;
        let story = tell_story(&app.ledger, &stored)?;
        let seen = Observed::of(&app.ledger, stored, &Viewpoint::present(app.now(), &app.host))?;
        Answer::json(&Story { view: seen.view(), story })
    })
    .await
}

/// What a task changed, file by file: its merge, or its branch while it is not merged. The repository must be on the host of the server.
#[utoipa::path(
    get, path = "/tasks/{id}/diff", tag = "tasks", operation_id = "diff_task",
    params(("id" = String, Path, description = "Its whole id.")),
    responses((status = 200, body = TaskDiffShape))
)]
pub(in super::super) async fn diff(
    State(app): State<Shared>,
    Extension(who): Extension<Principal>,
    Path(id): Path<String>,
    query: Query,
) -> Result<Answer, Problem> {
    query.only(&[])?;
    let id = id_of(&id)?;
    ask(&app, move |app| {
        let acting = Acting::new(&app.ledger, caller(app, &who), app.now());
        let stored = acting.look(id).map_err(problem)?;
        let nothing = |NoDiff { because, instead }: NoDiff| Problem::not_found(because, instead);
        let change = TaskComparison::of_task(&stored, app.host.name()).map_err(nothing)?;
        Answer::json(&change.files().map_err(nothing)?)
    })
    .await
}

/// The workers of the board: at work, stalled, merging, idle or gone, and why.
#[utoipa::path(
    get, path = "/workers", tag = "tasks", operation_id = "task_workers",
    params(("all" = Option<bool>, Query, description = "Those that ended in the last day too.")),
    responses((status = 200, body = WorkersShape))
)]
pub(in super::super) async fn workers(State(app): State<Shared>, query: Query) -> Result<Answer, Problem> {
    query.only(&["all"])?;
    let wanted = if query.flag("all")? { WorkersWanted::Lately } else { WorkersWanted::Live };
    ask(&app, move |app| Answer::json(&read_workers(&app.ledger, &app.host, wanted, app.now())?)).await
}

/// The task board: a column for each state, with how many tasks are in it and their cards.
#[utoipa::path(
    get, path = "/board", tag = "tasks", operation_id = "task_board",
    params(
        ("state" = Option<String>, Query, description = "Only these columns, with commas between them."),
        ("role" = Option<String>, Query, description = "Only tasks for this role."),
        ("label" = Option<String>, Query, description = "NAME=VALUE; may be given several times."),
        ("repo" = Option<String>, Query, description = "Only tasks in this repository."),
        ("limit" = Option<u32>, Query, description = "How many cards of each column: 1 to 500, 100 unless given."),
    ),
    responses((status = 200, body = BoardShape))
)]
pub(in super::super) async fn board(State(app): State<Shared>, query: Query) -> Result<Answer, Problem> {
    query.only(&["state", "role", "label", "repo", "limit"])?;
    let label = |text: &str| match text.split_once('=') {
        Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
        None => Err(Problem::bad_request(format!("label={text:?} cannot be read"), "write label=NAME=VALUE")),
    };
    let tasks = TaskFilter {
        states: query.words::<TaskState>("state")?,
        role: query.one("role").map(str::to_owned),
        labels: query.all("label").map(label).collect::<Result<_, _>>()?,
        repo: query.one("repo").map(str::to_owned),
        all: true,
    };
    let filter = CardFilter { tasks, limit: query.number("limit", 1, PAGE_MAX)?.unwrap_or(100) };
    ask(&app, move |app| Answer::json(&read_board(&app.ledger, &filter, app.now())?)).await
}
