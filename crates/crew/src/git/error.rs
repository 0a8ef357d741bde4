//! What can go wrong with git, each with what to do next.
//!
//! Invariant: a variant says which of the caller's next steps is open (wait, ask the user, give up), so nobody reads
//! messages of git to decide. Deliberately absent: conflicts, which are an answer and not an error.

use std::io;
use std::path::PathBuf;

use super::names::CommitId;

/// Why something could not be done with a repository.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// There is no git on the `PATH`.
    #[error("git is not installed")]
    NoGit,
    /// No repository here or above.
    #[error("{} is not a git repository", dir.display())]
    NotRepository {
        /// Where it was looked for.
        dir: PathBuf,
    },
    /// The repository has no branch with a commit.
    #[error("the repository has no commit")]
    NoCommit,
    /// The repository has submodules, or a commit would add one.
    #[error("the repository has submodules: {}", list(files))]
    Submodules {
        /// Some of their paths.
        files: Vec<String>,
    },
    /// Files have a filter in `.gitattributes`, such as Git LFS.
    #[error("files have the filter {filter:?} in .gitattributes: {}", list(files))]
    Filter {
        /// The name of the filter.
        filter: String,
        /// Some of the files.
        files: Vec<String>,
    },
    /// The repository uses something that is not supported.
    #[error("the repository uses {feature}, which is not supported")]
    Unsupported {
        /// What it uses.
        feature: &'static str,
    },
    /// Something may not be read or written.
    #[error("no permission for {}", path.display())]
    Permission {
        /// What.
        path: PathBuf,
    },
    /// HEAD is not on a branch, and no branch was named.
    #[error("HEAD is not on a branch")]
    DetachedHead,
    /// The name cannot be the name of a branch, a ref or a task.
    #[error("invalid name {name:?}: {why}")]
    Name {
        /// The name.
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// There is no such branch.
    #[error("there is no branch {branch:?}")]
    NoBranch {
        /// Its name.
        branch: String,
    },
    /// There is no such commit.
    #[error("there is no commit {commit}")]
    NoSuchCommit {
        /// Its id.
        commit: String,
    },
    /// The branch is another name of a branch.
    #[error("branch {branch:?} stands for {stands_for:?}")]
    SymbolicBranch {
        /// Its name.
        branch: String,
        /// The ref it stands for.
        stands_for: String,
    },
    /// The branch is not where it was expected.
    #[error("{branch} is not at {expected} any more")]
    Moved {
        /// The branch or ref.
        branch: String,
        /// Where it was expected.
        expected: CommitId,
        /// Where it is; nothing if it is gone.
        found: Option<CommitId>,
    },
    /// The update would drop commits from the branch.
    #[error("{new} does not contain the tip of {branch:?}, {old}")]
    NotForward {
        /// The branch.
        branch: String,
        /// Its tip.
        old: CommitId,
        /// What it was to be.
        new: CommitId,
    },
    /// Local changes in a checkout overlap with what would change.
    #[error("local changes in {} would be overwritten: {}", checkout.display(), list(files))]
    Overlap {
        /// The checkout.
        checkout: PathBuf,
        /// The files, all of them.
        files: Vec<String>,
    },
    /// A merge, rebase or the like is going on in a checkout of the branch.
    #[error("a {operation} is in progress in {}", checkout.display())]
    InProgress {
        /// The checkout.
        checkout: PathBuf,
        /// What is going on.
        operation: &'static str,
    },
    /// A checkout of the branch cannot be found, so it cannot be brought along.
    #[error("the checkout of {branch:?} at {} cannot be found", checkout.display())]
    CheckoutMissing {
        /// The branch.
        branch: String,
        /// Where it should be, or its git directory.
        checkout: PathBuf,
    },
    /// The worktree of a task would be in a checkout or in a git directory.
    #[error("{} is inside of {}", root.display(), inside.display())]
    RootInside {
        /// Where worktrees should be made.
        root: PathBuf,
        /// The checkout or git directory.
        inside: PathBuf,
    },
    /// The place of a task's worktree is taken by something else.
    #[error("{} is in the way of the worktree of task {task}", path.display())]
    InTheWay {
        /// The task.
        task: String,
        /// What is in the way.
        path: PathBuf,
    },
    /// The worktree is not (or not any more) what git has recorded.
    #[error("{} is not a worktree of task {task}: {why}", path.display())]
    NotWorktree {
        /// The task.
        task: String,
        /// The directory.
        path: PathBuf,
        /// What does not fit.
        why: &'static str,
    },
    /// The worktree's HEAD has left the branch of the task, and the branch has commits that HEAD has not.
    #[error("the worktree of task {task} is at {head}, which does not contain its branch {branch:?}")]
    OffBranch {
        /// The task.
        task: String,
        /// The branch of the task.
        branch: String,
        /// Where HEAD is.
        head: CommitId,
    },
    /// The branch exists and holds something else.
    #[error("branch {branch:?} exists and holds other work")]
    BranchTaken {
        /// The branch.
        branch: String,
    },
    /// The worktree holds work that no ref holds.
    #[error("the worktree of task {task} holds work that no branch holds: {}", list(files))]
    Unsaved {
        /// The task.
        task: String,
        /// What is not held: files, or commits.
        files: Vec<String>,
    },
    /// Another git process, or one that was killed, holds a lock.
    #[error("{} exists, so another git process seems to be running", lock.display())]
    Locked {
        /// The lock file.
        lock: PathBuf,
    },
    /// Another callboard process has been working on the repository for too long.
    #[error("another callboard process is working on the repository")]
    Busy,
    /// Git took too long and was ended.
    #[error("git {command} took longer than {limit_s} s")]
    TooSlow {
        /// The git command.
        command: String,
        /// The limit, in seconds.
        limit_s: u64,
    },
    /// Git said more than is read.
    #[error("git {command} said more than {bytes} bytes")]
    TooLong {
        /// The git command.
        command: String,
        /// The limit.
        bytes: usize,
    },
    /// Git refused for another reason.
    #[error("git {command}: {said}")]
    Failed {
        /// The git command.
        command: String,
        /// What git said.
        said: String,
    },
    /// A checkout could not be taken back to where it was after the branch could not be moved.
    #[error("{} has the new files, but branch {branch:?} was not moved: {said}", checkout.display())]
    HalfPublished {
        /// The checkout.
        checkout: PathBuf,
        /// The branch.
        branch: String,
        /// What went wrong.
        said: String,
    },
    /// A file could not be read or written.
    #[error("{what}")]
    Io {
        /// What was done, and with what.
        what: String,
        /// Why it failed.
        source: io::Error,
    },
}

