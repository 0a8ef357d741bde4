//! Whoever starts runs for the server: the program it is part of.
//!
//! Invariant: a run that was started this way has a supervisor of its own and outlives the server. Deliberately absent:
//! how it is started; that is the program's.

use std::path::PathBuf;

use callboard_kernel::EntityId;
use serde::Deserialize;

/// A run that is asked for over HTTP.
#[derive(Clone, Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RunRequest {
    /// The command and its arguments; no shell reads them.
    #[schema(min_items = 1)]
    pub argv: Vec<String>,
    /// Where it runs: an absolute path.
    #[schema(value_type = String)]
    pub cwd: PathBuf,
    /// Variables of its environment, beside the few that it inherits from the server. They are in no record and are not kept: a
    /// retry needs them in the environment of the server (serve --env).
    #[serde(default)]
    pub env: std::collections::BTreeMap<String, String>,
    /// What it is called; its command line unless given.
    #[serde(default)]
    pub title: Option<String>,
    /// What somebody sorts it by.
    #[serde(default)]
    #[schema(value_type = std::collections::BTreeMap<String, String>)]
    pub labels: std::collections::BTreeMap<String, String>,
    /// When it is ended, in seconds.
    #[serde(default)]
    pub timeout_s: Option<f64>,
    /// When it is ended if nothing is heard from it, in seconds.
    #[serde(default)]
    pub idle_timeout_s: Option<f64>,
    /// Files it has to produce; with :optional behind one, the run is only partial without it.
    #[serde(default)]
    pub expect: Vec<String>,
    /// The run it belongs to.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub parent: Option<EntityId>,
}

/// Why a run was not started.
#[derive(Debug, thiserror::Error)]
pub enum NotStarted {
    /// What was asked for cannot be run.
    #[error("{0}")]
    Unfit(String),
    /// The program that should have started it failed.
    #[error("the supervisor of the run could not be started: {0}")]
    Failed(String),
}

/// Starts runs in the background.
pub trait Runner: Send + Sync {
    /// Starts a run that gets this id, with what led to it in its first record, and returns when its process is there.
    fn start(&self, id: EntityId, cause: &str, request: &RunRequest) -> Result<(), NotStarted>;

    /// Starts once more what was run as `repeats`, under a new id.
    fn retry(&self, id: EntityId, cause: &str, repeats: EntityId) -> Result<(), NotStarted>;

    /// Lets go of those that have ended; called now and then.
    fn tidy(&self);
}
