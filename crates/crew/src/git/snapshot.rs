//! What is in a worktree, as a commit: snapshots under hidden refs, commits on the branch of the task, and parked work.
//!
//! Invariant: files are read into an index of our own, so neither the index nor HEAD nor the files of the worktree are touched
//! by a snapshot, and a lock that a killed git left does not stop it. Nothing in the worktree's index hides a change:
//! entries that are to be "assumed unchanged" are read anew. Repositories inside of the worktree are not entered, because
//! git would run in them with their configuration; they are named as left out.
//!
//! Order of a commit: the objects, then the branch, then the index. After a crash in between the next call finds no difference and
//! brings the index along.

use std::io::ErrorKind;
use std::path::Path;

use super::error::GitError;
use super::location::Head;
use super::names::{CommitId, branch_ref, hidden_ref, parts, shown};
use super::repository::{GitRepository, path_of_entry};
use super::view::failed;
use super::worktree::TaskWorktree;

/// What is in a worktree, as a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The commit; its parent is HEAD of the worktree.
    pub commit: CommitId,
    /// Repositories and unreadable files inside of the worktree, whose content is not in the commit.
    pub left_out: Vec<String>,
}

/// The branch of a task after everything in its worktree was committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed {
    /// The tip of the branch.
    pub tip: CommitId,
    /// Was there something to commit?
    pub is_new: bool,
    /// Repositories and unreadable files inside of the worktree, whose content is not in the commit.
    pub left_out: Vec<String>,
}

/// The files of a worktree as a tree.
pub(super) struct Files {
    pub(super) head: Head,
    pub(super) parent: Option<CommitId>,
    pub(super) tree: String,
    pub(super) left_out: Vec<String>,
}

impl GitRepository {
    /// Holds what is in a worktree, untracked files included and ignored ones not, with a hidden ref
    /// (`refs/callboard/…`), which is moved if it exists.
    ///
    /// # Errors
    ///
    /// When the name is refused, the worktree is gone or cannot be read.
    pub fn snapshot(&self, worktree: &TaskWorktree, ref_name: &str) -> Result<Snapshot, GitError> {
        let name = hidden_ref(ref_name)?;
        let snapshot = self.capture(worktree, "snapshot")?;
        self.set_hidden_ref(name, &snapshot.commit)?;
        Ok(snapshot)
    }

    /// Commits what the agent left uncommitted, untracked files included, on the branch of the task. If HEAD left the branch
    /// and contains it, the branch is moved to HEAD and HEAD put on it again.
    ///
    /// # Errors
    ///
    /// When HEAD left the branch and does not contain it, the index is locked, or the worktree cannot be read.
    pub fn commit_all(&self, worktree: &TaskWorktree, message: &str) -> Result<Committed, GitError> {
        let files = self.read_files(worktree)?;
        let name = worktree.branch_ref();
        let old = self.ref_state(&name)?.map(|state| state.commit);
        let is_on_branch = files.head == Head::On(name.clone());
        if let (false, Some(old), Some(parent)) = (is_on_branch, &old, &files.parent)
            && !self.is_ancestor(old, parent)?
        {
            let (task, branch) = (worktree.task().to_owned(), worktree.branch().to_owned());
            return Err(GitError::OffBranch { task, branch, head: parent.clone() });
        }
        let (tip, is_new) = match &files.parent {
            Some(parent) if self.tree_of(parent)? == files.tree => (parent.clone(), false),
            // A branch that the agent left without a commit goes on from the branch of the task.
            parent => {
                let parents = parent.iter().chain(old.iter().filter(|_| parent.is_none())).cloned().collect();
                (self.commit_tree(&files.tree, parents, message)?, true)
            }
        };
        if old.as_ref() != Some(&tip) {
            self.move_ref(&name, &tip, old.as_ref())?;
        }
        if !is_on_branch {
            set_head(worktree, &name)?;
        }
        self.bring_index_along(worktree, &tip)?;
        Ok(Committed { tip, is_new, left_out: files.left_out })
    }

