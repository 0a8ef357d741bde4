//! The story of a task as it is shown.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::view::ViewShape;
use crate::QuestionShape;

/// A task as it stands, and what it has been through.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize, ToSchema)]
#[schema(as = TaskStory)]
pub struct TaskStoryShape {
    /// The task.
    #[schema(inline)]
    #[serde(flatten)]
    pub view: ViewShape,
    /// Who or what moves it on, in one sentence.
    pub next_move: String,
    /// Every claim, the oldest first.
    pub claims: Vec<TaskClaimShape>,
    /// Every turn, the oldest first.
    pub turns: Vec<TaskTurnShape>,
    /// Every run of an agent or of a check, the oldest first.
    pub runs: Vec<TaskRunShape>,
    /// Every question about it or about one of its runs, the oldest first.
    pub questions: Vec<QuestionShape>,
    /// What the newest verification found, one object for each check.
    #[schema(value_type = Vec<Object>)]
    pub verdicts: Vec<Value>,
    /// What it was merged as.
    pub merge: TaskMergeShape,
    /// The tasks it was split into.
    pub subtasks: Vec<String>,
}

/// One claim of a task.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize, ToSchema)]
#[schema(as = TaskClaim)]
pub struct TaskClaimShape {
    /// When.
    pub at: String,
    /// The worker.
    pub holder: Option<String>,
    /// Which claim of the task it was.
    pub epoch: Option<i64>,
}

/// One turn of a task.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize, ToSchema)]
#[schema(as = TaskTurn)]
pub struct TaskTurnShape {
    /// Its ID.
    pub id: String,
    /// Where it stands.
    pub state: Option<String>,
    /// The worker that handled the task in it.
    pub worker: Option<String>,
    /// The run of its agent.
    pub run: Option<String>,
    /// How long its attempt may take: `timeout_s`, `rule` (explicit, adaptive or default), `p95_s` and `sample_count`.
    #[schema(value_type = Option<Object>)]
    pub bound: Option<serde_json::Value>,
    /// The turns of earlier attempts that the bound follows from, the newest first.
    #[schema(value_type = Vec<String>)]
    pub samples: Vec<serde_json::Value>,
    /// The files as they were when it began.
    pub start_ref: Option<String>,
    /// The files as they were when it ended.
    pub end_ref: Option<String>,
    /// Why it is where it is.
    pub reason: Option<String>,
    /// When it began.
    pub created_at: Option<String>,
    /// When it ended.
    pub ended_at: Option<String>,
}

/// One run for a task.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize, ToSchema)]
#[schema(as = TaskRun)]
pub struct TaskRunShape {
    /// Its ID.
    pub id: String,
    /// What it is called.
    pub title: Option<String>,
    /// Where it stands.
    pub state: Option<String>,
    /// Why it is where it is.
    pub reason: Option<String>,
    /// When it came to be.
    pub created_at: Option<String>,
}

/// What a task was merged as.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize, ToSchema)]
#[schema(as = TaskMerge)]
pub struct TaskMergeShape {
    /// The commit that brought it into its base.
    pub commit: Option<String>,
    /// The branch that holds or held the work.
    pub branch: Option<String>,
}
