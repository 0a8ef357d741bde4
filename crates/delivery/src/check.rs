//! Programs that a verification runs: a promised command, and git.
//!
//! Invariant: nothing is started here. The caller starts it, with the supervisor, which knows how to end it.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::time::Duration;

/// Runs programs for a verification.
pub trait Check {
    /// Runs a program to its end, or to its limit and then ends it with everything it started.
    ///
    /// # Errors
    ///
    /// When it could not be started.
    fn run(&self, program: &CheckProgram<'_>) -> io::Result<Ran>;

    /// Why no program is run for this verification; nothing if programs are run. A promise that needs one is then unknown.
    fn refuses_programs(&self) -> Option<&'static str> {
        None
    }

    /// May the verification go on? It is asked often, and after a no the verification ends without a verdict.
    fn proceeds(&self) -> bool {
        true
    }
}

/// A program to run.
#[derive(Clone, Copy, Debug)]
pub struct CheckProgram<'a> {
    /// The program and its arguments; never a shell's text.
    pub argv: &'a [String],
    /// Where it runs.
    pub dir: &'a Path,
    /// How long it may take.
    pub limit: Duration,
    /// How many bytes of each stream are kept, from the end.
    pub output_max: usize,
    /// Variables of the environment that it must not see.
    pub without: &'a [&'a str],
    /// Variables of the environment that it sees beside ours.
    pub with: &'a [(OsString, OsString)],
    /// Is it a promise of the contract, which executes what the run wrote? Otherwise it is a tool of ours, which does not.
    pub is_promised: bool,
}

/// How a program ended, and what it said.
#[derive(Clone, Debug)]
pub struct Ran {
    /// How it ended.
    pub end: ProgramEnd,
    /// The end of what it wrote to stdout.
    pub stdout: Vec<u8>,
    /// The end of what it wrote to stderr.
    pub stderr: Vec<u8>,
    /// Was something dropped from the front of either?
    pub cut: bool,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramEnd {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// It reached its limit and was ended.
    Limit,
}

impl Ran {
    /// The last line it said, on stderr if there is one.
    pub(super) fn last_words(&self) -> String {
        let stream =
            if self.stderr.iter().all(u8::is_ascii_whitespace) { &self.stdout } else { &self.stderr };
        let text = String::from_utf8_lossy(stream);
        text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("").trim().to_owned()
    }
}
