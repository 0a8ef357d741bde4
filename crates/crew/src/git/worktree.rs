//! Worktrees of tasks: each on a branch of its own, below a directory of callboard.
//!
//! Invariant: a worktree is made by hand, in the documented layout, because `git worktree add` starts git in it with the
//! configuration of the repository. Where it is follows from the root and the task, and never from a file that an agent can
//! write. Until it is whole it has a lock with our mark, so `git worktree prune` leaves it alone and the next call makes it
//! anew; nobody has worked in it before.
//!
//! Order of a fresh start: what was there is held by a ref, then the directory is renamed away, then the branch is moved.

use std::fs::{DirBuilder, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::error::GitError;
use super::location::{Head, head, pointer, small_file};
use super::names::{self, CommitId, HEADS, HIDDEN};
use super::repository::GitRepository;
use super::view::random_name;

/// What the lock of a worktree says that is being made.
const MARK: &[u8] = b"callboard: being made\n";
/// The beginning of the name of a directory that is being deleted.
pub(super) const TRASH: &str = ".callboard-trash-";
/// The beginning of the name of our directories among the worktrees of a repository.
const ADMIN: &str = "callboard-";

/// The worktree of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskWorktree {
    task: String,
    path: PathBuf,
    admin: PathBuf,
    branch: String,
}

/// What a worktree that exists already is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// The task starts from its base again. What was there is kept under `refs/callboard/<task>/left/`.
    Fresh,
    /// The task goes on with the worktree as it is, or with its branch if the worktree is gone.
    Continue,
}

impl TaskWorktree {
    pub(super) fn new(common: &Path, root: &Path, task: &str) -> Self {
        Self {
            task: task.to_owned(),
            path: root.join(task),
            admin: common.join("worktrees").join(format!("{ADMIN}{task}")),
            branch: format!("callboard/{task}"),
        }
    }

    /// The id of the task.
    #[must_use]
    pub fn task(&self) -> &str {
        &self.task
    }

    /// The directory that the agent works in.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The branch of the task, `callboard/<task>`.
    #[must_use]
    pub fn branch(&self) -> &str {
        &self.branch
    }

    /// The directory in which git keeps HEAD and the index of the worktree. A sandboxed agent must be able to write to it.
    #[must_use]
    pub fn git_dir(&self) -> &Path {
        &self.admin
    }

    pub(super) fn branch_ref(&self) -> String {
        format!("{HEADS}{}", self.branch)
    }

    pub(super) fn index(&self) -> PathBuf {
        self.admin.join("index")
    }

    fn refused(&self, why: &'static str) -> GitError {
        GitError::NotWorktree { task: self.task.clone(), path: self.path.clone(), why }
    }
}

/// What there is of a worktree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    Absent,
    /// It was being made and nobody has worked in it.
    Unfinished,
    /// Git has recorded it, and its directory is gone.
    Stale,
    Whole,
}

impl GitRepository {
    /// Makes the worktree of a task below a directory of callboard, or finds it there.
    ///
    /// # Errors
    ///
    /// When the task's id is refused, there is no such commit, the root is in a checkout, or something is in the way.
    pub fn worktree(
        &self,
        task: &str,
        base: &CommitId,
        root: &Path,
        attempt: Attempt,
    ) -> Result<TaskWorktree, GitError> {
        let task = names::task(task)?;
        self.existing(base)?;
        let root = self.worktree_root(root)?;
        let worktree = TaskWorktree::new(&self.location.common, &root, task);
        let _lock = self.lock()?;
        match (self.standing(&worktree)?, attempt) {
            (Standing::Whole, Attempt::Continue) => {
                repair_pointer(&worktree)?;
                return Ok(worktree);
            }
            (Standing::Whole, Attempt::Fresh) => {
                self.hold_left(&worktree)?;
                tear_down(&worktree)?;
            }
            (Standing::Unfinished | Standing::Stale, _) => tear_down(&worktree)?,
            (Standing::Absent, _) => {}
        }
        self.not_elsewhere(&worktree)?;
        let start = self.start_branch(&worktree, base, attempt)?;
        self.set_up(&worktree, &start)?;
        Ok(worktree)
    }

    /// The worktree of a task, if it is there and whole.
    ///
    /// # Errors
    ///
    /// When the task's id is refused or something else is in its place.
    pub fn find_worktree(&self, task: &str, root: &Path) -> Result<Option<TaskWorktree>, GitError> {
        let Ok(root) = root.canonicalize() else { return Ok(None) };
        let worktree = TaskWorktree::new(&self.location.common, &root, names::task(task)?);
        Ok((self.standing(&worktree)? == Standing::Whole).then_some(worktree))
    }

