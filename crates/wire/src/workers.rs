//! The workers of the task board as they are shown.
//!
//! Invariant: the visual state is judged when it is asked for, and says why in one sentence. What is not known is null.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The workers that are there.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize, ToSchema)]
#[schema(as = Workers)]
pub struct WorkersShape {
    /// Those that have not ended, the oldest first; then those that ended in the last day, if they were asked for, the newest first.
    pub items: Vec<WorkerShape>,
    /// Everything up to this record is in the answer.
    pub head: u64,
}

/// One worker.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize, ToSchema)]
#[schema(as = Worker)]
pub struct WorkerShape {
    /// Its ID.
    pub id: String,
    /// What it is called.
    pub title: Option<String>,
    /// How it is shown: spawning, running, stalled, merging, dead, idle or unknown.
    pub visual: String,
    /// The visual state as people read it.
    pub label: String,
    /// One character that stands for the visual state.
    pub indicator: String,
    /// The colour token of the visual state.
    pub token: String,
    /// Why it is shown so, in one sentence.
    pub why: String,
    /// The state that is recorded: starting, working, idle or dead.
    pub state: Option<String>,
    /// The host of its process.
    pub host: Option<String>,
    /// The pid of its process there; null if somebody works by hand.
    pub pid: Option<u32>,
    /// The person who works with it by hand.
    pub by: Option<String>,
    /// The agent profile that it uses.
    pub profile: Option<String>,
    /// The role whose tasks it takes.
    pub role: Option<String>,
    /// The task that it has, or that it did and that is being verified or merged.
    pub task: Option<String>,
    /// What that task is called.
    pub task_title: Option<String>,
    /// The turn in which it handles the task.
    pub turn: Option<String>,
    /// Where that turn stands.
    pub turn_state: Option<String>,
    /// Since when it is in the recorded state.
    pub since: Option<String>,
    /// When its lease was renewed last, or else when something was recorded of it.
    pub last_heard_at: Option<String>,
}
