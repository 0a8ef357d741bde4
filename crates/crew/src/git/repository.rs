//! A repository that tasks work on: opened, screened for what cannot be supported, and its base branch.
//!
//! Invariant: what is opened can be worked on without running a program that the repository names: it has no submodules and no
//! filters. The screening reads the commit and not the checkout, so nothing that lies around changes the answer.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{Access, OFlags, access};

use super::error::GitError;
use super::location::{Head, Location, head};
use super::names::{CommitId, HEADS, branch_ref, parts, shown};
use super::view::{Sparse, View};

/// How many files an error names that is about a property of the repository.
const NAMED_MAX: usize = 20;
/// How long another callboard process is waited for.
const BUSY_WAIT: Duration = Duration::from_secs(30);
const BUSY_PAUSE: Duration = Duration::from_millis(20);
/// The file whose lock says that a callboard process makes, removes or publishes something.
const LOCK_FILE: &str = "callboard.lock";

/// A git repository.
///
/// It is cheap to open and is meant to be opened for one piece of work: it holds a private directory with a copy of the
/// few settings that matter.
#[derive(Debug)]
pub struct GitRepository {
    pub(super) location: Location,
    pub(super) view: View,
}

/// What a task starts from, and what it is merged into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base {
    /// The name of the branch, without `refs/heads/`.
    pub branch: String,
    /// Its tip.
    pub commit: CommitId,
}

impl GitRepository {
    /// Opens the repository that a directory belongs to.
    ///
    /// # Errors
    ///
    /// When there is none, it has no commit, or it has something that is not supported: submodules, filters such as Git LFS,
    /// a partial clone, or reftable.
    pub fn open(dir: &Path) -> Result<Self, GitError> {
        let dir = dir.canonicalize().map_err(|error| {
            let (is_closed, dir) = (error.kind() == ErrorKind::PermissionDenied, dir.to_owned());
            if is_closed { GitError::Permission { path: dir } } else { GitError::NotRepository { dir } }
        })?;
        let location = Location::find(&dir).ok_or_else(|| not_found(&dir))?;
        let common = &location.common;
        if common.join("reftable").exists() {
            return Err(GitError::Unsupported { feature: "reftable" });
        }
        for path in [common.clone(), common.join("objects"), common.join("refs")] {
            if access(&path, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK).is_err() {
                return Err(GitError::Permission { path });
            }
        }
        if is_partial(common) {
            return Err(GitError::Unsupported { feature: "a partial clone" });
        }
        let view = View::new(common, common, Sparse::Ignored)?;
        let repository = Self { location, view };
        match repository.head_commit()? {
            Some(commit) => repository.screen(&commit)?,
            None if repository.has_branches()? => {}
            None => return Err(GitError::NoCommit),
        }
        Ok(repository)
    }

    /// The root of the checkout; none for a bare repository.
    #[must_use]
    pub fn top(&self) -> Option<&Path> {
        self.location.top.as_deref()
    }

    /// The git directory that all checkouts share.
    #[must_use]
    pub fn common_dir(&self) -> &Path {
        &self.location.common
    }

    /// The branch that tasks start from: the one that is named, or the one that HEAD is on.
    ///
    /// # Errors
    ///
    /// When the name is refused, there is no such branch, HEAD is on none, or its tip cannot be worked on.
    pub fn base(&self, branch: Option<&str>) -> Result<Base, GitError> {
        let name = match branch {
            Some(name) => branch_ref(name)?,
            None => match head(&self.location.git_dir) {
                Some(Head::On(name)) if name.starts_with(HEADS) => branch_ref(&name)?,
                Some(Head::On(_) | Head::At(_)) | None => return Err(GitError::DetachedHead),
            },
        };
        let branch = name[HEADS.len()..].to_owned();
        let state = self.ref_state(&name)?.ok_or_else(|| GitError::NoBranch { branch: branch.clone() })?;
        if let Some(stands_for) = state.stands_for {
            return Err(GitError::SymbolicBranch { branch, stands_for });
        }
        self.screen(&state.commit)?;
        Ok(Base { branch, commit: state.commit })
    }

