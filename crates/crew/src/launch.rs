//! Whoever starts runs for the crew: the program it is part of.
//!
//! Invariant: a run that was started this way has a supervisor of its own and outlives the worker. Deliberately absent: how it is
//! started; that is the program's.

use callboard_kernel::EntityId;
use callboard_wire::RunRequest;

use crate::mcp::McpServer;

/// Starts runs in the background.
pub trait RunLauncher: Send + Sync {
    /// Starts a run that gets this id, with what led to it in its first record, and returns when its process is there. The
    /// error says why not.
    fn start(&self, id: EntityId, cause: &str, request: &RunRequest) -> Result<(), String>;

    /// How the agent in a run that is about to be started reaches the task board, with or without walls around it. The error says why
    /// it cannot.
    fn mcp_server(&self, id: EntityId, is_sandboxed: bool) -> Result<McpServer, String>;

    /// Lets go of those that have ended; called now and then.
    fn tidy(&self);
}
