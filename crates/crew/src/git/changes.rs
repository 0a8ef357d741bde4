//! What changed between two commits: the files, and the text of the difference.
//!
//! Invariant: only commits are compared, so nothing in a worktree can influence the answer. Programs that would prepare a
//! difference (external diff, textconv) are not run, and the text has a bound.

pub(super) mod file_patches;

use super::error::GitError;
use super::names::{CommitId, hidden_ref, parts, shown};
use super::repository::GitRepository;

/// A file that differs between two commits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFile {
    /// Its path; bytes that are not UTF-8 are replaced.
    pub path: String,
    /// How it differs.
    pub kind: ChangeKind,
}

/// How a file differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// It is only in the second commit.
    Added,
    /// It is only in the first commit.
    Deleted,
    /// It has another content, mode or type.
    Modified,
    /// It had another path.
    Renamed {
        /// Its path in the first commit.
        from: String,
    },
}

/// The text of a difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diff {
    /// A patch; bytes that are not UTF-8 are replaced.
    pub text: String,
    /// Was the end left out, because it is longer than asked for?
    pub is_cut: bool,
}

/// An entry of a tree: its mode and its object. An entry that is not there has a mode of zeros.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TreeEntry {
    pub(super) mode: String,
    pub(super) object: String,
}

impl TreeEntry {
    pub(super) fn is_there(&self) -> bool {
        self.mode != "000000"
    }

    /// Is it a commit of another repository?
    pub(super) fn is_submodule(&self) -> bool {
        self.mode == "160000"
    }
}

/// A path whose entry differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EntryChange {
    pub(super) path: Vec<u8>,
    pub(super) old: TreeEntry,
    pub(super) new: TreeEntry,
}

impl GitRepository {
    /// The difference between two commits as a patch, of at most so many bytes.
    ///
    /// # Errors
    ///
    /// When git fails, such as for a commit that is not there.
    pub fn diff(&self, from: &CommitId, to: &CommitId, bytes_max: usize) -> Result<Diff, GitError> {
        let question =
            ["diff-tree", "-r", "-p", "-M", "--no-ext-diff", "--no-textconv", "--no-color", "--full-index"];
        self.compare(&question, from, to, bytes_max)
    }

    /// How many lines differ in each file, for people, of at most so many bytes.
    ///
    /// # Errors
    ///
    /// When git fails, such as for a commit that is not there.
    pub fn diff_stat(&self, from: &CommitId, to: &CommitId, bytes_max: usize) -> Result<Diff, GitError> {
        let question = ["diff-tree", "-r", "-M", "--stat=80", "--no-ext-diff", "--no-textconv", "--no-color"];
        self.compare(&question, from, to, bytes_max)
    }

    fn compare(
        &self,
        question: &[&str],
        from: &CommitId,
        to: &CommitId,
        bytes_max: usize,
    ) -> Result<Diff, GitError> {
        let mut arguments = question.to_vec();
        arguments.extend([from.as_str(), to.as_str()]);
        let answer = self.view.git(&arguments).answer_max(bytes_max).run()?;
        match answer.code {
            Some(0) => {}
            Some(_) | None if answer.is_cut => {}
            Some(_) | None => return Err(super::view::failed("diff-tree".to_owned(), &answer)),
        }
        Ok(Diff { text: shown(&answer.stdout), is_cut: answer.is_cut })
    }

    /// The commit that a merge commit put something on top of, if its message has this line.
    ///
    /// # Errors
    ///
    /// When git fails, such as for a commit that is not there.
    pub fn merged_onto(&self, merge: &CommitId, line: &str) -> Result<Option<CommitId>, GitError> {
        let commit = self.read_commit(merge)?;
        let is_it = String::from_utf8_lossy(&commit.message).lines().any(|own| own == line);
        Ok(commit.parents.first().filter(|_| is_it).cloned())
    }

    /// The commit that a hidden ref (`refs/callboard/…`) holds.
    ///
    /// # Errors
    ///
    /// When the name is refused or git fails.
    pub fn hidden_commit(&self, name: &str) -> Result<Option<CommitId>, GitError> {
        Ok(self.ref_state(hidden_ref(name)?)?.map(|state| state.commit))
    }

    /// The files that differ between two commits, sorted by path.
    ///
    /// # Errors
    ///
    /// When git fails, such as for a commit that is not there.
    pub fn changed_files(&self, from: &CommitId, to: &CommitId) -> Result<Vec<ChangedFile>, GitError> {
        let question = ["diff-tree", "-r", "-z", "-M", "--name-status", from.as_str(), to.as_str()];
        let answer = self.view.git(&question).ok()?;
        let mut words = parts(&answer);
        let mut changed = Vec::new();
        while let (Some(status), Some(path)) = (words.next(), words.next()) {
            let first = shown(path);
            changed.push(match status.first() {
                Some(b'A') => ChangedFile { path: first, kind: ChangeKind::Added },
                Some(b'D') => ChangedFile { path: first, kind: ChangeKind::Deleted },
                Some(b'R') => {
                    let path = words.next().map(shown).unwrap_or_default();
                    ChangedFile { path, kind: ChangeKind::Renamed { from: first } }
                }
                Some(_) | None => ChangedFile { path: first, kind: ChangeKind::Modified },
            });
        }
        changed.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(changed)
    }

    /// Do two commits differ in any file?
    ///
    /// # Errors
    ///
    /// When git fails, such as for a commit that is not there.
    pub fn is_changed(&self, base: &CommitId, tip: &CommitId) -> Result<bool, GitError> {
        Ok(self.tree_of(base)? != self.tree_of(tip)?)
    }

    /// The entries that differ between two commits or trees, without looking for renames.
    pub(super) fn entry_changes(&self, from: &str, to: &str) -> Result<Vec<EntryChange>, GitError> {
        let question = ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", from, to];
        Ok(raw_changes(&self.view.git(&question).ok()?))
    }
}

/// Reads the raw form of a difference: `:mode mode object object status` and a path.
pub(super) fn raw_changes(answer: &[u8]) -> Vec<EntryChange> {
    let mut words = parts(answer);
    let mut changes = Vec::new();
    while let (Some(head), Some(path)) = (words.next(), words.next()) {
        let head = String::from_utf8_lossy(head);
        let mut fields = head.trim_start_matches(':').split(' ').map(str::to_owned);
        let mut field = || fields.next().unwrap_or_default();
        let (old_mode, new_mode, old_object, new_object) = (field(), field(), field(), field());
        changes.push(EntryChange {
            path: path.to_owned(),
            old: TreeEntry { mode: old_mode, object: old_object },
            new: TreeEntry { mode: new_mode, object: new_object },
        });
    }
    changes
}
