//! The worktrees that the crew made and that are there: what is in each, and what becomes of it.
//!
//! Invariant: looking changes nothing in a worktree and removes none. What a worktree holds is judged by the code that removes worktrees, so
//! nothing is called held that a removal would refuse. One that cannot be read is listed with the reason. Deliberately absent: directories of tasks
//! without a repository, and worktrees of other hosts.

use std::path::{Path, PathBuf};

use callboard_kernel::task::{self, NextMove};
use callboard_kernel::{EntityId, fact};
use callboard_ledger::{Ledger, ReadError, Stored, error_chain};
use callboard_lifecycle::{Kind, words};

use crate::git::{CommitId, GitError, GitRepository, WorktreeStatus};

words! {
    /// What is in a worktree.
    pub enum WorktreeContent is "content of a worktree" {
        /// Only what the task began with.
        Nothing = "nothing",
        /// Its work is in the base branch, by commit or by content.
        Merged = "merged",
        /// Its work is held by the branch of the task or by a hidden ref.
        Parked = "parked",
        /// Only the worktree holds some of it.
        Unsaved = "unsaved",
    }
}

words! {
    /// What becomes of a worktree.
    pub enum WorktreeFate is "fate of a worktree" {
        /// The task goes on: it is removed when the task is closed.
        UntilClosed = "until_closed",
        /// The task is over, and refs hold everything in it: the janitor removes it.
        Removable = "removable",
        /// The task is over, and only the worktree holds its work: it stays.
        Stays = "stays",
        /// Nobody knows: the task is not in this store, or the worktree cannot be read.
        Unknown = "unknown",
    }
}

/// A worktree of a task.
#[derive(Clone, Debug)]
pub struct WorktreeReport {
    /// Its task.
    pub id: EntityId,
    /// The task as it is recorded; nothing if this store does not have it.
    pub task: Option<Stored>,
    /// Where it is.
    pub path: PathBuf,
    /// The branch of the task.
    pub branch: String,
    /// Is something in it that is not committed? Nothing if it cannot be read.
    pub has_uncommitted: Option<bool>,
    /// What is in it; nothing if it cannot be read.
    pub content: Option<WorktreeContent>,
    /// What becomes of it.
    pub fate: WorktreeFate,
    /// Why it cannot be read.
    pub problem: Option<String>,
}

/// The directory of the worktrees, in the directory of the state.
pub(crate) fn worktrees_dir(state_dir: &Path) -> PathBuf {
    state_dir.join("worktrees")
}

/// The worktrees that are there, by the id of their task, so that the oldest task comes first.
///
/// # Errors
///
/// When the store cannot be read.
pub fn worktrees(ledger: &Ledger, state_dir: &Path) -> Result<Vec<WorktreeReport>, ReadError> {
    let root = worktrees_dir(state_dir);
    tasks_in(&root).into_iter().map(|id| Ok(report(&root, id, ledger.entity(id)?))).collect()
}

/// The tasks that are over and whose worktrees can be removed. The worktree of a task that goes on is not even read: its agent is at work
/// in it.
pub(crate) fn removable(ledger: &Ledger, state_dir: &Path) -> Result<Vec<Stored>, ReadError> {
    let root = worktrees_dir(state_dir);
    let mut found = Vec::new();
    for id in tasks_in(&root) {
        let Some(stored) = ledger.entity(id)?.filter(is_over) else { continue };
        if report(&root, id, Some(stored.clone())).fate == WorktreeFate::Removable {
            found.push(stored);
        }
    }
    Ok(found)
}

fn tasks_in(root: &Path) -> Vec<EntityId> {
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    let dirs = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let ids = dirs.filter_map(|entry| entry.file_name().to_str()?.parse::<EntityId>().ok());
    let mut ids: Vec<EntityId> = ids.filter(|id| id.kind() == Kind::Task).collect();
    ids.sort_unstable_by_key(ToString::to_string);
    ids
}

fn report(root: &Path, id: EntityId, task: Option<Stored>) -> WorktreeReport {
    let (path, branch) = (root.join(id.to_string()), format!("callboard/{id}"));
    let read = match &task {
        Some(stored) => read(root, stored),
        None => Err("its task is not in this store".to_owned()),
    };
    let (status, problem) = match read {
        Ok(status) => (Some(status), None),
        Err(problem) => (None, Some(problem)),
    };
    let content = status.as_ref().map(|status| content(status, task.as_ref()));
    let fate = fate(task.as_ref(), status.as_ref());
    let has_uncommitted = status.map(|status| status.is_dirty);
    WorktreeReport { id, task, path, branch, has_uncommitted, content, fate, problem }
}

fn read(root: &Path, task: &Stored) -> Result<WorktreeStatus, String> {
    let facts = &task.entity.facts;
    let told = |error: GitError| format!("{}; {}", error_chain(&error), error.help());
    let Some(repo) = facts.read(fact::REPO) else {
        return Err("its task names no repository".to_owned());
    };
    let repository = GitRepository::open(Path::new(repo)).map_err(told)?;
    let target = repository.base(facts.read(fact::BASE)).map_err(told)?.commit;
    let found = repository.find_worktree(&task.entity.state.id.to_string(), root).map_err(told)?;
    let worktree = found.ok_or_else(|| format!("{repo} does not know this worktree"))?;
    repository.judge(worktree, &target).map_err(told)
}

fn content(status: &WorktreeStatus, task: Option<&Stored>) -> WorktreeContent {
    let base = task.and_then(|task| task.entity.facts.read(fact::BASE_COMMIT));
    let is_at_base = base.is_some() && status.head.as_ref().map(CommitId::as_str) == base;
    match (status.is_dirty, status.is_held) {
        (_, false) => WorktreeContent::Unsaved,
        (false, true) if is_at_base => WorktreeContent::Nothing,
        (false, true) if status.merged.is_some() => WorktreeContent::Merged,
        (false | true, true) => WorktreeContent::Parked,
    }
}

fn fate(task: Option<&Stored>, status: Option<&WorktreeStatus>) -> WorktreeFate {
    let (Some(task), Some(status)) = (task, status) else { return WorktreeFate::Unknown };
    match (is_over(task), status.is_held) {
        (true, true) => WorktreeFate::Removable,
        (true, false) => WorktreeFate::Stays,
        (false, _) => WorktreeFate::UntilClosed,
    }
}

/// Does nobody and nothing move the task on any more?
fn is_over(task: &Stored) -> bool {
    let next = task::state(&task.entity).and_then(|state| task::next_move(state, &task.entity.facts));
    matches!(next, Some(NextMove::Nobody))
}
