//! Worktrees of tasks that are there: what is in them, and their removal.
//!
//! Invariant: a worktree is removed only if refs hold what is in it, or the caller says that it is to be thrown away. Which
//! directory is deleted follows from the root and the task. Only records of our own worktrees are pruned; those of the user
//! may be on a drive that is not mounted.

use std::path::Path;

use super::error::GitError;
use super::merged::MergedBy;
use super::names::{self, CommitId, HIDDEN, branch_ref, shown};
use super::repository::GitRepository;
use super::snapshot::Files;
use super::worktree::{Standing, TRASH, TaskWorktree, remove_all, task_of, tear_down};

/// A worktree of a task, and what is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorktreeStatus {
    /// The worktree.
    pub worktree: TaskWorktree,
    /// The commit that HEAD is at; none on a branch without a commit.
    pub head: Option<CommitId>,
    /// Is there something that is not committed?
    pub is_dirty: bool,
    /// Does a ref hold everything that is in it, so that it can be removed?
    pub is_held: bool,
    /// How its commits came into the target; none if they have not.
    pub merged: Option<MergedBy>,
}

/// What is done with what no ref holds when a worktree is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leftovers {
    /// The removal is refused.
    Refuse,
    /// It is thrown away, because the user said so.
    Discard,
}

impl GitRepository {
    /// The worktrees of tasks below a directory, judged against a target branch. Records of worktrees whose directory is gone
    /// are pruned.
    ///
    /// # Errors
    ///
    /// When the branch is not there, or a worktree cannot be read.
    pub fn worktrees(&self, root: &Path, target: &str) -> Result<Vec<WorktreeStatus>, GitError> {
        let name = branch_ref(target)?;
        let tip =
            self.ref_state(&name)?.ok_or_else(|| GitError::NoBranch { branch: target.to_owned() })?.commit;
        let Ok(root) = root.canonicalize() else { return Ok(Vec::new()) };
        self.prune(&root)?;
        let mut found = Vec::new();
        for worktree in self.whole_worktrees(&root) {
            found.push(self.judge(worktree, &tip)?);
        }
        Ok(found)
    }

    /// What is in a worktree, judged against the commit that it is merged into. Nothing is pruned.
    ///
    /// # Errors
    ///
    /// When the worktree cannot be read.
    pub fn judge(&self, worktree: TaskWorktree, target: &CommitId) -> Result<WorktreeStatus, GitError> {
        let files = self.read_files(&worktree)?;
        let merged = match &files.parent {
            Some(head) => {
                let base = self.merge_base(head, target)?.unwrap_or_else(|| target.clone());
                self.is_merged(head, &base, target)?
            }
            None => None,
        };
        let committed = files.parent.as_ref().map(|head| self.tree_of(head)).transpose()?;
        let is_dirty = committed.as_ref() != Some(&files.tree) || !files.left_out.is_empty();
        let is_held = self.unsaved(&worktree, &files)?.is_empty();
        Ok(WorktreeStatus { worktree, head: files.parent, is_dirty, is_held, merged })
    }

    /// Removes a worktree. The branch of the task and its hidden refs stay.
    ///
    /// # Errors
    ///
    /// When it holds something that no ref holds ([`GitError::Unsaved`]), unless that is to be discarded.
    pub fn remove(&self, worktree: &TaskWorktree, leftovers: Leftovers) -> Result<(), GitError> {
        let _lock = self.lock()?;
        match self.standing(worktree)? {
            Standing::Absent => return Ok(()),
            Standing::Whole if leftovers == Leftovers::Refuse => self.must_be_held(worktree)?,
            Standing::Whole | Standing::Stale | Standing::Unfinished => {}
        }
        tear_down(worktree)
    }

    /// Removes the branch of a task whose work is merged. The hidden refs stay, and `refs/callboard/<task>/tip` holds what the branch held.
    ///
    /// # Errors
    ///
    /// When the branch is elsewhere, or the task still has a worktree.
    pub fn retire_branch(&self, task: &str, expected: &CommitId) -> Result<(), GitError> {
        let task = names::task(task)?;
        let _lock = self.lock()?;
        let worktree = self.absent_worktree(task)?;
        if self.ref_state(&worktree.branch_ref())?.is_none() {
            return Ok(());
        }
        self.set_hidden_ref(&format!("{HIDDEN}{task}/tip"), expected)?;
        self.delete_ref(&worktree.branch_ref(), expected)
    }

