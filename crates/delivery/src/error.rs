//! What can be wrong with a contract, found before the run is started.
//!
//! Invariant: every message says what is wrong and what would be right. Deliberately absent: what is wrong with an
//! artifact; that is a finding of the verification, not an error.

use std::fmt;

use crate::media::MediaType;

/// A contract that cannot be used, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The file it was read from.
    pub file: Option<String>,
    /// The line, counted from one.
    pub line: Option<u64>,
    /// What is wrong.
    pub problem: ContractProblem,
}

impl std::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(f, "{file}:{line}: ")?,
            (Some(file), None) => write!(f, "{file}: ")?,
            (None, Some(line)) => write!(f, "line {line}: ")?,
            (None, None) => {}
        }
        self.problem.fmt(f)
    }
}

impl From<ContractProblem> for Error {
    fn from(problem: ContractProblem) -> Self {
        Self { file: None, line: None, problem }
    }
}

/// What is wrong with a contract.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContractProblem {
    /// The text is not a contract.
    #[error("{0}")]
    Syntax(String),
    /// The text is too long to be a contract.
    #[error("the contract has {bytes} bytes, more than {max}; split it, or move its JSON schemas to files")]
    TooLarge {
        /// Its size.
        bytes: u64,
        /// What is taken.
        max: u64,
    },
    /// There are too many promises.
    #[error("the contract has {count} artifacts, more than {max}; use a glob for files that belong together")]
    TooMany {
        /// How many there are.
        count: usize,
        /// What is taken.
        max: usize,
    },
    /// An id has other characters than it may.
    #[error("the id {0:?} may have only letters, digits, `_` and `-`, at most 128 of them")]
    BadId(String),
    /// Two promises have the same id.
    #[error("the id {0:?} is used twice; ids are unique in a contract")]
    DuplicateId(String),
    /// A path or a glob is not one that stays in the artifact directory.
    #[error("{what} {text:?} {because}")]
    BadName {
        /// `the path` or `the glob`.
        what: &'static str,
        /// As it was written.
        text: String,
        /// Why it is refused.
        because: String,
    },
    /// A promise says nothing that could be checked.
    #[error("{0:?} promises nothing; give it one of `path`, `glob`, `command` and `git_diff: true`")]
    Nothing(String),
    /// A promise has two keys that do not go together, or one that needs another.
    #[error("{id:?}: {because}")]
    Combination {
        /// The id of the promise.
        id: String,
        /// What does not go together.
        because: &'static str,
    },
    /// The media type is not one that can be recognised.
    #[error("the media type {0:?} cannot be recognised; known are {known}", known = MediaType::names())]
    MediaType(String),
    /// The JSON schema cannot be used.
    #[error("the JSON schema of {id:?}: {because}")]
    Schema {
        /// The id of the promise.
        id: String,
        /// What is wrong with it.
        because: String,
    },
    /// The artifact directory cannot be used.
    #[error("the artifact directory {dir}: {because}")]
    Directory {
        /// The directory.
        dir: String,
        /// What is wrong with it.
        because: String,
    },
    /// A promised change cannot be seen, because there is no repository to see it in.
    #[error("{id:?} promises a git diff: {because}")]
    Repository {
        /// The id of the promise.
        id: String,
        /// What git said.
        because: String,
    },
    /// What was recorded at the start cannot be read back.
    #[error("the recorded contract cannot be read back: {0}")]
    Record(String),
}
