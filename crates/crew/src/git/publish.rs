//! Moves a branch to a new commit, and the checkouts of the branch with it.
//!
//! Order, and what a crash leaves:
//! 1. Every checkout of the branch is checked; a local change that overlaps ends it here, and nothing has happened.
//! 2. The branch is locked where it is expected to be, by a transaction of `git update-ref` that is kept open. Nobody commits
//!    on the branch from here on. If we die, git sees the end of its input, gives the lock up and changes nothing.
//! 3. The checkouts are brought along. After a crash here the branch is at its old commit and a checkout has the new files,
//!    staged or as files with the new content. No local change is touched. Publishing again finds these files to be what they
//!    should be, and finishes; a user who commits instead commits the new work, and does not undo it.
//! 4. The transaction is committed. Only this makes the work part of the branch.
//!
//! The other order would leave a branch with new work and a checkout with old files, in which the next commit of the
//! user silently takes the work out again.
//!
//! Deliberately absent: moving a branch to a commit that does not contain its tip.

use std::path::PathBuf;

use super::checkout::{Checkout, Plan};
use super::error::GitError;
use super::names::{CommitId, HEADS, branch_ref, shown};
use super::repository::GitRepository;
use super::runner::Conversation;

/// A branch that was moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Published {
    /// Its tip.
    pub commit: CommitId,
    /// The checkouts that were brought along.
    pub checkouts: Vec<PathBuf>,
}

impl GitRepository {
    /// Moves a branch from the commit where it is expected to one that contains it, with all checkouts of the branch. Called again
    /// after it succeeded, it succeeds and does nothing.
    ///
    /// # Errors
    ///
    /// When the branch is elsewhere ([`GitError::Moved`]), a local change overlaps ([`GitError::Overlap`]), or the new commit
    /// has submodules or filters. Then nothing has happened.
    pub fn publish(&self, branch: &str, expected: &CommitId, new: &CommitId) -> Result<Published, GitError> {
        let name = branch_ref(branch)?;
        let branch = &name[HEADS.len()..];
        if branch.starts_with("callboard/") {
            return Err(GitError::Name { name: branch.to_owned(), why: "it is the branch of a task" });
        }
        let _lock = self.lock()?;
        let state = self.ref_state(&name)?.ok_or_else(|| GitError::NoBranch { branch: branch.to_owned() })?;
        if let Some(stands_for) = state.stands_for {
            return Err(GitError::SymbolicBranch { branch: branch.to_owned(), stands_for });
        }
        if state.commit == *new {
            return Ok(Published { commit: new.clone(), checkouts: Vec::new() });
        }
        if state.commit != *expected {
            let (branch, found) = (branch.to_owned(), Some(state.commit));
            return Err(GitError::Moved { branch, expected: expected.clone(), found });
        }
        self.existing(new)?;
        if !self.is_ancestor(expected, new)? {
            let branch = branch.to_owned();
            return Err(GitError::NotForward { branch, old: expected.clone(), new: new.clone() });
        }
        self.screen(new)?;
        self.publish_checked(&name, expected, new)
    }

    fn publish_checked(&self, name: &str, old: &CommitId, new: &CommitId) -> Result<Published, GitError> {
        let changes = self.entry_changes(old.as_str(), new.as_str())?;
        if let Some(change) = changes.iter().find(|change| change.new.is_submodule()) {
            return Err(GitError::Submodules { files: vec![shown(&change.path)] });
        }
        let checkouts = self.checkouts_of(name)?;
        let checked: Result<Vec<(Checkout, Plan)>, GitError> = checkouts
            .into_iter()
            .map(|checkout| checkout.check(old, new, &changes).map(|plan| (checkout, plan)))
            .collect();
        let checked = checked?;
        let mut transaction = self.lock_branch(name, old, new)?;
        for (at, (checkout, plan)) in checked.iter().enumerate() {
            if let Err(error) = checkout.bring(plan, old, new) {
                return Err(take_back(&checked[..at], name, old, new, error));
            }
        }
        if let Err(said) = transaction.say("commit\n") {
            drop(transaction);
            // The answer may be lost and the branch moved all the same.
            if self.ref_state(name)?.is_none_or(|state| state.commit != *new) {
                let otherwise = GitError::Failed { command: "update-ref".to_owned(), said: said.clone() };
                let error = self.not_moved(name, Some(old), &said, otherwise);
                return Err(take_back(&checked, name, old, new, error));
            }
        }
        let checkouts = checked.into_iter().map(|(checkout, _)| checkout.top).collect();
        Ok(Published { commit: new.clone(), checkouts })
    }

    /// A transaction that holds the lock of a branch and would move it.
    fn lock_branch(&self, name: &str, old: &CommitId, new: &CommitId) -> Result<Conversation, GitError> {
        let question = ["update-ref", "--no-deref", "-m", "callboard: publish", "--stdin"];
        let mut transaction = self.view.git(&question).converse()?;
        let prepared = transaction
            .say("start\n")
            .and_then(|_| transaction.say(&format!("update {name} {new} {old}\nprepare\n")));
        match prepared {
            Ok(answer) if answer == "prepare: ok" => Ok(transaction),
            Ok(said) | Err(said) => {
                let otherwise = GitError::Failed { command: "update-ref".to_owned(), said: said.clone() };
                Err(self.not_moved(name, Some(old), &said, otherwise))
            }
        }
    }
}

/// Takes checkouts back to the old commit, and gives the error that made it necessary, or a worse one.
fn take_back(
    brought: &[(Checkout, Plan)],
    name: &str,
    old: &CommitId,
    new: &CommitId,
    error: GitError,
) -> GitError {
    for (checkout, _) in brought {
        if let Err(worse) = checkout.take_back(old, new) {
            let (checkout, said) = (checkout.top.clone(), format!("{error}; {worse}"));
            return GitError::HalfPublished { checkout, branch: name.to_owned(), said };
        }
    }
    error
}