    /// The commit that HEAD of the opened checkout is at.
    fn head_commit(&self) -> Result<Option<CommitId>, GitError> {
        match head(&self.location.git_dir) {
            Some(Head::On(name)) => Ok(self.ref_state(&name)?.map(|state| state.commit)),
            Some(Head::At(commit)) => Ok(Some(commit)),
            None => Ok(None),
        }
    }

    fn has_branches(&self) -> Result<bool, GitError> {
        Ok(!self.view.git(&["for-each-ref", "--count=1", "refs/heads"]).ok()?.is_empty())
    }

    /// Refuses a commit that has submodules or files with a filter.
    pub(super) fn screen(&self, commit: &CommitId) -> Result<(), GitError> {
        let index = self.view.scratch();
        // Beside an empty directory of files, attributes are read from the index.
        self.view.git(&["read-tree", commit.as_str()]).index(&index).ok()?;
        let staged = self.view.git(&["ls-files", "-s", "-z"]).index(&index).ok()?;
        let submodules = parts(&staged).filter(|entry| entry.starts_with(b"160000 "));
        let files: Vec<String> = submodules.filter_map(path_of_entry).take(NAMED_MAX).map(shown).collect();
        let filtered = match files.is_empty() {
            true => self.filtered(&index),
            false => Err(GitError::Submodules { files }),
        };
        std::fs::remove_file(&index).ok();
        filtered
    }

    fn filtered(&self, index: &Path) -> Result<(), GitError> {
        let question = ["ls-files", "-z", "--", ":(top,exclude,attr:!filter)"];
        let answer = self.view.git(&question).index(index).ok()?;
        let names: Vec<&[u8]> = parts(&answer).collect();
        if names.is_empty() {
            return Ok(());
        }
        let mut input = names.join(&0);
        input.push(0);
        let question = ["check-attr", "--cached", "-z", "--stdin", "filter"];
        let answer = self.view.git(&question).index(index).stdin(input).ok()?;
        let words: Vec<&[u8]> = parts(&answer).collect();
        // Path, attribute and value, for each path.
        let is_filter = |words: &&[&[u8]]| !matches!(words[2], b"unset" | b"unspecified");
        let found: Vec<&[&[u8]]> = words.chunks_exact(3).filter(is_filter).collect();
        match found.first() {
            None => Ok(()),
            Some(first) => Err(GitError::Filter {
                filter: shown(first[2]),
                files: found.iter().take(NAMED_MAX).map(|words| shown(words[0])).collect(),
            }),
        }
    }

    /// Keeps other callboard processes from making, removing and publishing until it is dropped.
    pub(super) fn lock(&self) -> Result<File, GitError> {
        let path = self.location.common.join(LOCK_FILE);
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
        let opened = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(flags)
            .open(&path);
        let file = opened.map_err(GitError::io(format!("{} cannot be opened", path.display())))?;
        let deadline = Instant::now() + BUSY_WAIT;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => std::thread::sleep(BUSY_PAUSE),
                Err(TryLockError::WouldBlock) => return Err(GitError::Busy),
                Err(TryLockError::Error(error)) => {
                    return Err(GitError::io(format!("{} cannot be locked", path.display()))(error));
                }
            }
        }
    }
}

/// The path of an entry of `ls-files --stage`.
pub(super) fn path_of_entry(entry: &[u8]) -> Option<&[u8]> {
    let tab = entry.iter().position(|byte| *byte == b'\t')?;
    entry.get(tab + 1..)
}

/// Why nothing was found: there is nothing, or it may not be entered.
fn not_found(dir: &Path) -> GitError {
    let closed = |path: &PathBuf| {
        let entered = std::fs::read_dir(path);
        entered.is_err_and(|error| error.kind() == ErrorKind::PermissionDenied)
    };
    match dir.ancestors().map(|at| at.join(".git")).find(closed) {
        Some(path) => GitError::Permission { path },
        None => GitError::NotRepository { dir: dir.to_owned() },
    }
}

/// Are objects left with a remote, from where they would have to be fetched?
fn is_partial(common: &Path) -> bool {
    let packs = std::fs::read_dir(common.join("objects/pack")).into_iter().flatten().flatten();
    packs.into_iter().any(|entry| entry.path().extension().is_some_and(|ending| ending == "promisor"))
}
