//! Checkouts of a branch that is published: found, checked for local changes, and brought along.
//!
//! Invariant: a file with a local change, staged or not, and a file that git does not track, ignored or not, is never written
//! to. That is checked here for every path that changes, because git overwrites ignored files; then git checks again. A file
//! that has the new content already is no obstacle: a checkout that was interrupted can be finished. As with
//! `git reset --keep`, a deleted file is no local change; other than with it, what is staged stays staged.
//!
//! A checkout counts only if it and its git directory name each other. An agent can write the files of its own git
//! directory, and would otherwise have files written wherever it likes.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::changes::{EntryChange, TreeEntry, raw_changes};
use super::error::GitError;
use super::location::{Head, head, pointer, small_file};
use super::names::{CommitId, below, parts, shown};
use super::repository::GitRepository;
use super::view::{Sparse, View};
use super::worktree::is_of_a_task;

/// Files of a directory that are looked at, if a file takes its place.
const OBSTACLES_MAX: usize = 10_000;

/// A checkout of a branch.
pub(super) struct Checkout {
    pub(super) top: PathBuf,
    git_dir: PathBuf,
    view: View,
}

/// What must be told to an index before it is moved: files that have the new content already.
pub(super) struct Plan(Vec<u8>);

impl GitRepository {
    /// The checkouts of a branch, by its full name; those of tasks do not count.
    pub(super) fn checkouts_of(&self, name: &str) -> Result<Vec<Checkout>, GitError> {
        let common = &self.location.common;
        let on = Head::On(name.to_owned());
        let mut found = Vec::new();
        for git_dir in self.admins().into_iter().filter(|admin| !is_of_a_task(admin)).chain([common.clone()])
        {
            let is_main = git_dir == *common;
            let is_on = head(&git_dir).as_ref() == Some(&on);
            let top = if is_main { self.main_top() } else { linked_top(&git_dir) };
            let place = || top.clone().unwrap_or_else(|| git_dir.clone());
            if let Some(operation) = operation_on(&git_dir, name, is_on) {
                return Err(GitError::InProgress { checkout: place(), operation });
            }
            if !is_on || !git_dir.join("index").exists() {
                continue;
            }
            match top {
                Some(top) => {
                    let view = View::new(common, &git_dir, Sparse::Kept)?;
                    found.push(Checkout { top, git_dir, view });
                }
                // Git would prune it.
                None if !is_main && !git_dir.join("locked").exists() => {}
                None => return Err(GitError::CheckoutMissing { branch: name.to_owned(), checkout: git_dir }),
            }
        }
        Ok(found)
    }

    /// The root of the main checkout.
    fn main_top(&self) -> Option<PathBuf> {
        let common = &self.location.common;
        match self.location.git_dir == *common {
            true => self.location.top.clone(),
            false => common.parent().filter(|_| common.ends_with(".git")).map(Path::to_owned),
        }
    }
}

/// The root of a linked worktree that names its git directory in turn.
fn linked_top(admin: &Path) -> Option<PathBuf> {
    let dot_git = admin.join(pointer(&admin.join("gitdir"), b"")?);
    let top = dot_git.parent()?.canonicalize().ok()?;
    let named = top.join(pointer(&top.join(".git"), b"gitdir: ")?).canonicalize().ok()?;
    (named == *admin).then_some(top)
}

/// What is going on in a checkout that will move the branch or HEAD itself.
fn operation_on(git_dir: &Path, name: &str, is_on: bool) -> Option<&'static str> {
    let is_rebased = ["rebase-merge", "rebase-apply"].iter().any(|dir| {
        let rebased = small_file(&git_dir.join(dir).join("head-name"), 4096);
        rebased.is_some_and(|text| text.trim_ascii_end() == name.as_bytes())
    });
    let operations =
        [("MERGE_HEAD", "merge"), ("CHERRY_PICK_HEAD", "cherry-pick"), ("REVERT_HEAD", "revert")];
    let under_way = operations.iter().find(|(file, _)| is_on && git_dir.join(file).exists());
    under_way.map(|(_, operation)| *operation).or(is_rebased.then_some("rebase"))
}

impl Checkout {
    fn index(&self) -> PathBuf {
        self.git_dir.join("index")
    }