    /// Keeps what is in a worktree on a branch, from where it survives the worktree. The branch of the task is not moved, unless
    /// it is the one that is named.
    ///
    /// # Errors
    ///
    /// When the name is refused, the branch exists and holds other work, or the worktree cannot be read.
    pub fn park(&self, worktree: &TaskWorktree, branch: &str) -> Result<Snapshot, GitError> {
        let name = branch_ref(branch)?;
        if name == worktree.branch_ref() {
            let committed =
                self.commit_all(worktree, &format!("callboard: work in progress on {}", worktree.task()))?;
            return Ok(Snapshot { commit: committed.tip, left_out: committed.left_out });
        }
        let files = self.read_files(worktree)?;
        let left_out = files.left_out.clone();
        if let Some(held) = self.ref_state(&name)? {
            let parents = self.read_commit(&held.commit)?.parents;
            let is_same = self.tree_of(&held.commit)? == files.tree
                && (files.parent.as_ref() == Some(&held.commit) || parents == Vec::from_iter(files.parent));
            return match is_same {
                true => Ok(Snapshot { commit: held.commit, left_out }),
                false => Err(GitError::BranchTaken { branch: branch.to_owned() }),
            };
        }
        let commit = self.as_commit(worktree, files, "work in progress")?;
        self.move_ref(&name, &commit, None)?;
        Ok(Snapshot { commit, left_out })
    }

    /// What is in a worktree, as a commit that no ref holds yet.
    pub(super) fn capture(&self, worktree: &TaskWorktree, what: &str) -> Result<Snapshot, GitError> {
        let files = self.read_files(worktree)?;
        let left_out = files.left_out.clone();
        Ok(Snapshot { commit: self.as_commit(worktree, files, what)?, left_out })
    }

    /// A commit of files; HEAD itself if they do not differ.
    fn as_commit(&self, worktree: &TaskWorktree, files: Files, what: &str) -> Result<CommitId, GitError> {
        match files.parent {
            Some(parent) if self.tree_of(&parent)? == files.tree => Ok(parent),
            parent => {
                let message = format!("callboard: {what} of {}", worktree.task());
                self.commit_tree(&files.tree, Vec::from_iter(parent), &message)
            }
        }
    }

    /// Reads the files of a worktree into a tree.
    pub(super) fn read_files(&self, worktree: &TaskWorktree) -> Result<Files, GitError> {
        let (head, parent) = self.worktree_head(worktree)?;
        let index = self.view.scratch();
        let read = self.read_into(worktree, parent.as_ref(), &index);
        std::fs::remove_file(&index).ok();
        let (tree, left_out) = read?;
        Ok(Files { head, parent, tree, left_out })
    }

    fn read_into(
        &self,
        worktree: &TaskWorktree,
        parent: Option<&CommitId>,
        index: &Path,
    ) -> Result<(String, Vec<String>), GitError> {
        let entries = match self.copy_index(worktree, index)? {
            Some(entries) => entries,
            None => {
                let tree = parent.map_or("--empty", CommitId::as_str);
                self.view.git(&["read-tree", tree]).index(index).ok()?;
                self.view.git(&["ls-files", "-s", "-z"]).index(index).ok()?
            }
        };
        let submodules = parts(&entries).filter(|entry| is_submodule(entry)).filter_map(path_of_entry);
        let mut nested: Vec<Vec<u8>> = submodules.map(<[u8]>::to_vec).collect();
        let question = ["ls-files", "--others", "--exclude-standard", "-z"];
        let others = self.view.git(&question).index(index).work_tree(worktree.path()).ok()?;
        // Another repository is shown as a directory.
        nested.extend(parts(&others).filter_map(|path| path.strip_suffix(b"/")).map(<[u8]>::to_vec));
        let unread = self.add_all(worktree, index, &nested)?;
        nested.extend(unread);
        let tree = self.view.git(&["write-tree"]).index(index).line()?;
        Ok((tree, nested.iter().map(|path| shown(path)).collect()))
    }

