//! What lay where a run promises files, before the run was started.
//!
//! Invariant: a file counts as written by the run if it was not there before, or if its content, its inode or its time of
//! modification is another one. What cannot be compared counts as written only if its status changed. Deliberately
//! absent: a clock; two readings of the same file are compared, and no time of day.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::artifact_root::{Root, Stamp};
use crate::contract::{Contract, Subject};
use crate::verification::FileFound;
use crate::walk::Walk;

/// Files that are kept one by one; of more, only a hash over all of them.
const FILES_MAX: usize = 256;
/// Bytes of a file whose content is hashed, and of all of them.
const HASHED_MAX: u64 = 8 << 20;
const HASHED_TOTAL_MAX: u64 = 64 << 20;
/// Entries that the walk of one glob looks at.
const ENTRIES_MAX: usize = 100_000;

/// The files at the start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// Each file, by its path in the artifact directory.
    files: BTreeMap<String, Before>,
    /// A hash over every file of each glob that has more files than are kept, by the glob.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    crowds: BTreeMap<String, String>,
}

/// One file at the start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Before {
    bytes: u64,
    inode: i64,
    modified_ns: i64,
    changed_ns: i64,
    /// The BLAKE3 hash of its bytes; none of a large or unreadable file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    blake3: Option<String>,
}

/// What a run did to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// It was not there, or had another content.
    Written,
    /// It was written again with the content it had.
    Rewritten,
    /// Nothing.
    Unchanged,
}

impl Baseline {
    /// Looks at every file that the contract promises to be written.
    pub(super) fn of(contract: &Contract, dir: &Path) -> Self {
        let mut baseline = Self::default();
        let Ok(root) = Root::open(dir) else { return baseline };
        let mut hashed = 0;
        for promise in contract.artifacts.iter().filter(|promise| !promise.existing) {
            match &promise.subject {
                Subject::File(name) => baseline.add(&root, Path::new(name.as_str()), &mut hashed),
                Subject::Files(pattern) => {
                    let walk = Walk::of(&root, pattern, ENTRIES_MAX);
                    if baseline.files.len() + walk.files.len() > FILES_MAX {
                        baseline.crowds.insert(pattern.as_str().to_owned(), crowd(&root, &walk));
                        continue;
                    }
                    walk.files.iter().for_each(|path| baseline.add(&root, path, &mut hashed));
                }
                Subject::None => {}
            }
        }
        baseline
    }

    fn add(&mut self, root: &Root, path: &Path, hashed: &mut u64) {
        let Ok(stamp) = root.stamp(path) else { return };
        let small = stamp.bytes <= HASHED_MAX && *hashed + stamp.bytes <= HASHED_TOTAL_MAX;
        let blake3 = if small { hash(root, path) } else { None };
        *hashed += if blake3.is_some() { stamp.bytes } else { 0 };
        let Stamp { bytes, inode, modified_ns, changed_ns } = stamp;
        let before = Before { bytes, inode, modified_ns, changed_ns, blake3 };
        self.files.insert(path.to_string_lossy().into_owned(), before);
    }

    /// What became of a file that is there.
    pub(super) fn change(&self, file: &FileFound, stamp: &Stamp) -> Change {
        let Some(before) = self.files.get(&file.path) else { return Change::Written };
        let times = (before.inode, before.modified_ns) != (stamp.inode, stamp.modified_ns);
        match (&before.blake3, &file.blake3) {
            (Some(before), Some(after)) if before != after => Change::Written,
            (Some(_), Some(_)) if times => Change::Rewritten,
            (Some(_), Some(_)) => Change::Unchanged,
            _ if before.bytes != stamp.bytes || times || before.changed_ns != stamp.changed_ns => {
                Change::Written
            }
            _ => Change::Unchanged,
        }
    }

    /// Whether every file of a glob is as it was, where there are too many to keep each.
    pub(super) fn is_same_crowd(&self, root: &Root, pattern: &str, walk: &Walk) -> bool {
        self.crowds.get(pattern).is_some_and(|before| *before == crowd(root, walk))
    }
}

fn hash(root: &Root, path: &Path) -> Option<String> {
    let mut opened = root.file(path).ok()?;
    let mut hasher = blake3::Hasher::new();
    let mut limited = std::io::Read::take(&mut opened.file, HASHED_MAX + 1);
    let count = std::io::copy(&mut limited, &mut hasher).ok()?;
    (count <= HASHED_MAX).then(|| hasher.finalize().to_hex().to_string())
}

/// A hash over where every file lies and when it was written.
fn crowd(root: &Root, walk: &Walk) -> String {
    let mut hasher = blake3::Hasher::new();
    for path in &walk.files {
        let Ok(stamp) = root.stamp(path) else { continue };
        hasher.update(path.as_os_str().as_encoded_bytes());
        let numbers = [stamp.bytes.cast_signed(), stamp.inode, stamp.modified_ns, stamp.changed_ns];
        hasher.update(&[0]);
        for number in numbers {
            hasher.update(&number.to_le_bytes());
        }
    }
    hasher.finalize().to_hex().to_string()
}
