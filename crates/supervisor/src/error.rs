//! Why a run did not start. The child never was: nothing is left behind.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

/// Why a run did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// There is no such program.
    #[error("{} is not found", .program.display())]
    NotFound {
        /// What was looked for.
        program: OsString,
        /// What the system said.
        source: io::Error,
    },
    /// There is one, and what it needs to be executed is not there: its interpreter or its loader.
    #[error("{} cannot be executed: {missing}", .program.display())]
    Interpreter {
        /// What was tried.
        program: OsString,
        /// What is missing.
        missing: String,
        /// What the system said.
        source: io::Error,
    },
    /// There is one, and the system does not run it: no permission, not a program, cut short, a directory, being written.
    #[error("{} {}", .program.display(), .because.as_deref().map_or_else(|| "cannot be executed".to_owned(), |because| format!("cannot be executed: it {because}")))]
    NotExecutable {
        /// What was tried.
        program: OsString,
        /// What is wrong with it, if its content shows it.
        because: Option<String>,
        /// What the system said.
        source: io::Error,
    },
    /// The directory to start in is not there or not a directory.
    #[error("the directory {} to start in cannot be entered", .cwd.display())]
    MissingCwd {
        /// Where it should have started.
        cwd: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The system has no room: processes, memory, descriptors, or the arguments are too long.
    #[error("the system has no room to start {}", .program.display())]
    Resources {
        /// What was tried.
        program: OsString,
        /// What the system said.
        source: io::Error,
    },
    /// A wall of the sandbox cannot stand.
    #[error("the sandbox cannot be made: no wall for {wall}: {why}")]
    Sandbox {
        /// Which one.
        wall: &'static str,
        /// Why not.
        why: String,
    },
    /// The request itself is not one.
    #[error("{0}")]
    Invalid(String),
    /// Something of our own could not be set up.
    #[error("cannot {what}")]
    Setup {
        /// What was being done.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

impl StartError {
    /// The exit code that shells, `env` and `timeout` give for this: 127, 126, or 125 for a failure of our own.
    #[must_use]
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::NotFound { .. } | Self::Interpreter { .. } => 127,
            Self::NotExecutable { .. } => 126,
            Self::MissingCwd { .. }
            | Self::Resources { .. }
            | Self::Sandbox { .. }
            | Self::Invalid(_)
            | Self::Setup { .. } => 125,
        }
    }

    /// What the system said, as a number.
    #[must_use]
    pub fn errno(&self) -> Option<i32> {
        match self {
            Self::NotFound { source, .. }
            | Self::Interpreter { source, .. }
            | Self::NotExecutable { source, .. }
            | Self::MissingCwd { source, .. }
            | Self::Resources { source, .. }
            | Self::Setup { source, .. } => source.raw_os_error(),
            Self::Sandbox { .. } | Self::Invalid(_) => None,
        }
    }

    /// Sorts what `exec` said.
    pub(crate) fn of_exec(program: OsString, source: io::Error) -> Self {
        match source.raw_os_error() {
            Some(libc::ENOENT | libc::ENOTDIR) => Self::NotFound { program, source },
            Some(
                libc::EACCES
                | libc::EPERM
                | libc::ENOEXEC
                | libc::ETXTBSY
                | libc::EISDIR
                | libc::ELOOP
                | libc::ELIBBAD
                | libc::EINVAL,
            ) => Self::NotExecutable { program, because: None, source },
            Some(_) => Self::Resources { program, source },
            None => Self::Invalid(format!("{} cannot be started: {source}", program.display())),
        }
    }
}
