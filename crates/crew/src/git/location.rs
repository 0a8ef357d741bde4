//! Where a repository is: its checkout, and the git directory that all of its checkouts share.
//!
//! Invariant: the repository is found without git, because git reads its configuration on the way. Only small regular files
//! are read, and what they say is a path, a ref or a commit.

use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::names::CommitId;

/// Bytes of a file of the git directory that names something.
const POINTER_MAX: u64 = 4096;

/// A repository on the disk.
#[derive(Clone, Debug)]
pub(super) struct Location {
    /// The root of the checkout that was found; none if a bare repository was.
    pub(super) top: Option<PathBuf>,
    /// What belongs to this checkout: HEAD and the index.
    pub(super) git_dir: PathBuf,
    /// What all checkouts share: objects, refs, the configuration.
    pub(super) common: PathBuf,
}

/// What HEAD says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Head {
    /// It is on a ref, by its full name, which need not exist.
    On(String),
    /// It is at a commit.
    At(CommitId),
}

impl Location {
    /// The repository that a directory belongs to; the directory is absolute and without links. As git does, the search
    /// stays on one file system.
    pub(super) fn find(dir: &Path) -> Option<Self> {
        let device = |path: &Path| path.metadata().map(|found| found.dev()).ok();
        let first = device(dir)?;
        let same = dir.ancestors().take_while(|at| device(at) == Some(first));
        same.into_iter().find_map(|at| Self::at(at).or_else(|| Self::bare(at)))
    }

    /// The repository whose checkout begins in this directory.
    fn at(top: &Path) -> Option<Self> {
        let dot_git = top.join(".git");
        let found = dot_git.metadata().ok()?;
        let git_dir = match found.is_dir() {
            true => dot_git,
            false => top.join(pointer(&dot_git, b"gitdir: ")?),
        };
        let git_dir = git_dir.canonicalize().ok()?;
        let shared = pointer(&git_dir.join("commondir"), b"");
        let common =
            shared.map_or_else(|| Some(git_dir.clone()), |path| git_dir.join(path).canonicalize().ok())?;
        let is_repository = head(&git_dir).is_some() && is_shared_directory(&common);
        is_repository.then(|| Self { top: Some(top.to_owned()), git_dir, common })
    }

    /// The bare repository that this directory is.
    fn bare(dir: &Path) -> Option<Self> {
        let is_repository = head(dir).is_some() && is_shared_directory(dir);
        // The git directory of a checkout, named directly or from within.
        let checkout = dir.file_name().filter(|name| *name == ".git").and(dir.parent());
        let top = checkout.filter(|_| dir.join("index").exists()).map(Path::to_owned);
        is_repository.then(|| Self { top, git_dir: dir.to_owned(), common: dir.to_owned() })
    }
}

fn is_shared_directory(dir: &Path) -> bool {
    dir.join("objects").is_dir() && dir.join("refs").is_dir()
}

/// What HEAD of a git directory says.
pub(super) fn head(git_dir: &Path) -> Option<Head> {
    let text = String::from_utf8(small_file(&git_dir.join("HEAD"), POINTER_MAX)?).ok()?;
    let line = text.trim_end();
    match line.strip_prefix("ref:").map(str::trim_start) {
        Some(name) => {
            let is_ref = name.starts_with("refs/") && !name.chars().any(char::is_control);
            is_ref.then(|| Head::On(name.to_owned()))
        }
        None => CommitId::parse(line).ok().map(Head::At),
    }
}

/// The path that stands in a file, behind a word.
pub(super) fn pointer(path: &Path, word: &[u8]) -> Option<PathBuf> {
    let bytes = small_file(path, POINTER_MAX)?;
    let named = bytes.trim_ascii_end().strip_prefix(word)?;
    (!named.is_empty() && !named.contains(&b'\n')).then(|| PathBuf::from(OsStr::from_bytes(named)))
}

/// A regular file that has no more than so many bytes. Nothing that would be waited for is opened.
pub(super) fn small_file(path: &Path, bytes_max: u64) -> Option<Vec<u8>> {
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
    let found = file.metadata().ok()?;
    if !found.is_file() || found.len() > bytes_max {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(bytes_max).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
