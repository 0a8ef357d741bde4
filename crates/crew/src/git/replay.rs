//! Puts the work of a task onto another commit, in the object store alone: no checkout, no index, no files.
//!
//! Invariant: a merge is computed by `git merge-tree`, and a commit that is replayed keeps its author and its message. The
//! same input gives the same trees, so an interrupted replay leaves only objects that nobody refers to.
//!
//! Deliberately absent: resolving conflicts, and merge drivers, which are programs of the repository.

use super::commits::{CommitText, message_text};
use super::error::GitError;
use super::names::{CommitId, parts, shown};
use super::repository::GitRepository;
use super::view::failed;

/// What came of a rebase or a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Replay {
    /// It went through; this commit has the result.
    Clean(CommitId),
    /// Both sides changed the same place.
    Conflict {
        /// The files with conflicts.
        files: Vec<String>,
        /// The commit that could not be replayed; the tip for a merge.
        at: CommitId,
    },
}

/// What a task becomes on the branch that it is merged into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeStyle {
    /// A commit with two parents.
    Merge,
    /// One commit with everything, by the author of the tip.
    Squash,
}

/// The result of merging two commits.
enum Merge {
    Tree(String),
    Conflict(Vec<String>),
}

impl GitRepository {
    /// Replays the commits of a branch since its old base onto another commit. Commits that are there already, or become
    /// empty, are left out. A branch that has merges of its own is not flattened, since a merge may hold what no commit
    /// holds: it is merged, and the result has `onto` and the tip as parents.
    ///
    /// # Errors
    ///
    /// When git fails, such as for a commit that is not there.
    pub fn rebase(&self, tip: &CommitId, old_base: &CommitId, onto: &CommitId) -> Result<Replay, GitError> {
        let since = format!("^{old_base}");
        let is_linear = {
            let question =
                ["rev-list", "--min-parents=2", "--max-count=1", tip.as_str(), &since, &format!("^{onto}")];
            self.view.git(&question).ok()?.is_empty()
        };
        if self.is_ancestor(onto, tip)? {
            return Ok(Replay::Clean(tip.clone()));
        }
        if self.is_ancestor(tip, onto)? {
            return Ok(Replay::Clean(onto.clone()));
        }
        if !is_linear {
            return self.merge_commit(onto, tip, &format!("Merge {onto} into the task"), MergeStyle::Merge);
        }
        let both = format!("{onto}...{tip}");
        let question = [
            "rev-list",
            "--reverse",
            "--topo-order",
            "--no-merges",
            "--right-only",
            "--cherry-pick",
            &both,
            &since,
        ];
        let listed = self.view.git(&question).line()?;
        let commits = listed.lines().map(CommitId::parse).collect::<Result<Vec<_>, _>>()?;
        let committer = self.committer()?;
        let mut at = onto.clone();
        for commit in commits {
            match self.replay_one(&commit, &at, &committer)? {
                Replay::Clean(next) => at = next,
                conflict @ Replay::Conflict { .. } => return Ok(conflict),
            }
        }
        Ok(Replay::Clean(at))
    }

    /// Merges a tip into a commit as a merge or as one commit. If the tip changes nothing, the result is `onto` itself.
    ///
    /// # Errors
    ///
    /// When git fails, such as for a commit that is not there.
    pub fn merge_commit(
        &self,
        onto: &CommitId,
        tip: &CommitId,
        message: &str,
        style: MergeStyle,
    ) -> Result<Replay, GitError> {
        if self.is_ancestor(tip, onto)? {
            return Ok(Replay::Clean(onto.clone()));
        }
        let tree = match self.merge_trees(onto, tip)? {
            Merge::Tree(tree) => tree,
            Merge::Conflict(files) => return Ok(Replay::Conflict { files, at: tip.clone() }),
        };
        let committer = self.committer()?;
        let message = message_text(message);
        let commit = match style {
            MergeStyle::Squash if self.tree_of(onto)? == tree => return Ok(Replay::Clean(onto.clone())),
            MergeStyle::Squash => {
                let author = self.read_commit(tip)?.author;
                CommitText { tree, parents: vec![onto.clone()], author, encoding: None, message }
            }
            MergeStyle::Merge => {
                let parents = vec![onto.clone(), tip.clone()];
                CommitText { tree, parents, author: committer.clone(), encoding: None, message }
            }
        };
        self.write_commit(&commit, &committer).map(Replay::Clean)
    }

    /// Replays one commit.
    fn replay_one(&self, commit: &CommitId, at: &CommitId, committer: &[u8]) -> Result<Replay, GitError> {
        let mut text = self.read_commit(commit)?;
        if text.parents.as_slice() == [at.clone()] {
            return Ok(Replay::Clean(commit.clone()));
        }
        let tree = self.tree_of(at)?;
        // `merge-tree` has no base to name in older versions. The parent is the base of a commit that has it as its parent and
        // the files that are replayed onto.
        let stand_in = CommitText {
            tree: tree.clone(),
            parents: text.parents.clone(),
            author: NOBODY.to_vec(),
            encoding: None,
            message: b"stand-in\n".to_vec(),
        };
        let stand_in = self.write_commit(&stand_in, NOBODY)?;
        match self.merge_trees(&stand_in, commit)? {
            Merge::Conflict(files) => Ok(Replay::Conflict { files, at: commit.clone() }),
            Merge::Tree(merged) if merged == tree => Ok(Replay::Clean(at.clone())),
            Merge::Tree(merged) => {
                text.tree = merged;
                text.parents = vec![at.clone()];
                self.write_commit(&text, committer).map(Replay::Clean)
            }
        }
    }

    fn merge_trees(&self, ours: &CommitId, theirs: &CommitId) -> Result<Merge, GitError> {
        let question = [
            "merge-tree",
            "--write-tree",
            "-z",
            "--name-only",
            "--no-messages",
            "--allow-unrelated-histories",
            ours.as_str(),
            theirs.as_str(),
        ];
        let answer = self.view.git(&question).run()?;
        let mut words = parts(&answer.stdout).map(shown);
        match (answer.code, words.next()) {
            (Some(0), Some(tree)) => Ok(Merge::Tree(tree.trim_end().to_owned())),
            (Some(1), Some(_)) => Ok(Merge::Conflict(words.collect())),
            (_, _) => Err(failed("merge-tree".to_owned(), &answer)),
        }
    }

    /// Does merging a tip into a commit change nothing?
    pub(super) fn is_contained(&self, tip: &CommitId, target: &CommitId) -> Result<bool, GitError> {
        match self.merge_trees(target, tip)? {
            Merge::Tree(tree) => Ok(tree == self.tree_of(target)?),
            Merge::Conflict(_) => Ok(false),
        }
    }
}

/// Whoever makes a commit that only stands in for another.
pub(super) const NOBODY: &[u8] = b"Callboard <callboard@localhost> 0 +0000";
