//! The crew: the workers and the merge queue of the task board.
//!
//! Invariant: whatever runs here on behalf of a task works beside the user's checkout, never in it. Deliberately absent:
//! the states of tasks, which the kernel decides.

mod attempt;
mod crew;
mod diff;
mod gates;
pub mod git;
mod janitor;
mod launch;
mod mcp;
mod outcome;
mod pace;
mod profile;
mod prompt;
mod recovery;
mod worktrees;

pub use crew::{Crew, CrewSignal, Until};
pub use diff::{NoDiff, TaskComparison};
pub use janitor::{JanitorService, RequestCommands};
pub use launch::RunLauncher;
pub use mcp::{McpClient, McpServer, UnknownMcpClient};
pub use profile::Profile;
pub use recovery::RecoveryService;
pub use worktrees::{WorktreeContent, WorktreeFate, WorktreeReport, worktrees};
