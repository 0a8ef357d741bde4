//! Where a repository is: its work tree, its git directory, and the directory that it shares with other work trees.
//!
//! Invariant: the repository is found without git, because git reads its configuration on the way. Only small regular files
//! are read, and what they say is a path or a commit.

use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

/// Bytes of a file of the git directory that names something.
const POINTER_MAX: u64 = 4096;

/// A repository on the disk.
#[derive(Debug)]
pub(super) struct Location {
    /// The root of the work tree.
    pub(super) top: PathBuf,
    /// What belongs to this work tree: HEAD and the index.
    pub(super) git_dir: PathBuf,
    /// What it shares with other work trees: objects, refs, the configuration.
    pub(super) common: PathBuf,
}

impl Location {
    /// The repository that a directory belongs to. As git does, it stays on one file system.
    pub(super) fn find(dir: &Path) -> Result<Self, String> {
        let device = |path: &Path| path.metadata().map(|found| found.dev()).ok();
        let mut first = None;
        for at in dir.ancestors() {
            let Some(here) = device(at) else { continue };
            if *first.get_or_insert(here) != here {
                break;
            }
            if let Some(found) = Self::at(at)? {
                return Ok(found);
            }
        }
        Err("not a git repository (or any of the parent directories): .git".to_owned())
    }

    /// The repository whose work tree begins in this directory, if there is one.
    pub(super) fn at(top: &Path) -> Result<Option<Self>, String> {
        let dot_git = top.join(".git");
        let git_dir = match dot_git.metadata() {
            Ok(found) if found.is_dir() => dot_git,
            Ok(found) if found.is_file() => match pointer(&dot_git, b"gitdir: ") {
                Some(path) => top.join(path),
                None => return Err(format!("{} does not name a git directory", dot_git.display())),
            },
            Ok(_) | Err(_) => return Ok(None),
        };
        let shared = pointer(&git_dir.join("commondir"), b"");
        let common = shared.map_or_else(|| git_dir.clone(), |path| git_dir.join(path));
        let is_repository =
            head(&git_dir).is_some() && common.join("objects").is_dir() && common.join("refs").is_dir();
        let absolute = |path: PathBuf| std::path::absolute(path).map_err(|error| error.to_string());
        // As git does, a directory that is none is passed over.
        Ok(match is_repository {
            true => {
                Some(Self { top: top.to_owned(), git_dir: absolute(git_dir)?, common: absolute(common)? })
            }
            false => None,
        })
    }

    /// What HEAD says: the name of a ref, or a commit.
    pub(super) fn head(&self) -> Option<String> {
        head(&self.git_dir)
    }
}

fn head(git_dir: &Path) -> Option<String> {
    let text = String::from_utf8(small_file(&git_dir.join("HEAD"), POINTER_MAX)?).ok()?;
    let line = text.trim_end();
    let is_commit = matches!(line.len(), 40 | 64) && line.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_ref = line.strip_prefix("ref:").is_some_and(|name| name.trim_start().starts_with("refs/"));
    let is_one_line = !line.chars().any(char::is_control);
    (is_one_line && (is_commit || is_ref)).then(|| line.to_owned())
}

/// The path that stands in a file, behind a word.
fn pointer(path: &Path, word: &[u8]) -> Option<PathBuf> {
    let bytes = small_file(path, POINTER_MAX)?;
    let named = bytes.trim_ascii_end().strip_prefix(word)?;
    (!named.is_empty() && !named.contains(&b'\n')).then(|| PathBuf::from(OsStr::from_bytes(named)))
}

/// A regular file that has no more than so many bytes. Nothing that would be waited for is opened.
pub(super) fn small_file(path: &Path, bytes_max: u64) -> Option<Vec<u8>> {
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
    let found = file.metadata().ok()?;
    if !found.is_file() || found.len() > bytes_max {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(bytes_max).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