    /// Finds out whether the checkout can be brought from one commit to another; nothing is written.
    pub(super) fn check(
        &self,
        old: &CommitId,
        new: &CommitId,
        changes: &[EntryChange],
    ) -> Result<Plan, GitError> {
        let index = self.index();
        if !index.symlink_metadata().is_ok_and(|found| found.is_file()) {
            return Err(GitError::Permission { path: index });
        }
        let copy = self.view.scratch();
        std::fs::copy(&index, &copy).map_err(GitError::io(format!("{} cannot be read", index.display())))?;
        self.refresh(&copy)?;
        if !self.view.git(&["ls-files", "-u", "-z"]).index(&copy).ok()?.is_empty() {
            return Err(GitError::InProgress { checkout: self.top.clone(), operation: "merge" });
        }
        let state = self.local(&copy, old, changes)?;
        let overlap = state.overlap(&self.top, changes);
        if !overlap.is_empty() {
            return Err(GitError::Overlap { checkout: self.top.clone(), files: overlap });
        }
        let plan = state.plan(changes);
        self.absorb(&copy, &plan)?;
        // Git judges by its own rules, too.
        self.read_tree(&copy, &["-n", "-m", "-u"], old, new)?;
        Ok(plan)
    }

    /// Brings the checkout along.
    pub(super) fn bring(&self, plan: &Plan, old: &CommitId, new: &CommitId) -> Result<(), GitError> {
        let index = self.index();
        self.refresh(&index)?;
        self.absorb(&index, plan)?;
        self.read_tree(&index, &["-m", "-u"], old, new)
    }

    /// Takes the checkout back, after the branch could not be moved.
    pub(super) fn take_back(&self, old: &CommitId, new: &CommitId) -> Result<(), GitError> {
        self.read_tree(&self.index(), &["-m", "-u"], new, old)
    }

    fn read_tree(&self, index: &Path, how: &[&str], from: &CommitId, to: &CommitId) -> Result<(), GitError> {
        let arguments = [&["read-tree"], how, &[from.as_str(), to.as_str()]].concat();
        self.view.git(&arguments).index(index).work_tree(&self.top).ok().map(|_| ())
    }

    /// Lets the index know which files have only been touched.
    fn refresh(&self, index: &Path) -> Result<(), GitError> {
        // It says no if a file differs. With `-q` it would not say that the index is locked.
        let question = ["update-index", "--ignore-submodules", "--refresh"];
        self.view.git(&question).index(index).work_tree(&self.top).answers_yes().map(|_| ())
    }

    fn absorb(&self, index: &Path, plan: &Plan) -> Result<(), GitError> {
        if plan.0.is_empty() {
            return Ok(());
        }
        let question = ["update-index", "-z", "--index-info"];
        self.view.git(&question).index(index).work_tree(&self.top).stdin(plan.0.clone()).ok()?;
        self.refresh(index)
    }

    /// The local changes, read from a copy of the index.
    fn local(&self, copy: &Path, old: &CommitId, changes: &[EntryChange]) -> Result<Local, GitError> {
        let compare = ["--raw", "-z", "--no-renames", "--no-abbrev", "--ignore-submodules=all"];
        let staged = [&["diff-index", "--cached"], &compare[..], &[old.as_str()]].concat();
        let staged = self.view.git(&staged).index(copy).work_tree(&self.top).ok()?;
        let staged = raw_changes(&staged).into_iter().map(|change| (change.path, change.new)).collect();
        let files = [&["diff-files"], &compare[..]].concat();
        let dirty = raw_changes(&self.view.git(&files).index(copy).work_tree(&self.top).ok()?);
        let dirty =
            dirty.into_iter().filter(|change| change.new.is_there()).map(|change| change.path).collect();

        let mut wanted = Vec::new();
        for change in changes.iter().filter(|change| change.new.is_there()) {
            push_entry(&mut wanted, &change.new, &change.path);
        }
        let target = self.view.scratch();
        let question = ["update-index", "-z", "--index-info"];
        self.view.git(&question).index(&target).work_tree(&self.top).stdin(wanted).ok()?;
        self.refresh(&target)?;
        let differ = raw_changes(&self.view.git(&files).index(&target).work_tree(&self.top).ok()?);
        let differ: HashSet<Vec<u8>> = differ.into_iter().map(|change| change.path).collect();
        let new = changes.iter().filter(|change| change.new.is_there()).map(|change| change.path.clone());
        let same = new.filter(|path| !differ.contains(path)).collect();
        let tracked = self.view.git(&["ls-files", "-z"]).index(copy).work_tree(&self.top).ok()?;
        let changed: HashSet<&[u8]> = changes.iter().map(|change| change.path.as_slice()).collect();
        let tracked = parts(&tracked).filter(|path| changed.contains(path)).map(<[u8]>::to_vec).collect();
        Ok(Local { staged, dirty, same, tracked })
    }
}

