//! What the workers and the merge queue of the task board need from git.
//!
//! Invariants:
//! - Git never reads the configuration of the repository, its hooks or those of the user: after an agent has worked in a worktree
//!   they are hostile. Every call gets a private git directory (`view`), in which objects and refs are borrowed and the
//!   configuration is ours. No program that a repository names is ever started.
//! - No checkout of the user is written to, except by `publish`, which brings along the checkouts of the branch it moves
//!   and does not overwrite a local change.
//! - Nothing is thrown away that no ref holds: a removal is refused, and a fresh start keeps what was there under
//!   `refs/callboard/<task>/left`.
//! - Whatever is interrupted can be called again with the same arguments.
//!
//! Deliberately absent: remotes, submodules, signatures, and states of tasks.

mod changes;
mod checkout;
mod cleanup;
mod commits;
mod error;
mod location;
mod merged;
mod names;
mod publish;
mod replay;
mod repository;
mod runner;
mod snapshot;
mod view;
mod worktree;

pub use changes::file_patches::FilePatch;
pub use changes::{ChangeKind, ChangedFile, Diff};
pub use cleanup::{Leftovers, WorktreeStatus};
pub use error::GitError;
pub use merged::MergedBy;
pub use names::CommitId;
pub use publish::Published;
pub use replay::{MergeStyle, Replay};
pub use repository::{Base, GitRepository};
pub use snapshot::{Committed, Snapshot};
pub use worktree::{Attempt, TaskWorktree};
