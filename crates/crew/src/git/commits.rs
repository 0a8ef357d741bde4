//! Commits and refs: reading them, making them, and moving a ref only from where it is expected.
//!
//! Invariant: a commit object is written whole by us, so its author and message are kept byte for byte, and its committer
//! is callboard. A ref is never followed to another one: an agent could make the branch of its task stand for the
//! user's branch. Deliberately absent: checkouts (`publish`).

use super::error::GitError;
use super::names::CommitId;
use super::repository::GitRepository;
use super::view::{failed, lock_in};

/// The parts of a commit that a copy of it keeps.
#[derive(Clone, Debug)]
pub(super) struct CommitText {
    pub(super) tree: String,
    pub(super) parents: Vec<CommitId>,
    /// What stands behind `author`.
    pub(super) author: Vec<u8>,
    pub(super) encoding: Option<Vec<u8>>,
    pub(super) message: Vec<u8>,
}

/// A ref as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RefState {
    pub(super) commit: CommitId,
    /// The ref it stands for.
    pub(super) stands_for: Option<String>,
}

impl GitRepository {
    /// Does the first commit come before the second, or is it the same?
    ///
    /// # Errors
    ///
    /// When git fails, such as for a commit that is not there.
    pub fn is_ancestor(&self, first: &CommitId, second: &CommitId) -> Result<bool, GitError> {
        self.view.git(&["merge-base", "--is-ancestor", first.as_str(), second.as_str()]).answers_yes()
    }

    /// A file of a commit as text.
    ///
    /// # Errors
    ///
    /// When the path leaves the commit, the file is not there, is larger, or is no text.
    pub fn read_file(&self, commit: &CommitId, path: &str, bytes_max: usize) -> Result<String, GitError> {
        let bytes = self.view.git(&["cat-file", "blob", &format!("{commit}:{path}")]).ok()?;
        let text = (bytes.len() <= bytes_max).then(|| String::from_utf8(bytes).ok()).flatten();
        text.ok_or_else(|| GitError::Name { name: path.to_owned(), why: "it is too large, or no text" })
    }

    /// The tip of a branch, if the branch exists.
    ///
    /// # Errors
    ///
    /// When the name is refused or git fails.
    pub fn branch_tip(&self, branch: &str) -> Result<Option<CommitId>, GitError> {
        Ok(self.ref_state(&super::names::branch_ref(branch)?)?.map(|state| state.commit))
    }

    /// A commit that the repository must have.
    pub(super) fn existing(&self, commit: &CommitId) -> Result<(), GitError> {
        let name = format!("{commit}^{{commit}}");
        match self.view.git(&["rev-parse", "--quiet", "--verify", &name]).run()?.code {
            Some(0) => Ok(()),
            Some(_) | None => Err(GitError::NoSuchCommit { commit: commit.to_string() }),
        }
    }

    /// The tree of a commit.
    pub(super) fn tree_of(&self, commit: &CommitId) -> Result<String, GitError> {
        self.view.git(&["rev-parse", "--verify", &format!("{commit}^{{tree}}")]).line()
    }

    /// Where a ref is, by its full name; only commits count.
    pub(super) fn ref_state(&self, name: &str) -> Result<Option<RefState>, GitError> {
        let format = "--format=%(refname) %(objecttype) %(objectname) %(symref)";
        let answer = self.view.git(&["for-each-ref", format, name]).line()?;
        let found = answer.lines().find_map(|line| {
            let mut words = line.split(' ');
            let is_it = words.next() == Some(name) && words.next() == Some("commit");
            let commit = words.next().filter(|_| is_it).and_then(|id| CommitId::parse(id).ok())?;
            Some(RefState { commit, stands_for: words.next().filter(|to| !to.is_empty()).map(str::to_owned) })
        });
        Ok(found)
    }

    /// Moves a ref from where it is expected, or makes it if nothing is expected there.
    pub(super) fn move_ref(
        &self,
        name: &str,
        new: &CommitId,
        old: Option<&CommitId>,
    ) -> Result<(), GitError> {
        let nothing = "0".repeat(new.as_str().len());
        let old_id = old.map_or(nothing.as_str(), CommitId::as_str);
        let question = ["update-ref", "--no-deref", "-m", "callboard", name, new.as_str(), old_id];
        let answer = self.view.git(&question).run()?;
        match answer.code {
            Some(0) => Ok(()),
            Some(_) | None => {
                Err(self.not_moved(name, old, &answer.stderr, failed("update-ref".to_owned(), &answer)))
            }
        }
    }

