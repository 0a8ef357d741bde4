//! Names that go into git's arguments and refs: commits, branches, hidden refs and tasks; and paths as git gives them.
//!
//! Invariant: a name that passed here is one word to git: it cannot be an option, a range, a revision with operators or
//! a path out of its directory. Deliberately absent: whether something of this name exists.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::error::GitError;

/// The id of a commit, in full.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommitId(String);

impl CommitId {
    /// The id that a text is: 40 or 64 hexadecimal digits.
    ///
    /// # Errors
    ///
    /// When it is something else.
    pub fn parse(text: &str) -> Result<Self, GitError> {
        let is_id = matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        match is_id {
            true => Ok(Self(text.to_ascii_lowercase())),
            false => {
                Err(GitError::Name { name: shortened(text), why: "a commit has 40 or 64 hexadecimal digits" })
            }
        }
    }

    /// The digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CommitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Bytes of a name; a file system takes 255 for each part, and git adds `.lock`.
const NAME_MAX: usize = 200;

/// Where branches are.
pub(super) const HEADS: &str = "refs/heads/";
/// Where refs are that only callboard uses.
pub(super) const HIDDEN: &str = "refs/callboard/";

/// The ref of a branch, from its name with or without `refs/heads/`.
pub(super) fn branch_ref(name: &str) -> Result<String, GitError> {
    let short = name.strip_prefix(HEADS).unwrap_or(name);
    match problem(short) {
        None if short == "HEAD" => {
            Err(GitError::Name { name: short.to_owned(), why: "it means something else" })
        }
        None => Ok(format!("{HEADS}{short}")),
        Some(why) => Err(GitError::Name { name: shortened(short), why }),
    }
}

/// Checks the name of a hidden ref.
pub(super) fn hidden_ref(name: &str) -> Result<&str, GitError> {
    let refused = |why| Err(GitError::Name { name: shortened(name), why });
    match name.strip_prefix(HIDDEN).map(problem) {
        None => refused("a hidden ref begins with refs/callboard/"),
        Some(Some(why)) => refused(why),
        Some(None) => Ok(name),
    }
}

/// Checks the id of a task, which becomes a directory and a part of refs.
pub(super) fn task(id: &str) -> Result<&str, GitError> {
    let refused = |why| Err(GitError::Name { name: shortened(id), why });
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    match problem(id) {
        Some(why) => refused(why),
        None if !id.bytes().all(is_plain) => refused("a task has letters, digits, '-', '_' and '.'"),
        None => Ok(id),
    }
}

/// What stands in the way of a name: the rules of git, and those that keep it one word.
fn problem(name: &str) -> Option<&'static str> {
    let is_part_bad = |part: &str| {
        part.is_empty() || part.starts_with(['.', '-']) || part.ends_with(".lock") || part.ends_with('.')
    };
    if name.is_empty() {
        Some("it is empty")
    } else if name.len() > NAME_MAX {
        Some("it is too long")
    } else if name.starts_with('-') {
        Some("it begins with '-'")
    } else if name.chars().any(char::is_control) {
        Some("it has control characters")
    } else if name.contains("..") || name.contains("@{") || name == "@" {
        Some("it has an operator of git in it")
    } else if name.contains([' ', '~', '^', ':', '?', '*', '[', '\\']) {
        Some("it has a character that git does not allow")
    } else if name.split('/').any(is_part_bad) {
        Some("a part of it is empty, begins with '.' or '-', or ends with '.' or \".lock\"")
    } else {
        None
    }
}

/// A name that is too long for a message is cut.
fn shortened(name: &str) -> String {
    name.chars().take(NAME_MAX).collect()
}

/// A path as it is shown.
pub(super) fn shown(path: &[u8]) -> String {
    String::from_utf8_lossy(path).into_owned()
}

/// The parts of an answer that end with a zero byte.
pub(super) fn parts(answer: &[u8]) -> impl Iterator<Item = &[u8]> {
    answer.split(|byte| *byte == 0).filter(|part| !part.is_empty())
}

/// A path in a directory of files.
pub(super) fn below(dir: &Path, path: &[u8]) -> PathBuf {
    dir.join(OsStr::from_bytes(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_branch_names_are_refused() {
        let hostile = [
            "",
            "-x",
            "--upload-pack=evil",
            "a..b",
            "a@{1}",
            "@",
            "a b",
            "a\nb",
            "a\0b",
            "a~1",
            "a^",
            "a:b",
            "a*",
            "a[",
            "a\\b",
            "/a",
            "a/",
            "a//b",
            ".a",
            "a/.b",
            "a.lock",
            "a/b.lock/c",
            "a.",
            "HEAD",
            "a/-b",
            "refs/heads/",
            "\u{1b}[31m",
            "a?b",
        ];
        for name in hostile {
            assert!(matches!(branch_ref(name), Err(GitError::Name { .. })), "{name:?} passed");
        }
        assert!(branch_ref(&"a".repeat(201)).is_err());
        for name in ["main", "feature/x-1", "refs/heads/main", "ünïcode", "v1.2", "a@b", "user/refs"] {
            assert!(branch_ref(name).is_ok(), "{name:?} was refused");
        }
    }

    #[test]
    fn tasks_and_hidden_refs_stay_in_their_place() {
        for id in ["../x", "a/b", "..", ".", "-a", "a b", "", "x.lock", "ü"] {
            assert!(task(id).is_err(), "{id:?} passed");
        }
        assert_eq!(task("t-1_a.b").expect("a plain id"), "t-1_a.b");
        for name in ["refs/heads/main", "refs/callboard/", "refs/callboard/../heads/main", "refs/callboard"] {
            assert!(hidden_ref(name).is_err(), "{name:?} passed");
        }
        assert!(hidden_ref("refs/callboard/t1/2/start").is_ok());
    }

    #[test]
    fn a_commit_is_its_digits_in_full() {
        assert!(CommitId::parse("HEAD").is_err());
        assert!(CommitId::parse(&"g".repeat(40)).is_err());
        assert_eq!(CommitId::parse(&"A".repeat(40)).expect("digits").as_str(), "a".repeat(40));
    }
}
