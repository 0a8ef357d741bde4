//! What a git repository looked like at the start, so that "the diff is not empty" has something to differ from.
//!
//! Invariant: what was dirty before the run began is not its work. The state of the files that differ from HEAD is
//! part of the base, by content, so further work on a dirty file counts and old dirt does not. Git is only asked, and runs
//! no program that the repository names (`asking`). So a file with a filter of the repository, such as one that is kept
//! elsewhere, is compared with what it was at the start and not with what the filter would make of it.
//! Deliberately absent: the diff itself.

use std::ffi::OsStr;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::asking::Asking;
use super::location::Location;
use crate::artifact_root::{Refused, Root};
use crate::check::Check;

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

/// Bytes of dirty files that are read; beyond them size and time of change stand for the content.
const CONTENT_MAX: u64 = 256 * 1024 * 1024;
/// How deep submodules are looked into, and how many of them.
const DEPTH_MAX: u32 = 4;
const SUBMODULES_MAX: usize = 256;

impl Repository {
    /// Reads the repository that the directory belongs to, or says why it cannot.
    pub(crate) fn read(dir: &Path, checks: &dyn Check) -> Result<Self, String> {
        let mut reading = Reading { checks, budget: CONTENT_MAX, submodules: 0 };
        reading.repository(&Location::find(dir)?, 0)
    }

    /// How it differs from what it was, in words; none if it does not.
    pub(crate) fn changed_since(&self, base: &Self) -> Option<String> {
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

/// One reading of a repository with its submodules.
struct Reading<'a> {
    checks: &'a dyn Check,
    /// Bytes of content that may still be read.
    budget: u64,
    submodules: usize,
}

impl Reading<'_> {
    fn repository(&mut self, location: &Location, depth: u32) -> Result<Repository, String> {
        let git = Asking::new(location, self.checks)?;
        let status = git.ask(&[
            "status",
            "--porcelain=v2",
            "-z",
            "--branch",
            "--untracked-files=all",
            // Git would start itself in them, with their configuration.
            "--ignore-submodules=dirty",
        ])?;
        let filtered = git.ask(&["ls-files", "-z", "--", ":(top,exclude,attr:!filter)"])?;
        let mut filtered: Vec<&[u8]> = paths(&filtered).collect();
        filtered.sort_unstable();
        filtered.dedup();
        let status = Status::parse(&status).without_work_tree_of(&filtered);
        let tree = match status.head {
            Some(_) => Some(word(&git.ask(&["rev-parse", "--verify", "HEAD^{tree}"])?)),
            None => None,
        };
        let root =
            Root::open(&location.top).map_err(|refused| format!("{} {refused}", location.top.display()))?;
        let mut hasher = blake3::Hasher::new();
        for (record, path) in &status.entries {
            self.add(&mut hasher, &root, record, path);
        }
        for path in &filtered {
            self.add(&mut hasher, &root, path, path);
        }
        let mut dirty = status.entries.len() as u64;
        for submodule in self.submodules_of(location, &git, depth)? {
            let its = self.repository(&submodule, depth + 1)?;
            dirty += its.dirty;
            hasher.update(submodule.top.as_os_str().as_bytes());
            hasher.update(its.tree.as_deref().unwrap_or_default().as_bytes());
            hasher.update(its.digest.as_bytes());
        }
        Ok(Repository { head: status.head, tree, dirty, digest: hasher.finalize().to_hex().to_string() })
    }

    /// The submodules that are checked out.
    fn submodules_of(
        &mut self,
        location: &Location,
        git: &Asking<'_>,
        depth: u32,
    ) -> Result<Vec<Location>, String> {
        if depth >= DEPTH_MAX || !location.top.join(".gitmodules").exists() {
            return Ok(Vec::new());
        }
        let mut found = Vec::new();
        let index = git.ask(&["ls-files", "--stage", "-z"])?;
        for entry in index.split(|byte| *byte == 0).filter(|entry| entry.starts_with(b"160000 ")) {
            let Some(tab) = entry.iter().position(|byte| *byte == b'\t') else { continue };
            let path = Path::new(OsStr::from_bytes(&entry[tab + 1..]));
            let is_below = path.components().all(|part| matches!(part, std::path::Component::Normal(_)));
            if let Some(submodule) = Location::at(&location.top.join(path))?.filter(|_| is_below) {
                found.push(submodule);
            }
        }
        self.submodules += found.len();
        if self.submodules > SUBMODULES_MAX {
            return Err(format!("the repository has more than {SUBMODULES_MAX} submodules"));
        }
        Ok(found)
    }

    fn add(&mut self, hasher: &mut blake3::Hasher, root: &Root, record: &[u8], path: &[u8]) {
        hasher.update(&(record.len() as u64).to_le_bytes());
        hasher.update(record);
        hasher.update(content(root, Path::new(OsStr::from_bytes(path)), &mut self.budget).as_bytes());
    }
}

fn paths(answer: &[u8]) -> impl Iterator<Item = &[u8]> {
    answer.split(|byte| *byte == 0).filter(|path| !path.is_empty())
}

fn word(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

/// What `git status --porcelain=v2 -z --branch` said.
struct Status {
    head: Option<String>,
    /// Each entry as it was written, and the path it is about.
    entries: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Status {
    fn parse(text: &[u8]) -> Self {
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
                status.entries.push((record.to_vec(), path.to_vec()));
            }
        }
        status.entries.sort_unstable();
        status
    }

    /// The same without what git says of the work tree about these paths. It compared them without their filters, and only
    /// where a file was touched.
    fn without_work_tree_of(mut self, filtered: &[&[u8]]) -> Self {
        self.entries.retain_mut(|(record, path)| {
            if filtered.binary_search(&path.as_slice()).is_err() {
                return true;
            }
            let mut fields = record.split(|byte| *byte == b' ');
            let (kind, states, modes) = (fields.next(), fields.next(), fields.nth(2).zip(fields.next()));
            let is_content = modes.is_some_and(|(index, work_tree)| index == work_tree);
            let is_plain = matches!(kind, Some(b"1" | b"2"));
            match states {
                Some([b'.', b'M']) if is_plain && is_content => false,
                Some([_, b'M']) if is_plain && is_content => {
                    record[3] = b'.';
                    true
                }
                Some(_) | None => true,
            }
        });
        self
    }
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

    #[test]
    fn of_a_filtered_file_only_the_index_is_read_from_the_status() {
        let text = b"1 .M N... 100644 100644 100644 aa bb a\x001 MM N... 100644 100644 100644 aa bb b\0\
            1 .M N... 100644 100644 100755 aa bb c\x001 .D N... 100644 100644 000000 aa bb d\0\
            1 .M N... 100644 100644 100644 aa bb e\0";
        let status = Status::parse(text).without_work_tree_of(&[b"a", b"b", b"c", b"d"]);
        let left: Vec<String> =
            status.entries.iter().map(|(record, _)| String::from_utf8_lossy(record).into_owned()).collect();
        let expected = [".D N... 100644 100644 000000 aa bb d", ".M N... 100644 100644 100644 aa bb e"];
        let expected = expected
            .iter()
            .chain(&[".M N... 100644 100644 100755 aa bb c", "M. N... 100644 100644 100644 aa bb b"]);
        assert_eq!(left, expected.map(|rest| format!("1 {rest}")).collect::<Vec<_>>());
    }
}
