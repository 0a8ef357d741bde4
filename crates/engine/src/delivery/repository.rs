//! What a git repository looked like at the start, so that "the diff is not empty" has something to differ from.
//!
//! Invariant: what was dirty before the run began is not its work. The state of the files that differ from HEAD is
//! part of the base, by content, so further work on a dirty file counts and old dirt does not. Git is only asked
//! (`--no-optional-locks`), and runs no program that the repository's configuration names for watching files.
//! Deliberately absent: the diff itself.

use std::ffi::OsStr;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::beneath::{Refused, Root};
use super::check::{Check, Program, ProgramEnd};

/// A repository at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Repository {
    /// The commit that HEAD is; none before the first.
    pub head: Option<String>,
    /// The tree of that commit.
    pub tree: Option<String>,
    /// How many paths differ from it.
    pub dirty: u64,
    /// A hash over those paths and what is in them.
    pub digest: String,
}

const LIMIT: Duration = Duration::from_secs(30);
/// Bytes of `git status` that are taken; about a hundred thousand paths.
const STATUS_MAX: usize = 16 * 1024 * 1024;
/// Bytes of dirty files that are read; beyond them size and time of change stand for the content.
const CONTENT_MAX: u64 = 256 * 1024 * 1024;
/// They would make git look at another repository.
const WITHOUT: &[&str] = &[
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_CEILING_DIRECTORIES",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
];

impl Repository {
    /// Reads the repository that the directory belongs to, or says why it cannot.
    pub(super) fn read(dir: &Path, checks: &dyn Check) -> Result<Self, String> {
        let mut top = ask(dir, checks, &["rev-parse", "--show-toplevel"])?;
        if top.last() == Some(&b'\n') {
            top.pop();
        }
        let top = PathBuf::from(OsStr::from_bytes(&top));
        let status =
            ask(dir, checks, &["status", "--porcelain=v2", "-z", "--branch", "--untracked-files=all"])?;
        let status = Status::parse(&status);
        let tree = match status.head {
            Some(_) => Some(word(&ask(dir, checks, &["rev-parse", "--verify", "HEAD^{tree}"])?)),
            None => None,
        };
        let root = Root::open(&top).map_err(|refused| format!("{} {refused}", top.display()))?;
        Ok(Self {
            head: status.head,
            tree,
            dirty: status.entries.len() as u64,
            digest: digest(&root, &status.entries),
        })
    }

    /// How it differs from what it was, in words; none if it does not.
    pub(super) fn changed_since(&self, base: &Self) -> Option<String> {
        let short = |commit: &Option<String>| {
            commit.as_deref().map_or("nothing", |id| id.get(..12).unwrap_or(id)).to_owned()
        };
        if self.tree != base.tree {
            Some(format!("HEAD went from {} to {}", short(&base.head), short(&self.head)))
        } else if self.digest != base.digest {
            Some(format!("{} paths differ from HEAD, {} did at the start", self.dirty, base.dirty))
        } else {
            None
        }
    }
}

fn ask(dir: &Path, checks: &dyn Check, question: &[&str]) -> Result<Vec<u8>, String> {
    let fixed =
        ["git", "--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"];
    let argv: Vec<String> = fixed.iter().chain(question).map(|word| (*word).to_owned()).collect();
    let program = Program { argv: &argv, dir, limit: LIMIT, output_max: STATUS_MAX, without: WITHOUT };
    let ran = checks.run(&program).map_err(|error| format!("git could not be started: {error}"))?;
    match ran.end {
        ProgramEnd::Code(0) if ran.cut => Err(format!("git said more than {STATUS_MAX} bytes")),
        ProgramEnd::Code(0) => Ok(ran.stdout),
        ProgramEnd::Code(_) => Err(match ran.last_words() {
            said if said.is_empty() => "git refused and did not say why".to_owned(),
            said => said,
        }),
        ProgramEnd::Signal(signal) => Err(format!("git was ended by signal {signal}")),
        ProgramEnd::Limit => Err(format!("git took longer than {} s", LIMIT.as_secs())),
    }
}

fn word(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

/// What `git status --porcelain=v2 -z --branch` said.
struct Status<'a> {
    head: Option<String>,
    /// Each entry as it was written, and the path it is about.
    entries: Vec<(&'a [u8], &'a [u8])>,
}

impl<'a> Status<'a> {
    fn parse(text: &'a [u8]) -> Self {
        let mut status = Self { head: None, entries: Vec::new() };
        let mut records = text.split(|byte| *byte == 0).filter(|record| !record.is_empty());
        while let Some(record) = records.next() {
            if let Some(oid) = record.strip_prefix(b"# branch.oid ") {
                status.head = Some(word(oid)).filter(|oid| oid != "(initial)");
                continue;
            }
            // The path is the last field, and may have spaces itself.
            let fields = match record.first() {
                Some(b'1') => 9,
                // The name it had before stands in a record of its own and is no entry.
                Some(b'2') => {
                    records.next();
                    10
                }
                Some(b'u') => 11,
                Some(b'?') => 2,
                Some(_) | None => continue,
            };
            if let Some(path) = record.splitn(fields, |byte| *byte == b' ').nth(fields - 1) {
                status.entries.push((record, path));
            }
        }
        status.entries.sort_unstable();
        status
    }
}

fn digest(root: &Root, entries: &[(&[u8], &[u8])]) -> String {
    let mut hasher = blake3::Hasher::new();
    let mut budget = CONTENT_MAX;
    for (record, path) in entries {
        hasher.update(&(record.len() as u64).to_le_bytes());
        hasher.update(record);
        hasher.update(content(root, Path::new(OsStr::from_bytes(path)), &mut budget).as_bytes());
    }
    hasher.finalize().to_hex().to_string()
}

/// What stands for the content of a dirty path.
fn content(root: &Root, path: &Path, budget: &mut u64) -> String {
    let opened = match root.file(path) {
        Ok(opened) => opened,
        // Where a link points to is in git's own record only once it is staged, so it is read here.
        Err(Refused::Link) => return format!("link {:?}", root.link(path)),
        Err(refused) => return refused.to_string(),
    };
    if opened.stamp.bytes > *budget {
        let changed = opened.file.metadata().and_then(|metadata| metadata.modified());
        return format!("{} bytes of {changed:?}", opened.stamp.bytes);
    }
    *budget -= opened.stamp.bytes;
    let mut hasher = blake3::Hasher::new();
    // A file that grows while it is read is read as far as it was when it was opened.
    match hasher.update_reader(opened.file.take(opened.stamp.bytes)) {
        Ok(hasher) => hasher.finalize().to_hex().to_string(),
        Err(error) => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_is_read_with_spaces_renames_and_conflicts() {
        let text =
            b"# branch.oid 0123\0# branch.head main\x001 .M N... 100644 100644 100644 aa bb a file.md\0\
            2 R. N... 100644 100644 100644 aa bb R100 new name\0old name\0\
            u UU N... 1 2 3 4 aa bb cc both.md\0? un tracked\0! ignored\0";
        let status = Status::parse(text);
        assert_eq!(status.head.as_deref(), Some("0123"));
        let paths: Vec<String> =
            status.entries.iter().map(|(_, path)| String::from_utf8_lossy(path).into_owned()).collect();
        assert_eq!(paths, ["a file.md", "new name", "un tracked", "both.md"]);
        assert_eq!(Status::parse(b"# branch.oid (initial)\0").head, None);
    }
}