/// The local changes of a checkout.
struct Local {
    /// What the index has for a path, where it is not what the old commit has.
    staged: HashMap<Vec<u8>, TreeEntry>,
    /// Files that are not what the index has.
    dirty: HashSet<Vec<u8>>,
    /// Files that are what the new commit has.
    same: HashSet<Vec<u8>>,
    /// Changing paths that the index has.
    tracked: HashSet<Vec<u8>>,
}

impl Local {
    /// The files with local changes that would be overwritten.
    fn overlap(&self, top: &Path, changes: &[EntryChange]) -> Vec<String> {
        let goes: HashSet<&[u8]> = changes
            .iter()
            .filter(|change| !change.new.is_there())
            .map(|change| change.path.as_slice())
            .collect();
        let mut files = Vec::new();
        for change in changes {
            let path = &change.path;
            match self.staged.get(path) {
                // The index has the new entry already, and then the file is left as it is.
                Some(entry) if *entry == change.new => {}
                Some(_) => files.push(path.clone()),
                None if self.dirty.contains(path) && !self.same.contains(path) => files.push(path.clone()),
                None if change.new.is_there()
                    && !self.tracked.contains(path)
                    && !self.same.contains(path) =>
                {
                    files.extend(obstacles(top, path, &goes));
                }
                None => {}
            }
        }
        files.sort();
        files.dedup();
        files.iter().map(|path| shown(path)).collect()
    }

    /// Entries for the files that have the new content while the index has the old, or nothing.
    fn plan(&self, changes: &[EntryChange]) -> Plan {
        let mut plan = Vec::new();
        for change in changes {
            let path = &change.path;
            let is_ahead = self.dirty.contains(path) || !self.tracked.contains(path);
            if self.same.contains(path) && is_ahead && !self.staged.contains_key(path) {
                push_entry(&mut plan, &change.new, path);
            }
        }
        Plan(plan)
    }
}

/// A line for `update-index --index-info`.
fn push_entry(lines: &mut Vec<u8>, entry: &TreeEntry, path: &[u8]) {
    lines.extend_from_slice(format!("{} {}\t", entry.mode, entry.object).as_bytes());
    lines.extend_from_slice(path);
    lines.push(0);
}

/// What git does not track and is in the way of a file: the file itself, a file where a directory is needed, or files in
/// a directory where the file will be. What goes away with the change is not in the way.
fn obstacles(top: &Path, path: &[u8], goes: &HashSet<&[u8]>) -> Vec<Vec<u8>> {
    let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
    for end in ends {
        let above = &path[..end];
        match below(top, above).symlink_metadata() {
            Ok(found) if found.is_dir() => {}
            Ok(_) if goes.contains(above) => return Vec::new(),
            Ok(_) => return vec![above.to_vec()],
            Err(_) => return Vec::new(),
        }
    }
    match below(top, path).symlink_metadata() {
        Ok(found) if found.is_dir() => files_in(top, path, goes),
        Ok(_) => vec![path.to_vec()],
        Err(_) => Vec::new(),
    }
}

/// The files in a directory that do not go away; the directory itself, if there are too many to look at.
fn files_in(top: &Path, dir: &[u8], goes: &HashSet<&[u8]>) -> Vec<Vec<u8>> {
    use std::os::unix::ffi::OsStrExt;
    let mut found = Vec::new();
    let mut pending = vec![dir.to_vec()];
    let mut looked = 0;
    while let Some(at) = pending.pop() {
        let Ok(entries) = std::fs::read_dir(below(top, &at)) else { return vec![at] };
        for entry in entries.flatten() {
            looked += 1;
            if looked > OBSTACLES_MAX {
                return vec![dir.to_vec()];
            }
            let path = [&at, &b"/"[..], entry.file_name().as_bytes()].concat();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => pending.push(path),
                Ok(_) | Err(_) if !goes.contains(path.as_slice()) => found.push(path),
                Ok(_) | Err(_) => {}
            }
        }
    }
    found
}