    /// Removes the branch of a task and its hidden refs, once they are not needed: the branch must be where it is expected, and
    /// the worktree gone.
    ///
    /// # Errors
    ///
    /// When the branch is elsewhere, or the task still has a worktree.
    pub fn forget(&self, task: &str, expected: &CommitId) -> Result<(), GitError> {
        let task = names::task(task)?;
        let _lock = self.lock()?;
        let worktree = self.absent_worktree(task)?;
        if self.ref_state(&worktree.branch_ref())?.is_some() {
            self.delete_ref(&worktree.branch_ref(), expected)?;
        }
        let question = ["for-each-ref", "--format=%(refname) %(objectname)", &format!("{HIDDEN}{task}/")];
        for line in self.view.git(&question).line()?.lines() {
            if let Some((name, id)) = line.split_once(' ') {
                self.delete_ref(name, &CommitId::parse(id)?)?;
            }
        }
        Ok(())
    }

    /// Where the worktree of a task was; an error if it is there.
    fn absent_worktree(&self, task: &str) -> Result<TaskWorktree, GitError> {
        let worktree = TaskWorktree::new(&self.location.common, Path::new("/"), task);
        if worktree.git_dir().exists() {
            let path = worktree.git_dir().to_owned();
            return Err(GitError::InTheWay { task: task.to_owned(), path });
        }
        Ok(worktree)
    }

    /// Prunes records of worktrees below a directory that are gone, and what is left of removals that were interrupted.
    ///
    /// # Errors
    ///
    /// When something cannot be deleted.
    pub fn prune(&self, root: &Path) -> Result<(), GitError> {
        let Ok(root) = root.canonicalize() else { return Ok(()) };
        let _lock = self.lock()?;
        for admin in self.admins() {
            let Some(task) = task_of(&admin) else { continue };
            let worktree = TaskWorktree::new(&self.location.common, &root, &task);
            if matches!(self.standing(&worktree), Ok(Standing::Stale)) {
                tear_down(&worktree)?;
            }
        }
        let entries = std::fs::read_dir(&root).into_iter().flatten().flatten();
        let trash = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(TRASH));
        for entry in trash.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
            let path = entry.path();
            remove_all(&path).map_err(GitError::io(format!("{} cannot be removed", path.display())))?;
        }
        Ok(())
    }

    fn whole_worktrees(&self, root: &Path) -> Vec<TaskWorktree> {
        let tasks = self.admins().into_iter().filter_map(|admin| task_of(&admin));
        let worktrees = tasks.map(|task| TaskWorktree::new(&self.location.common, root, &task));
        worktrees.filter(|worktree| matches!(self.standing(worktree), Ok(Standing::Whole))).collect()
    }

    /// Refuses if a worktree holds what no ref holds.
    fn must_be_held(&self, worktree: &TaskWorktree) -> Result<(), GitError> {
        let files = self.unsaved(worktree, &self.read_files(worktree)?)?;
        match files.is_empty() {
            true => Ok(()),
            false => Err(GitError::Unsaved { task: worktree.task().to_owned(), files }),
        }
    }

    /// What of a worktree no ref holds.
    fn unsaved(&self, worktree: &TaskWorktree, files: &Files) -> Result<Vec<String>, GitError> {
        if !files.left_out.is_empty() {
            return Ok(files.left_out.clone());
        }
        let Some(head) = &files.parent else {
            return Ok(vec!["files on a branch without a commit".to_owned()]);
        };
        let is_clean = self.tree_of(head)? == files.tree;
        if is_clean && self.is_held(head)? {
            return Ok(Vec::new());
        }
        if !is_clean && self.is_parked(worktree, head, &files.tree)? {
            return Ok(Vec::new());
        }
        let mut names: Vec<String> = match is_clean {
            true => Vec::new(),
            false => self
                .entry_changes(&format!("{head}^{{tree}}"), &files.tree)?
                .iter()
                .map(|change| shown(&change.path))
                .collect(),
        };
        if names.is_empty() {
            names.push(format!("commit {head}"));
        }
        Ok(names)
    }

    /// Does a ref hold a commit?
    fn is_held(&self, commit: &CommitId) -> Result<bool, GitError> {
        let question = ["for-each-ref", "--count=1", "--contains", commit.as_str()];
        Ok(!self.view.git(&question).ok()?.is_empty())
    }

    /// Does a branch or a hidden ref of the task hold these files on top of HEAD?
    fn is_parked(&self, worktree: &TaskWorktree, head: &CommitId, tree: &str) -> Result<bool, GitError> {
        let hidden = format!("{HIDDEN}{}/", worktree.task());
        let question =
            ["for-each-ref", "--format=%(tree)", "--contains", head.as_str(), "refs/heads", &hidden];
        Ok(self.view.git(&question).line()?.lines().any(|held| held == tree))
    }
}
