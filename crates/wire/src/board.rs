//! The task board as it is shown: a column for each state, and the cards in it.
//!
//! Invariant: a count is of all tasks that fit; the cards may be fewer. What is not recorded is null.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The task board.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize, ToSchema)]
#[schema(as = Board)]
pub struct BoardShape {
    /// One for each state of a task, in the order of its life.
    pub columns: Vec<BoardColumnShape>,
    /// Everything up to this record is in the answer.
    pub head: u64,
}

/// The tasks in one state.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize, ToSchema)]
#[schema(as = BoardColumn)]
pub struct BoardColumnShape {
    /// The state.
    pub state: String,
    /// How many tasks that fit are in it.
    pub count: u64,
    /// The tasks: by priority, then the oldest first; of those that are over, the newest first.
    pub items: Vec<TaskCardShape>,
}

/// A task as the board shows it.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize, ToSchema)]
#[schema(as = TaskCard)]
pub struct TaskCardShape {
    /// Its ID.
    pub id: String,
    /// What it is called.
    pub title: Option<String>,
    /// Where it stands.
    pub state: String,
    /// Who it is for.
    pub role: Option<String>,
    /// How urgent it is: 1 comes first.
    pub priority: i64,
    /// How much work it is.
    pub scope: String,
    /// The repository it works on.
    pub repo: Option<String>,
    /// What somebody sorts it by.
    #[schema(value_type = BTreeMap<String, String>)]
    pub labels: BTreeMap<String, String>,
    /// When it entered its state.
    pub entered_at: Option<String>,
    /// For how long it has been in its state, in seconds.
    pub age_s: Option<f64>,
    /// The worker that holds it.
    pub holder: Option<String>,
    /// What its worker said last of how far it is.
    pub progress: Option<String>,
    /// What it waits for, one sentence each.
    pub waits_for: Vec<String>,
    /// Who or what moves it on, in one sentence.
    pub next_move: String,
}
