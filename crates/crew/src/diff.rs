//! What a task changed: which two commits are compared, and the files between them.
//!
//! Invariant: only commits are compared, and no program that the repository names is run. Where there is nothing to show, the answer says why. What is too
//! long is cut, and says so. Deliberately absent: what is not committed while a turn goes on.

use std::path::Path;

use callboard_engine::tasks::TurnShown;
use callboard_kernel::{EntityId, fact, task};
use callboard_ledger::{Stored, error_chain};
use callboard_wire::{FileDiffShape, TaskDiffShape};

use crate::git::{ChangeKind, CommitId, FilePatch, GitError, GitRepository};

/// Files that are listed.
const FILES_MAX: usize = 1000;
/// Bytes of the patches of all files.
const PATCHES_MAX: usize = 1024 * 1024;
/// Bytes of the patch of one file.
const PATCH_MAX: usize = 128 * 1024;

/// Why there is no difference to show, and what to do instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{because}")]
pub struct NoDiff {
    /// Why.
    pub because: String,
    /// What to do instead.
    pub instead: String,
}

/// A change of a task: two commits of its repository.
#[derive(Debug)]
pub struct TaskComparison {
    task: EntityId,
    /// Where the commits are.
    pub repository: GitRepository,
    /// The commit that it is compared with.
    pub base: CommitId,
    /// What the task made of it.
    pub tip: CommitId,
    is_merged: bool,
}

impl TaskComparison {
    /// The merge of a task, or its work so far; `here` is what this host is called.
    ///
    /// # Errors
    ///
    /// When there is nothing to show.
    pub fn of_task(stored: &Stored, here: &str) -> Result<Self, NoDiff> {
        let (repository, id) = (opened(stored, here)?, stored.entity.state.id);
        let facts = &stored.entity.facts;
        let commit = |name| facts.read(name).and_then(|text: &str| CommitId::parse(text).ok());
        if let Some(merge) = task::merged_as(&stored.entity).and_then(|text| CommitId::parse(text).ok()) {
            // Against the commit that it began from, the merges of others would be in it.
            if let Some(onto) = repository.merged_onto(&merge, &format!("Task: {id}")).map_err(of_git)? {
                return Ok(Self { task: id, repository, base: onto, tip: merge, is_merged: true });
            }
        }
        let tip = match (commit(fact::TIP), facts.read(fact::BRANCH)) {
            (None, Some(branch)) => repository.branch_tip(branch).map_err(of_git)?,
            (tip, _) => tip,
        };
        match (commit(fact::BASE_COMMIT), tip) {
            (Some(base), Some(tip)) => Ok(Self { task: id, repository, base, tip, is_merged: false }),
            (None, _) | (_, None) => Err(missing(
                "nobody has worked on it in its repository",
                "callboard task show tells where it stands",
            )),
        }
    }

    /// What one turn of a task changed: the files at its end against those at its beginning.
    ///
    /// # Errors
    ///
    /// When there is nothing to show.
    pub fn of_turn(stored: &Stored, turn: &TurnShown, here: &str) -> Result<Self, NoDiff> {
        let repository = opened(stored, here)?;
        let held = |name: &Option<String>, what: &str| {
            let Some(name) = name else {
                let because = format!("{} has no snapshot of its {what}", turn.id);
                let instead = "if it goes on, wait for its end; callboard task worktrees names its files";
                return Err(missing(&because, instead));
            };
            let because = format!("{name} is not in the repository any more");
            let found = repository.hidden_commit(name).map_err(of_git)?;
            found.ok_or_else(|| missing(&because, "callboard task diff without --at shows the whole change"))
        };
        let (base, tip) = (held(&turn.start_ref, "beginning")?, held(&turn.end_ref, "end")?);
        Ok(Self { task: stored.entity.state.id, repository, base, tip, is_merged: false })
    }

    /// The change file by file, with patches of a bounded size.
    ///
    /// # Errors
    ///
    /// When git fails.
    pub fn files(&self) -> Result<TaskDiffShape, NoDiff> {
        let (all, is_cut) =
            self.repository.file_patches(&self.base, &self.tip, PATCHES_MAX).map_err(of_git)?;
        let files_total = all.len() as u64;
        let files: Vec<FileDiffShape> = all.into_iter().take(FILES_MAX).map(shape).collect();
        let is_cut = is_cut || files_total > files.len() as u64 || files.iter().any(|file| file.is_cut);
        Ok(TaskDiffShape {
            task: self.task.to_string(),
            base: self.base.to_string(),
            tip: self.tip.to_string(),
            is_merged: self.is_merged,
            files,
            files_total,
            is_cut,
        })
    }
}

fn shape(file: FilePatch) -> FileDiffShape {
    let FilePatch { file, added, removed, mut patch, mut is_cut } = file;
    if let Some(text) = patch.as_mut().filter(|text| text.len() > PATCH_MAX) {
        let end = text.floor_char_boundary(PATCH_MAX);
        text.truncate(text[..end].rfind('\n').map_or(end, |at| at + 1));
        is_cut = true;
    }
    let (status, old_path) = match file.kind {
        ChangeKind::Added => ("added", None),
        ChangeKind::Deleted => ("deleted", None),
        ChangeKind::Modified => ("modified", None),
        ChangeKind::Renamed { from } => ("renamed", Some(from)),
    };
    FileDiffShape { path: file.path, old_path, status: status.to_owned(), added, removed, patch, is_cut }
}

fn opened(stored: &Stored, here: &str) -> Result<GitRepository, NoDiff> {
    let facts = &stored.entity.facts;
    let Some(repo) = facts.read(fact::REPO) else {
        return Err(missing("the task has no repository", "callboard task show tells what it left"));
    };
    if !Path::new(repo).exists() {
        let worked = facts.read(fact::HOST).filter(|host| *host != here);
        let worked = worked.map_or_else(String::new, |host| format!("; the task was worked on on {host}"));
        let because = format!("there is no repository {repo} on this host, {here}{worked}");
        return Err(missing(&because, "ask on a host that has the repository: callboard task diff ID"));
    }
    GitRepository::open(repo.as_ref()).map_err(of_git)
}

fn missing(because: &str, instead: &str) -> NoDiff {
    NoDiff { because: because.to_owned(), instead: instead.to_owned() }
}

#[expect(clippy::needless_pass_by_value, reason = "it is handed to map_err")]
fn of_git(error: GitError) -> NoDiff {
    missing(&error_chain(&error), error.help())
}