    /// Deletes a ref that is where it is expected.
    pub(super) fn delete_ref(&self, name: &str, old: &CommitId) -> Result<(), GitError> {
        let answer = self.view.git(&["update-ref", "--no-deref", "-d", name, old.as_str()]).run()?;
        match answer.code {
            Some(0) => Ok(()),
            Some(_) | None => {
                Err(self.not_moved(name, Some(old), &answer.stderr, failed("update-ref".to_owned(), &answer)))
            }
        }
    }

    /// Why a ref was not moved: it is elsewhere, it is locked, or what git said.
    pub(super) fn not_moved(
        &self,
        name: &str,
        old: Option<&CommitId>,
        said: &str,
        otherwise: GitError,
    ) -> GitError {
        if let Some(lock) = lock_in(said) {
            return GitError::Locked { lock };
        }
        let found = self.ref_state(name).ok().flatten().map(|state| state.commit);
        match old {
            Some(expected) if found.as_ref() != Some(expected) => {
                GitError::Moved { branch: name.to_owned(), expected: expected.clone(), found }
            }
            None if found.is_some() => GitError::BranchTaken { branch: name.to_owned() },
            Some(_) | None => otherwise,
        }
    }

    /// Sets a hidden ref, wherever it is.
    pub(super) fn set_hidden_ref(&self, name: &str, commit: &CommitId) -> Result<(), GitError> {
        self.view.git(&["update-ref", "--no-deref", name, commit.as_str()]).ok().map(|_| ())
    }

    /// Reads a commit.
    pub(super) fn read_commit(&self, commit: &CommitId) -> Result<CommitText, GitError> {
        let bytes = self.view.git(&["cat-file", "commit", commit.as_str()]).ok()?;
        let end = bytes.windows(2).position(|pair| pair == b"\n\n").unwrap_or(bytes.len());
        let message = bytes.get(end + 2..).unwrap_or_default().to_vec();
        let field = |name: &[u8]| {
            let mut lines = bytes[..end].split(|byte| *byte == b'\n');
            lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(b" ")).map(<[u8]>::to_vec)
        };
        let lines = bytes[..end].split(|byte| *byte == b'\n');
        let parents = lines.filter_map(|line| line.strip_prefix(b"parent "));
        Ok(CommitText {
            tree: String::from_utf8_lossy(&field(b"tree").unwrap_or_default()).into_owned(),
            parents: parents
                .map(|id| CommitId::parse(&String::from_utf8_lossy(id)))
                .collect::<Result<_, _>>()?,
            author: field(b"author").unwrap_or_default(),
            encoding: field(b"encoding"),
            message,
        })
    }

    /// Who commits, and when: git reads the clock.
    pub(super) fn committer(&self) -> Result<Vec<u8>, GitError> {
        Ok(self.view.git(&["var", "GIT_COMMITTER_IDENT"]).line()?.into_bytes())
    }

    /// Writes a commit object.
    pub(super) fn write_commit(&self, commit: &CommitText, committer: &[u8]) -> Result<CommitId, GitError> {
        let mut text = format!("tree {}\n", commit.tree).into_bytes();
        for parent in &commit.parents {
            text.extend_from_slice(format!("parent {parent}\n").as_bytes());
        }
        for (name, value) in [("author", commit.author.as_slice()), ("committer", committer)] {
            text.extend_from_slice(name.as_bytes());
            text.push(b' ');
            text.extend_from_slice(value);
            text.push(b'\n');
        }
        if let Some(encoding) = &commit.encoding {
            text.extend_from_slice(b"encoding ");
            text.extend_from_slice(encoding);
            text.push(b'\n');
        }
        text.push(b'\n');
        text.extend_from_slice(&commit.message);
        let question = ["hash-object", "-t", "commit", "-w", "--no-filters", "--stdin"];
        CommitId::parse(&self.view.git(&question).stdin(text).line()?)
    }

    /// A commit of ours with this tree.
    pub(super) fn commit_tree(
        &self,
        tree: &str,
        parents: Vec<CommitId>,
        message: &str,
    ) -> Result<CommitId, GitError> {
        let committer = self.committer()?;
        let author = committer.clone();
        let commit = CommitText {
            tree: tree.to_owned(),
            parents,
            author,
            encoding: None,
            message: message_text(message),
        };
        self.write_commit(&commit, &committer)
    }
}

/// A message as git keeps it: without zero bytes, which git refuses, and with a line end.
pub(super) fn message_text(message: &str) -> Vec<u8> {
    let mut text = message.replace('\0', "").trim_end().to_owned();
    text.push('\n');
    text.into_bytes()
}
