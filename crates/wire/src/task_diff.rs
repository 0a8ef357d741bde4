//! What a task changed, file by file.
//!
//! Invariant: the counts are whole; a text that was shortened says so. Bytes that are not UTF-8 are replaced.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What a task changed: its merge, or its branch while it is not merged.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize, ToSchema)]
#[schema(as = TaskDiff)]
pub struct TaskDiffShape {
    /// The task.
    pub task: String,
    /// The commit that it is compared with.
    pub base: String,
    /// The merge of the task, or the tip of its branch.
    pub tip: String,
    /// Was it merged? Otherwise it is the work so far.
    pub is_merged: bool,
    /// The files that differ, in the order of git.
    pub files: Vec<FileDiffShape>,
    /// How many files differ, listed or not.
    pub files_total: u64,
    /// Was something left out: a file, or the end of a patch?
    pub is_cut: bool,
}

/// A file that differs.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize, ToSchema)]
#[schema(as = FileDiff)]
pub struct FileDiffShape {
    /// Its path.
    pub path: String,
    /// The path that it had before, if it was renamed.
    pub old_path: Option<String>,
    /// How it differs: added, deleted, modified or renamed.
    pub status: String,
    /// How many lines were added; null for a file that is not text.
    pub added: Option<u64>,
    /// How many lines were removed; null for a file that is not text.
    pub removed: Option<u64>,
    /// The patch; null if all of it was left out.
    pub patch: Option<String>,
    /// Was the patch or its end left out, because it is too long?
    pub is_cut: bool,
}