    /// The directory of worktrees, made if it is not there, which must be outside of the repository.
    fn worktree_root(&self, root: &Path) -> Result<PathBuf, GitError> {
        let cannot = || GitError::io(format!("{} cannot be made", root.display()));
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700).create(root).map_err(cannot())?;
        let root = root.canonicalize().map_err(cannot())?;
        let common = &self.location.common;
        let main = common.parent().filter(|_| common.file_name().is_some_and(|name| name == ".git"));
        let inside = [self.top(), Some(common), main].into_iter().flatten().find(|dir| root.starts_with(dir));
        match inside {
            Some(inside) => Err(GitError::RootInside { inside: inside.to_owned(), root }),
            None => Ok(root),
        }
    }

    /// Looks what there is of a worktree, and refuses what does not fit together.
    pub(super) fn standing(&self, worktree: &TaskWorktree) -> Result<Standing, GitError> {
        let in_the_way =
            |path: &Path| GitError::InTheWay { task: worktree.task.clone(), path: path.to_owned() };
        let is_dir = |path: &Path| match path.symlink_metadata() {
            Ok(found) => Ok(Some(found.is_dir())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(GitError::io(format!("{} cannot be read", path.display()))(error)),
        };
        let is_recorded = match is_dir(&worktree.admin)? {
            Some(false) => return Err(in_the_way(&worktree.admin)),
            Some(true) => true,
            None => false,
        };
        let is_there = match is_dir(&worktree.path)? {
            Some(false) => return Err(in_the_way(&worktree.path)),
            Some(true) => true,
            None => false,
        };
        if !is_recorded {
            // An empty directory is left when a process dies between two steps.
            let is_empty = is_there && std::fs::remove_dir(&worktree.path).is_ok();
            return if is_there && !is_empty {
                Err(in_the_way(&worktree.path))
            } else {
                Ok(Standing::Absent)
            };
        }
        if small_file(&worktree.admin.join("locked"), 64).is_some_and(|text| text == MARK) {
            return Ok(Standing::Unfinished);
        }
        let recorded = pointer(&worktree.admin.join("gitdir"), b"").map(|path| worktree.admin.join(path));
        match recorded {
            Some(path) if path == worktree.path.join(".git") => {}
            // A process died before it wrote where the worktree is.
            None if !is_there => return Ok(Standing::Stale),
            Some(path) => return Err(in_the_way(&path)),
            None => return Err(in_the_way(&worktree.admin)),
        }
        Ok(if is_there { Standing::Whole } else { Standing::Stale })
    }

    /// Refuses if the branch of the task is checked out in another worktree.
    fn not_elsewhere(&self, worktree: &TaskWorktree) -> Result<(), GitError> {
        let on = Head::On(worktree.branch_ref());
        let others = self.admins().into_iter().chain([self.location.common.clone()]);
        match others.into_iter().find(|admin| *admin != worktree.admin && head(admin).as_ref() == Some(&on)) {
            Some(path) => Err(GitError::InTheWay { task: worktree.task.clone(), path }),
            None => Ok(()),
        }
    }

    /// The directories in which git keeps what belongs to linked worktrees, ours and the user's.
    pub(super) fn admins(&self) -> Vec<PathBuf> {
        let entries =
            std::fs::read_dir(self.location.common.join("worktrees")).into_iter().flatten().flatten();
        let mut admins: Vec<PathBuf> = entries
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .map(|entry| entry.path())
            .collect();
        admins.sort();
        admins
    }

    /// Makes the branch of a task, or moves it back to the base for a fresh start.
    fn start_branch(
        &self,
        worktree: &TaskWorktree,
        base: &CommitId,
        attempt: Attempt,
    ) -> Result<CommitId, GitError> {
        let name = worktree.branch_ref();
        let Some(tip) = self.ref_state(&name)?.map(|state| state.commit) else {
            self.move_ref(&name, base, None)?;
            return Ok(base.clone());
        };
        match attempt {
            Attempt::Continue => Ok(tip),
            Attempt::Fresh => {
                if tip != *base {
                    self.hold(worktree, &tip)?;
                    self.move_ref(&name, base, Some(&tip))?;
                }
                Ok(base.clone())
            }
        }
    }

    /// Holds what is in a worktree with a ref.
    fn hold_left(&self, worktree: &TaskWorktree) -> Result<(), GitError> {
        let left = self.capture(worktree, "work that was left behind")?;
        self.hold(worktree, &left.commit)
    }

    fn hold(&self, worktree: &TaskWorktree, commit: &CommitId) -> Result<(), GitError> {
        self.set_hidden_ref(&format!("{HIDDEN}{}/left/{commit}", worktree.task), commit)
    }

    /// Makes a worktree whose branch is there.
    fn set_up(&self, worktree: &TaskWorktree, commit: &CommitId) -> Result<(), GitError> {
        let made = || -> io::Result<()> {
            DirBuilder::new().recursive(true).create(self.location.common.join("worktrees"))?;
            DirBuilder::new().create(&worktree.admin)?;
            std::fs::write(worktree.admin.join("locked"), MARK)?;
            std::fs::write(worktree.admin.join("commondir"), "../..\n")?;
            std::fs::write(worktree.admin.join("gitdir"), line(b"", &worktree.path.join(".git")))?;
            std::fs::write(worktree.admin.join("HEAD"), format!("ref: {}\n", worktree.branch_ref()))?;
            DirBuilder::new().create(&worktree.path)?;
            std::fs::write(worktree.path.join(".git"), line(b"gitdir: ", &worktree.admin))
        };
        made().map_err(GitError::io(format!("the worktree {} cannot be made", worktree.path.display())))?;
        let question = ["read-tree", "--reset", "-u", commit.as_str()];
        self.view.git(&question).index(&worktree.index()).work_tree(&worktree.path).ok()?;
        let unlocked = std::fs::remove_file(worktree.admin.join("locked"));
        unlocked.map_err(GitError::io("the lock of the worktree cannot be removed"))
    }

    /// What HEAD of a worktree says, and the commit it is at.
    pub(super) fn worktree_head(
        &self,
        worktree: &TaskWorktree,
    ) -> Result<(Head, Option<CommitId>), GitError> {
        if !worktree.path.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            return Err(worktree.refused("the directory is gone"));
        }
        if !worktree.admin.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            return Err(worktree.refused("git has no record of it"));
        }
        let head = head(&worktree.admin).ok_or_else(|| worktree.refused("its HEAD cannot be read"))?;
        let commit = match &head {
            Head::On(name) => self.ref_state(name)?.map(|state| state.commit),
            Head::At(commit) => Some(commit.clone()),
        };
        Ok((head, commit))
    }
}