impl GitError {
    /// What to do next, as a sentence for the user.
    #[must_use]
    pub fn help(&self) -> &'static str {
        match self {
            Self::NoGit => "Install git 2.38 or later and make sure that it is on the PATH.",
            Self::NotRepository { .. } => "Run this in a git repository, or make one with `git init`.",
            Self::NoCommit => "Make a first commit, for example `git commit --allow-empty -m start`.",
            Self::Submodules { .. } => {
                "Tasks cannot work on repositories with submodules; use a repository without, or run agents one by one."
            }
            Self::Filter { .. } => {
                "Callboard does not run filters such as Git LFS; remove the filter from .gitattributes or use another repository."
            }
            Self::Unsupported { .. } => "Use a full clone with the default ref storage (`git clone`).",
            Self::Permission { .. } => "Give the user that runs callboard access to it, or run as its owner.",
            Self::DetachedHead => "Check out a branch, or name the branch that tasks start from.",
            Self::Name { .. } => "Choose a name of letters, digits, '-', '_', '.' and '/'.",
            Self::NoBranch { .. } => "`git branch` lists the branches; create it, or name another.",
            Self::NoSuchCommit { .. } => "The commit was removed from the repository; start the task afresh.",
            Self::SymbolicBranch { .. } => "Name the branch that it stands for.",
            Self::Moved { .. } => "Somebody moved it meanwhile; read it again, rebase and retry.",
            Self::NotForward { .. } => "Rebase or merge onto the tip of the branch first.",
            Self::Overlap { .. } => "Commit, stash or remove these changes, then retry.",
            Self::InProgress { .. } => "Finish or abort it, then retry.",
            Self::CheckoutMissing { .. } => {
                "Mount or restore the checkout, or remove it with `git worktree remove`, then retry."
            }
            Self::RootInside { .. } => "Choose a directory for worktrees outside of the repository.",
            Self::InTheWay { .. } => "Move it away, then retry.",
            Self::NotWorktree { .. } => "Save what you need from the directory and start the task afresh.",
            Self::OffBranch { .. } => "Park the worktree on another branch, or start the task afresh.",
            Self::BranchTaken { .. } => "Choose another name for the branch.",
            Self::Unsaved { .. } => "Park the worktree on a branch first, or discard it explicitly.",
            Self::Locked { .. } => {
                "Wait for the other git process; if there is none, remove the lock file and retry."
            }
            Self::Busy => "Retry in a moment.",
            Self::TooSlow { .. } => {
                "Retry when the machine is less busy; very large files in the worktree are slow."
            }
            Self::TooLong { .. } => "The change has too many files to work with.",
            Self::Failed { .. } => "Run `git fsck`, and read what git says.",
            Self::HalfPublished { .. } => {
                "Your changes are untouched; the new files are staged. `git status` shows them, and publishing again finishes."
            }
            Self::Io { .. } => "Check free space and permissions, then retry.",
        }
    }

    pub(super) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        |source| Self::Io { what: what.into(), source }
    }
}

/// Names for a message; a few of them, with how many more there are.
fn list(names: &[String]) -> String {
    const SHOWN: usize = 8;
    let shown: Vec<&str> = names.iter().take(SHOWN).map(String::as_str).collect();
    match names.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_a_few_and_counts_the_rest() {
        let files: Vec<String> = (0..10).map(|number| format!("f{number}")).collect();
        let error = GitError::Submodules { files };
        assert_eq!(
            error.to_string(),
            "the repository has submodules: f0, f1, f2, f3, f4, f5, f6, f7 and 2 more"
        );
        assert!(error.help().ends_with('.'));
    }
}
