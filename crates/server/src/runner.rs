//! Whoever starts runs for the server: the program it is part of.
//!
//! Invariant: a run that was started this way has a supervisor of its own and outlives the server. Deliberately absent:
//! how it is started; that is the program's.

use callboard_kernel::EntityId;
use callboard_wire::RunRequest;

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