    /// Copies the index of a worktree, whose times spare reading every file, and lists its entries. None if there is none
    /// that can be read, or if it says that files are to be assumed unchanged.
    fn copy_index(&self, worktree: &TaskWorktree, copy: &Path) -> Result<Option<Vec<u8>>, GitError> {
        let index = worktree.index();
        if !index.symlink_metadata().is_ok_and(|found| found.is_file()) {
            return Ok(None);
        }
        match std::fs::copy(&index, copy) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            copied => copied.map_err(GitError::io("the index of the worktree cannot be read"))?,
        };
        let answer = self.view.git(&["ls-files", "-v", "-s", "-z"]).index(copy).run()?;
        let is_honest = answer.code == Some(0)
            && !answer.is_cut
            && parts(&answer.stdout).all(|entry| entry.first().is_some_and(u8::is_ascii_uppercase));
        if !is_honest {
            std::fs::remove_file(copy).ok();
        }
        Ok(is_honest.then_some(answer.stdout))
    }

    /// Adds all files to an index, but not what is in other repositories; gives the files that could not be read.
    fn add_all(
        &self,
        worktree: &TaskWorktree,
        index: &Path,
        nested: &[Vec<u8>],
    ) -> Result<Vec<Vec<u8>>, GitError> {
        let mut paths = b".".to_vec();
        for path in nested {
            paths.extend_from_slice(b"\0:(top,exclude,literal)");
            paths.extend_from_slice(path);
        }
        let add = |more: &[&str]| {
            // Files that a sparse checkout leaves out count only if they are there.
            let fixed = ["-c", "core.sparseCheckout=true", "add", "-A", "--sparse"];
            let from = ["--pathspec-from-file=-", "--pathspec-file-nul"];
            let arguments = [&fixed[..], more, &from[..]].concat();
            self.view.git(&arguments).index(index).work_tree(worktree.path()).stdin(paths.clone()).run()
        };
        let answer = add(&[])?;
        if answer.code == Some(0) {
            return Ok(Vec::new());
        }
        let is_unreadable =
            answer.stderr.contains("Permission denied") || answer.stderr.contains("unable to index");
        if !is_unreadable {
            return Err(failed("add".to_owned(), &answer));
        }
        add(&["--ignore-errors"])?;
        let question = ["ls-files", "-m", "-o", "--exclude-standard", "-z"];
        let unread = self.view.git(&question).index(index).work_tree(worktree.path()).ok()?;
        let is_nested =
            |path: &[u8]| nested.iter().any(|one| path.strip_suffix(b"/").unwrap_or(path) == one.as_slice());
        Ok(parts(&unread).filter(|path| !is_nested(path)).map(<[u8]>::to_vec).collect())
    }

    /// Makes the index of a worktree that of a commit; files are not touched.
    fn bring_index_along(&self, worktree: &TaskWorktree, tip: &CommitId) -> Result<(), GitError> {
        let index = worktree.index();
        if index.symlink_metadata().is_ok_and(|found| !found.is_file()) {
            return Err(GitError::InTheWay { task: worktree.task().to_owned(), path: index });
        }
        let tree = ["read-tree", "--reset", tip.as_str()];
        self.view.git(&tree).index(&index).work_tree(worktree.path()).ok()?;
        // It says no if a file differs, such as one that could not be read.
        let refresh = ["update-index", "--ignore-submodules", "--refresh"];
        self.view.git(&refresh).index(&index).work_tree(worktree.path()).answers_yes().map(|_| ())
    }
}

/// Is an entry of `ls-files --stage` a commit of another repository? Its mode is the first or the second word.
fn is_submodule(entry: &[u8]) -> bool {
    entry.split(|byte| *byte == b' ').take(2).any(|word| word == b"160000")
}

/// Puts HEAD of a worktree on a branch, as git does: a lock file that is renamed.
fn set_head(worktree: &TaskWorktree, name: &str) -> Result<(), GitError> {
    let lock = worktree.git_dir().join("HEAD.lock");
    let cannot = || GitError::io("HEAD of the worktree cannot be written");
    match std::fs::File::create_new(&lock) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Err(GitError::Locked { lock }),
        created => created.map_err(cannot())?,
    };
    let written = std::fs::write(&lock, format!("ref: {name}\n"));
    written.and_then(|()| std::fs::rename(&lock, worktree.git_dir().join("HEAD"))).map_err(cannot())
}
