//! A repository with a checkout, and a directory for worktrees beside it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use callboard_crew::git::{Attempt, CommitId, GitRepository, TaskWorktree};
use tempfile::TempDir;

pub(crate) struct Place {
    dir: TempDir,
}

impl Place {
    /// A repository with one commit on `main`.
    pub(crate) fn new() -> Self {
        let place = Self::empty();
        place.write("a.txt", "one\ntwo\nthree\nfour\nfive\n");
        place.write("b.txt", "b\n");
        place.write(".gitignore", "*.ignored\n");
        place.git(&["add", "."]);
        place.git(&["commit", "-q", "-m", "start"]);
        place
    }

    /// A repository without a commit.
    pub(crate) fn empty() -> Self {
        let place = Self { dir: tempfile::tempdir().expect("a temporary directory") };
        std::fs::create_dir(place.top()).expect("a directory");
        place.git(&["init", "-q", "-b", "main"]);
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().expect("it is there").join(name)
    }

    pub(crate) fn top(&self) -> PathBuf {
        self.path("checkout")
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.path("worktrees")
    }

    pub(crate) fn open(&self) -> GitRepository {
        GitRepository::open(&self.top()).expect("it opens")
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        git(&self.top(), arguments)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        write(&self.top(), name, text);
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.top().join(name)).unwrap_or_else(|error| format!("<{error}>"))
    }

    /// The commit that a revision is.
    pub(crate) fn commit(&self, revision: &str) -> CommitId {
        CommitId::parse(&self.git(&["rev-parse", "--verify", revision])).expect("a commit")
    }

    /// Writes a file and commits it in the checkout.
    pub(crate) fn commit_file(&self, name: &str, text: &str, message: &str) -> CommitId {
        commit_file(&self.top(), name, text, message)
    }

    /// A worktree of a task that starts from `main`.
    pub(crate) fn worktree(&self, repository: &GitRepository, task: &str) -> TaskWorktree {
        let base = repository.base(Some("main")).expect("a base");
        repository.worktree(task, &base.commit, &self.root(), Attempt::Continue).expect("a worktree")
    }

    /// What `git status` shows in the checkout.
    pub(crate) fn status(&self) -> String {
        self.git(&["status", "--porcelain"])
    }

    /// A commit with these files on top of another, without touching a checkout of the user.
    pub(crate) fn side_commit(&self, parent: &CommitId, files: &[(&str, Option<&str>)]) -> CommitId {
        let dir = self.path("side");
        self.git(&["worktree", "add", "-q", "--detach", dir.to_str().expect("text"), parent.as_str()]);
        for (name, text) in files {
            match text {
                Some(text) => write(&dir, name, text),
                None => std::fs::remove_file(dir.join(name)).expect("it is there"),
            }
        }
        git(&dir, &["add", "-A", "-f"]);
        git(&dir, &["commit", "-q", "-m", "side"]);
        let commit = CommitId::parse(&git(&dir, &["rev-parse", "HEAD"])).expect("a commit");
        self.git(&["worktree", "remove", "--force", dir.to_str().expect("text")]);
        commit
    }
}

/// Writes a file, and the directories it is in.
pub(crate) fn write(dir: &Path, name: &str, text: &str) {
    let path = dir.join(name);
    std::fs::create_dir_all(path.parent().expect("it has one")).expect("a directory");
    std::fs::write(path, text).expect("it is written");
}

pub(crate) fn commit_file(dir: &Path, name: &str, text: &str, message: &str) -> CommitId {
    write(dir, name, text);
    git(dir, &["add", "-A"]);
    git(dir, &["commit", "-q", "-m", message]);
    CommitId::parse(&git(dir, &["rev-parse", "HEAD"])).expect("a commit")
}

/// Git as a user runs it, with an author and without this machine's configuration; it must succeed.
pub(crate) fn git(dir: &Path, arguments: &[&str]) -> String {
    let output = try_git(dir, arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {arguments:?} in {}: {said}", dir.display());
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

pub(crate) fn try_git(dir: &Path, arguments: &[&str]) -> Output {
    Command::new("git")
        .args(["-c", "user.name=Tess", "-c", "user.email=tess@example.org", "-c", "commit.gpgSign=false"])
        .args(arguments)
        .current_dir(dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .output()
        .expect("git is installed")
}
