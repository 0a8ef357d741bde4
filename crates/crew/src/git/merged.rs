//! Is the work of a task in a branch? Judged by content, because a merge may squash or rewrite commits.
//!
//! Invariant: the answer is about what is in the branch, and not about which commit ids are. Nothing in a worktree and no name
//! of a branch counts. Deliberately absent: work that was merged and changed beyond recognition; it counts as not merged,
//! which keeps it.

use super::commits::CommitText;
use super::error::GitError;
use super::names::CommitId;
use super::replay::NOBODY;
use super::repository::GitRepository;

/// How work was found to be in a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergedBy {
    /// The branch contains the very commit.
    Ancestor,
    /// The branch contains a commit with the same change for each commit: a rebase or cherry-picks.
    Patches {
        /// The newest of them on the branch.
        newest: CommitId,
    },
    /// The branch contains one commit with the whole change: a squash.
    Squash {
        /// That commit.
        commit: CommitId,
    },
    /// Merging it changes nothing: all of it is in the branch, in whatever commits.
    Content,
}

impl GitRepository {
    /// Is the work from a base to a tip in a target? None if not.
    ///
    /// # Errors
    ///
    /// When git fails, such as for a commit that is not there.
    pub fn is_merged(
        &self,
        tip: &CommitId,
        base_at_start: &CommitId,
        target: &CommitId,
    ) -> Result<Option<MergedBy>, GitError> {
        if self.is_ancestor(tip, target)? {
            return Ok(Some(MergedBy::Ancestor));
        }
        if let Some(newest) = self.patches_in(tip, base_at_start, target)? {
            return Ok(Some(MergedBy::Patches { newest }));
        }
        if let Some(commit) = self.squash_in(tip, base_at_start, target)? {
            return Ok(Some(MergedBy::Squash { commit }));
        }
        Ok(self.is_contained(tip, target)?.then_some(MergedBy::Content))
    }

    /// The newest commit of the target with the change of a commit of the branch, if there is one for each. A merge may hold what
    /// no commit holds, so a branch with merges is not judged this way.
    fn patches_in(
        &self,
        tip: &CommitId,
        base: &CommitId,
        target: &CommitId,
    ) -> Result<Option<CommitId>, GitError> {
        let own = self.marked("--right-only", &[], target, tip, &[base])?;
        let merges = ["rev-list", "--min-parents=2", "--max-count=1", tip.as_str()];
        let without = [format!("^{base}"), format!("^{target}")];
        let merges = [&merges[..], &[without[0].as_str(), without[1].as_str()]].concat();
        let is_equal = !own.is_empty() && own.iter().all(|(mark, _)| *mark == '=');
        if !is_equal || !self.view.git(&merges).ok()?.is_empty() {
            return Ok(None);
        }
        let theirs = self.marked("--left-only", &["--no-merges"], target, tip, &[])?;
        Ok(theirs.into_iter().find(|(mark, _)| *mark == '=').map(|(_, commit)| commit))
    }

    /// The commit of the target that makes the whole change.
    fn squash_in(
        &self,
        tip: &CommitId,
        base: &CommitId,
        target: &CommitId,
    ) -> Result<Option<CommitId>, GitError> {
        let base = match self.is_ancestor(base, tip)? {
            true => Some(base.clone()),
            false => self.merge_base(tip, target)?,
        };
        let Some(base) = base.filter(|base| base != tip) else { return Ok(None) };
        let (tree, message) = (self.tree_of(tip)?, b"stand-in\n".to_vec());
        let whole =
            CommitText { tree, parents: vec![base], author: NOBODY.to_vec(), encoding: None, message };
        let whole = self.write_commit(&whole, NOBODY)?;
        let theirs = self.marked("--left-only", &["--no-merges"], target, &whole, &[])?;
        Ok(theirs.into_iter().find(|(mark, _)| *mark == '=').map(|(_, commit)| commit))
    }

    /// The best common ancestor of two commits.
    pub(super) fn merge_base(&self, one: &CommitId, other: &CommitId) -> Result<Option<CommitId>, GitError> {
        let answer = self.view.git(&["merge-base", one.as_str(), other.as_str()]).run()?;
        let text = String::from_utf8_lossy(&answer.stdout);
        text.lines().next().filter(|_| answer.code == Some(0)).map(CommitId::parse).transpose()
    }

    /// The commits of one side of a symmetric difference, newest first, each marked `=` if the other side has its change.
    fn marked(
        &self,
        side: &str,
        more: &[&str],
        left: &CommitId,
        right: &CommitId,
        without: &[&CommitId],
    ) -> Result<Vec<(char, CommitId)>, GitError> {
        let both = format!("{left}...{right}");
        let without: Vec<String> = without.iter().map(|commit| format!("^{commit}")).collect();
        let mut question = vec!["rev-list", "--cherry-mark", side];
        question.extend_from_slice(more);
        question.push(&both);
        question.extend(without.iter().map(String::as_str));
        let answer = self.view.git(&question).line()?;
        let marked = answer.lines().map(|line| {
            let mut characters = line.chars();
            let mark = characters.next().unwrap_or(' ');
            CommitId::parse(characters.as_str()).map(|commit| (mark, commit))
        });
        marked.collect()
    }
}