/// A line of a file of git: a word and a path.
fn line(word: &[u8], path: &Path) -> Vec<u8> {
    [word, path.as_os_str().as_bytes(), b"\n"].concat()
}

/// Writes the file `.git` of a worktree if it is gone, and refuses another one: the agent's git would work elsewhere.
fn repair_pointer(worktree: &TaskWorktree) -> Result<(), GitError> {
    let path = worktree.path.join(".git");
    match path.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            std::fs::write(&path, line(b"gitdir: ", &worktree.admin))
                .map_err(GitError::io(format!("{} cannot be written", path.display())))
        }
        Ok(found) if found.is_file() && pointer(&path, b"gitdir: ").as_deref() == Some(&worktree.admin) => {
            Ok(())
        }
        Ok(_) | Err(_) => Err(worktree.refused("its .git was replaced")),
    }
}

/// Removes a worktree. It is renamed first, so what is left after a crash is never taken for a worktree with deleted files.
pub(super) fn tear_down(worktree: &TaskWorktree) -> Result<(), GitError> {
    let cannot = || GitError::io(format!("the worktree {} cannot be removed", worktree.path.display()));
    let root = worktree.path.parent().unwrap_or(&worktree.path);
    let trash = root.join(format!("{TRASH}{}", random_name().map_err(cannot())?));
    match std::fs::rename(&worktree.path, &trash) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(cannot()(error)),
        Ok(()) | Err(_) => {}
    }
    remove_all(&worktree.admin).map_err(cannot())?;
    remove_all(&trash).map_err(cannot())
}

/// Removes a directory, also one in which directories are read-only, as some package caches are.
pub(super) fn remove_all(dir: &Path) -> io::Result<()> {
    match std::fs::remove_dir_all(dir) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            open_directories(dir)?;
            std::fs::remove_dir_all(dir)
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Makes directories writable, without following links.
fn open_directories(dir: &Path) -> io::Result<()> {
    let mut pending = vec![dir.to_owned()];
    while let Some(dir) = pending.pop() {
        std::fs::set_permissions(&dir, Permissions::from_mode(0o700))?;
        let entries = std::fs::read_dir(&dir)?.flatten();
        pending.extend(
            entries
                .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
                .map(|entry| entry.path()),
        );
    }
    Ok(())
}

/// Is this the record of a worktree of a task?
pub(super) fn is_of_a_task(admin: &Path) -> bool {
    task_of(admin).is_some()
}

/// The task whose worktree a record is of.
pub(super) fn task_of(admin: &Path) -> Option<String> {
    let task = admin.file_name()?.to_str()?.strip_prefix(ADMIN)?;
    names::task(task).ok().map(str::to_owned)
}
