//! What went wrong, as the person at the terminal reads it, and the exit codes that tell it to a script.
//!
//! Invariant: every error says what failed, why, and what to do, each on a line of its own on standard error; a code
//! means one thing in every command. Deliberately absent: refusals of the kernel in JSON, which are answers.
//! Long because every error of every command is listed here.

pub(crate) mod advice;

use std::io::{self, Write};
use std::path::PathBuf;

use anstyle::Style;
use callboard_engine::{RecordError, RunError, Unrecorded};
use callboard_kernel::{EntityId, Refusal, one_line, redact};
pub(crate) use callboard_ledger::error_chain as told;
use callboard_ledger::{AppendError, ArchiveError, BackupError, Fault, ImportError, OpenError, ReadError};
use callboard_lifecycle::UnknownWord;
use callboard_lifecycle::session::SessionState;
use callboard_notify::SettingsError;
use callboard_server::ServeError;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::input::plan::Flaw;
use crate::show::screen::steady;
use crate::show::style::{ERROR, LEAD, paint};

/// How a process ends. Two exits are the same if a shell sees the same code, whatever the code means here.
#[derive(Clone, Copy, Debug, Eq)]
pub(crate) struct Exit {
    /// What a shell sees.
    pub(crate) code: u8,
    meaning: &'static str,
}

impl Exit {
    /// Everything was done.
    pub(crate) const DONE: Self = Self { code: 0, meaning: "done" };
    /// The world failed: a file, a process, the network.
    pub(crate) const FAILED: Self = Self { code: 1, meaning: "failed" };
    /// The caller asked for something that does not exist or sent something unreadable.
    pub(crate) const USAGE: Self =
        Self { code: 2, meaning: "not understood: an unknown word, option or line" };
    /// The kernel said no.
    pub(crate) const REFUSED: Self =
        Self { code: 3, meaning: "refused: the tables do not allow it, or not to who asks" };
    /// There is nothing under that id.
    pub(crate) const NOT_FOUND: Self = Self { code: 4, meaning: "not found" };
    /// Somebody else writes.
    const HELD: Self = Self { code: 5, meaning: "held by another writer" };
    /// A bound was reached.
    pub(crate) const TIMED_OUT: Self = Self { code: 124, meaning: "the run timed out" };
    /// A person broke it off.
    const INTERRUPTED: Self = Self { code: 130, meaning: "the run was aborted, by Ctrl-C for instance" };
    /// It was called off.
    pub(crate) const TERMINATED: Self = Self { code: 143, meaning: "the run was cancelled" };

    const ALL: [Self; 9] = [
        Self::DONE,
        Self::FAILED,
        Self::USAGE,
        Self::REFUSED,
        Self::NOT_FOUND,
        Self::HELD,
        Self::TIMED_OUT,
        Self::INTERRUPTED,
        Self::TERMINATED,
    ];

    /// The end of a run, told by the code its shell is told.
    pub(crate) const fn of_run(code: u8) -> Self {
        Self { code, meaning: "as the run ended" }
    }

    /// The exit of two things that were both waited for: that of the first which did not end with 0.
    pub(crate) const fn and(self, next: Self) -> Self {
        if self.code == Self::DONE.code { next } else { self }
    }

    /// The list for the help text.
    pub(crate) fn list() -> String {
        let line = |exit: &Self| format!("\n  {:>3}  {}", exit.code, exit.meaning);
        format!("Exit codes:{}", Self::ALL.iter().map(line).collect::<String>())
    }
}

impl PartialEq for Exit {
    fn eq(&self, other: &Self) -> bool {
        self.code == other.code
    }
}

// The codes of a run are the session machine's; a shell must not read two meanings.
const _: () = {
    assert!(matches!(SessionState::Completed.exit_code(), Some(code) if code == Exit::DONE.code));
    assert!(matches!(SessionState::Failed.exit_code(), Some(code) if code == Exit::FAILED.code));
    assert!(matches!(SessionState::TimedOut.exit_code(), Some(code) if code == Exit::TIMED_OUT.code));
    assert!(matches!(SessionState::Aborted.exit_code(), Some(code) if code == Exit::INTERRUPTED.code));
    assert!(matches!(SessionState::Cancelled.exit_code(), Some(code) if code == Exit::TERMINATED.code));
};

/// Everything a command can fail with.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The words on the command line.
    #[error("the command line is not understood")]
    CommandLine {
        /// What is wrong with them.
        because: String,
        /// What to write instead.
        instead: String,
    },
    /// One line of input.
    #[error("line {number} is not answered")]
    Line {
        /// Counted from 1.
        number: u64,
        /// What is wrong with it.
        because: String,
        /// What to write instead.
        instead: String,
    },
    /// Standard input.
    #[error("the input cannot be read")]
    Read(#[source] io::Error),
    /// Standard output.
    #[error("the output cannot be written")]
    Write(#[source] io::Error),
    /// A file that should have been written.
    #[error("{} cannot be written", .0.display())]
    File(PathBuf, #[source] io::Error),
    /// A file that should have been read.
    #[error("{} cannot be read", .0.display())]
    Input(PathBuf, #[source] io::Error),
    /// A file that would have been overwritten.
    #[error("{} is there already", .0.display())]
    Occupied(PathBuf),
    /// No store where one is looked for.
    #[error("there is no store at {}", .0.display())]
    NoStore(PathBuf),
    /// A store that is hidden, because this is called inside of a sandbox.
    #[error("the store is out of reach inside of a sandbox")]
    InSandbox(#[source] Box<Self>),
    /// A store that does not open.
    #[error("the store at {0} cannot be opened")]
    Open(String, #[source] OpenError),
    /// A question to the store.
    #[error("the store cannot be asked")]
    Ask(#[source] ReadError),
    /// A command that the store could not take.
    #[error("nothing was recorded")]
    Append(#[source] Fault),
    /// A command that the kernel did not allow.
    #[error("refused: {}", .0.code)]
    Refused(Box<Refusal>),
    /// Something that only a person may do, asked for from inside a run.
    #[error("{act} needs a person")]
    NeedsPerson {
        /// What was asked for.
        act: &'static str,
        /// The run it was asked from.
        run: Option<String>,
        /// What shows that it was.
        shown_by: String,
    },
    /// Nothing under an id.
    #[error("there is nothing called {0}")]
    NoEntity(String),
    /// Nothing under an id at the moment that is looked at.
    #[error("there was no {id}")]
    NotYet {
        /// The id.
        id: EntityId,
        /// The moment.
        at: String,
    },
    /// No record at a place in the log.
    #[error("there is no record {seq}")]
    NoRecord {
        /// The place.
        seq: u64,
        /// The newest record.
        head: u64,
    },
    /// The beginning of several ids.
    #[error("{typed} is not one id")]
    Ambiguous {
        /// What was typed.
        typed: String,
        /// What it may mean.
        candidates: String,
    },
    /// A file that was not taken in.
    #[error("{0} is not imported")]
    Import(String, #[source] ImportError),
    /// Settings that are not understood.
    #[error("the settings are not understood")]
    Settings(#[source] SettingsError),
    /// A contract that cannot be kept to.
    #[error("the contract is not understood")]
    Contract(#[source] callboard_delivery::Error),
    /// A plan with flaws.
    #[error("{file} is not imported")]
    Plan {
        /// The file.
        file: String,
        /// Everything that is wrong with it.
        flaws: Vec<Flaw>,
    },
    /// A run that was not started.
    #[error(transparent)]
    Run(RunError),
    /// The process that should supervise in the background.
    #[error("the run cannot be put in the background")]
    Shim(#[source] io::Error),
    /// The tools of the task board.
    #[error("the task board cannot be offered as tools")]
    Mcp(#[source] callboard_mcp::StdioError),
    /// The directory a run is to work in.
    #[error("{} cannot be worked in", .0.display())]
    Cwd(PathBuf, #[source] io::Error),
    /// A run whose recipe was not kept.
    #[error("{0} cannot be run again")]
    NoRecipe(EntityId),
    /// A run whose recipe is not known to be the one it was started with.
    #[error("{0} is not run again")]
    ChangedRecipe(EntityId, &'static str),
    /// A task whose difference cannot be shown.
    #[error("there is no diff of {id}")]
    NoDiff {
        /// The task.
        id: EntityId,
        /// Why not.
        because: String,
        /// What to do instead.
        instead: String,
    },
    /// A run whose output was not kept.
    #[error("there is no output of {0}")]
    NoOutput(EntityId),
    /// Records that did not move to a file.
    #[error("nothing was archived")]
    Archive(#[source] ArchiveError),
    /// A backup that was not made or not restored.
    #[error("{}", of_backup(.0))]
    Backup(#[source] BackupError),
    /// A server that did not start.
    #[error("the server is not started")]
    Serve(#[source] ServeError),
    /// A record that does not hold.
    #[error("the log does not hold at record {seq}")]
    Corrupt {
        /// Its place.
        seq: u64,
        /// What is wrong with it.
        problem: String,
    },
}

impl Error {
    /// How the process ends for this.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::CommandLine { .. }
            | Self::Line { .. }
            | Self::Ambiguous { .. }
            | Self::Contract(_)
            | Self::Plan { .. }
            | Self::Settings(_)
            | Self::Serve(ServeError::Remote(_) | ServeError::Traces(_)) => Exit::USAGE,
            Self::Refused(_) | Self::NeedsPerson { .. } | Self::InSandbox(_) | Self::ChangedRecipe(..) => {
                Exit::REFUSED
            }
            Self::NoStore(_)
            | Self::NoEntity(_)
            | Self::NotYet { .. }
            | Self::NoRecord { .. }
            | Self::NoRecipe(_)
            | Self::NoDiff { .. }
            | Self::NoOutput(_) => Exit::NOT_FOUND,
            Self::Input(_, cause) if cause.kind() == io::ErrorKind::NotFound => Exit::NOT_FOUND,
            Self::Open(_, cause) if cause.is_busy() => Exit::HELD,
            Self::Ask(cause)
            | Self::Import(_, ImportError::Store(cause))
            | Self::Archive(ArchiveError::Store(cause))
            | Self::Backup(BackupError::Store(cause))
                if cause.is_busy() =>
            {
                Exit::HELD
            }
            Self::Append(Fault::Busy) | Self::Backup(BackupError::Held(_)) => Exit::HELD,
            Self::Run(RunError::NotRecorded(cause)) => match cause.as_ref() {
                RecordError::Open(cause) if cause.is_busy() => Exit::HELD,
                RecordError::Append(AppendError::Fault(Fault::Busy)) => Exit::HELD,
                RecordError::Append(AppendError::Refused(_)) => Exit::REFUSED,
                RecordError::Open(_) | RecordError::Append(AppendError::Fault(_)) => Exit::FAILED,
            },
            Self::Read(_)
            | Self::Write(_)
            | Self::File(..)
            | Self::Input(..)
            | Self::Occupied(_)
            | Self::Open(..)
            | Self::Ask(_)
            | Self::Append(_)
            | Self::Import(..)
            | Self::Run(_)
            | Self::Shim(_)
            | Self::Mcp(_)
            | Self::Cwd(..)
            | Self::Archive(_)
            | Self::Backup(_)
            | Self::Serve(_)
            | Self::Corrupt { .. } => Exit::FAILED,
        }
    }

    /// Did whoever read the output leave? It has what it wanted.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Write(cause) if cause.kind() == io::ErrorKind::BrokenPipe)
    }

    /// The three lines.
    pub(crate) fn report(&self) -> String {
        let (because, instead) = self.why_and_what_next();
        let mut flawed = String::new();
        if let Self::Plan { file, flaws } = self {
            flawed.extend(flaws.iter().map(|flaw| one_line(&format!("{file}:{flaw}")) + "\n"));
        }
        line(ERROR, "error:", &self.to_string())
            + &flawed
            + &line(LEAD, "  because:", &because)
            + &line(LEAD, "  try:", &instead)
    }

    /// Why, and what to do next.
    pub(crate) fn why_and_what_next(&self) -> (String, String) {
        let (because, instead) = match self {
            Self::CommandLine { because, instead }
            | Self::Line { because, instead, .. }
            | Self::NoDiff { because, instead, .. } => {
                return (because.clone(), instead.clone());
            }
            Self::Refused(refusal) => return (refusal.message.clone(), refusal.help.clone()),
            Self::NeedsPerson { run, shown_by, .. } => {
                let run = run.as_deref().unwrap_or("a run");
                return (
                    format!("this is called from inside {run}, as {shown_by} shows"),
                    "let a person do it outside of the run: docs/security.md".to_owned(),
                );
            }
            Self::Open(_, cause) => return (told(cause), advice::on_opening(cause).to_owned()),
            Self::Ask(cause) => return (told(cause), advice::on_asking(cause).to_owned()),
            Self::Append(cause) => return (told(cause), advice::on_writing(cause).to_owned()),
            Self::Corrupt { seq, problem } => return (problem.clone(), advice::on_damage(*seq)),
            Self::Import(_, ImportError::Store(cause)) => {
                return (told(cause), advice::on_asking(cause).to_owned());
            }
            Self::Settings(cause) => (told(cause), "docs/notifications.md lists the settings"),
            Self::Plan { flaws, .. } => return advice::on_flaws(flaws.len()),
            Self::Contract(cause) => (cause.to_string(), "docs/artifacts.md says what a contract may hold"),
            Self::Run(cause) => return of_run(cause),
            Self::Shim(cause) => (cause.to_string(), "leave --detach out and run it in the foreground"),
            Self::Mcp(cause) => {
                (told(cause), "an agent program starts `callboard mcp` and speaks MCP with it: docs/mcp.md")
            }
            Self::Cwd(_, cause) => (cause.to_string(), "change to a directory that is there"),
            Self::NoRecipe(_) => (
                "what was typed is not kept on this host, or it was not started by `callboard run`"
                    .to_owned(),
                "callboard inspect ID shows what was run; start it with callboard run",
            ),
            Self::ChangedRecipe(id, why) => return advice::on_changed_recipe(*id, why),
            Self::NoOutput(_) => (
                "none is kept on this host, or it was not started by `callboard run`".to_owned(),
                "callboard inspect ID says where it ran",
            ),
            Self::Import(_, cause) => {
                (told(cause), "nothing was changed; export it again where it comes from")
            }
            Self::Archive(cause) => return (told(cause), advice::on_archiving(cause).to_owned()),
            Self::Backup(cause) => return (told(cause), advice::on_backing_up(cause).to_owned()),
            Self::Serve(cause) => return (told(cause), advice::on_serving(cause).to_owned()),
            Self::Read(cause) => (cause.to_string(), "give a file or a pipe on standard input"),
            Self::Write(cause) => (cause.to_string(), "look at where the output goes: is there space?"),
            Self::File(_, cause) => (cause.to_string(), "name a directory that can be written"),
            Self::Input(_, cause) => {
                (cause.to_string(), "name a file that can be read, or - for standard input")
            }
            Self::Occupied(_) => ("nothing is overwritten".to_owned(), "name a file that does not exist yet"),
            Self::InSandbox(_) => out_of_reach(),
            Self::NoStore(_) => (
                "no file is there: nothing was recorded yet, or it was moved or removed".to_owned(),
                "start something: callboard run -- COMMAND; or name another store: --store PATH",
            ),
            Self::NoEntity(_) => {
                ("no id begins like this".to_owned(), "callboard ps --all lists what there is")
            }
            Self::NotYet { at, .. } => (format!("it was recorded after {at}"), "look at a later moment"),
            Self::NoRecord { head, .. } => (format!("the log ends at {head}"), "a number from 0 to that"),
            Self::Ambiguous { candidates, .. } => {
                (format!("it is how these begin: {candidates}"), "type more of it")
            }
        };
        (because, instead.to_owned())
    }

    /// Writes the three lines to standard error.
    pub(crate) fn tell(&self) {
        tell(&self.report());
    }
}

/// One line of an error. Words of others may be in it, and addresses with passwords.
fn line(style: Style, lead: &str, text: &str) -> String {
    format!("{} {}\n", paint(style, lead), one_line(&redact::text(text)))
}

/// Writes to standard error. Nobody is left to tell when that fails.
pub(crate) fn tell(text: &str) {
    let mut stderr = anstream::stderr().lock();
    if stderr.write_all(steady(text).as_bytes()).is_ok() {
        drop(stderr.flush());
    }
}

/// What to write instead of an unknown word; `all` helps where nothing is near it.
pub(crate) fn instead_of(unknown: &UnknownWord, all: &str) -> String {
    if unknown.nearest.is_empty() { all.to_owned() } else { one_of(&unknown.nearest) }
}

/// Shows what the parser has to show: help and version are answers, the rest is an error.
pub(crate) fn show_help_or_refuse(refusal: &clap::Error) -> Result<Exit, Error> {
    let kind = refusal.kind();
    let is_asked_for = kind == ErrorKind::DisplayHelp || kind == ErrorKind::DisplayVersion;
    if !is_asked_for && kind != ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return Err(Error::CommandLine { because: because(refusal), instead: instead(refusal) });
    }
    refusal.print().map_err(Error::Write)?;
    Ok(if is_asked_for { Exit::DONE } else { Exit::USAGE })
}

/// The first paragraph of what the parser says, on one line.
fn because(refusal: &clap::Error) -> String {
    if let Some(ContextValue::String(custom)) = refusal.get(ContextKind::Custom) {
        return custom.clone();
    }
    let text = refusal.render().to_string();
    let paragraph = text.trim_start_matches("error: ").lines().take_while(|line| !line.trim().is_empty());
    let told: Vec<&str> =
        paragraph.map(str::trim).filter(|line| !line.starts_with("[possible values")).collect();
    told.join(" ")
}

/// The words the parser thinks were meant, or those it would have taken, or else how the command is used.
fn instead(refusal: &clap::Error) -> String {
    if let Some(ContextValue::Strings(verbs)) = refusal.get(ContextKind::SuggestedSubcommand) {
        // The parser lists the nearest last.
        return one_of(verbs.iter().rev());
    }
    let meant = [ContextKind::SuggestedArg, ContextKind::SuggestedValue, ContextKind::ValidValue];
    for value in meant.into_iter().filter_map(|kind| refusal.get(kind)) {
        if let ContextValue::String(word) = value {
            return word.clone();
        }
        if let ContextValue::Strings(words) = value
            && !words.is_empty()
        {
            return one_of(words);
        }
    }
    if let Some(ContextValue::StyledStr(usage)) = refusal.get(ContextKind::Usage) {
        return usage.to_string().trim_start_matches("Usage: ").to_owned();
    }
    "callboard --help".to_owned()
}

/// What a backup was to do.
const fn of_backup(error: &BackupError) -> &'static str {
    match error {
        BackupError::Held(_) | BackupError::Wal(_) => "the backup is not restored",
        BackupError::Occupied(_) => "nothing is overwritten",
        BackupError::File { .. } | BackupError::Open(_) | BackupError::Store(_) | BackupError::Segment(_) => {
            "the backup is not complete"
        }
    }
}

/// Why something was not recorded, and what to do.
fn of_record(error: &RecordError) -> (String, String) {
    match error {
        RecordError::Open(cause) => (told(cause), advice::on_opening(cause).to_owned()),
        RecordError::Append(AppendError::Refused(refusal)) => (refusal.message.clone(), refusal.help.clone()),
        RecordError::Append(AppendError::Fault(fault)) => (told(fault), advice::on_writing(fault).to_owned()),
    }
}

/// An end that is not in the store: why, and where it is. The run's own exit code is not touched by it.
pub(crate) fn not_recorded(unrecorded: &Unrecorded) -> String {
    let (because, instead) = of_record(&unrecorded.because);
    let (lost, next) = match &unrecorded.kept {
        Some(Ok(path)) => (
            format!("its end is not recorded; it is kept in {}", path.display()),
            format!("{instead}; the next callboard command that can write the store records it"),
        ),
        Some(Err(cause)) => (format!("its end is not recorded and could not be kept: {cause}"), instead),
        None => ("its end is not recorded".to_owned(), instead),
    };
    line(ERROR, "error:", &lost) + &line(LEAD, "  because:", &because) + &line(LEAD, "  try:", &next)
}

/// Why a run was not started, and what to do.
fn of_run(error: &RunError) -> (String, String) {
    match error {
        RunError::Dir(_, cause) => {
            (cause.to_string(), "name a store in a directory that can be written".to_owned())
        }
        RunError::Identity(cause) => {
            (cause.to_string(), "mount /proc, which tells processes apart".to_owned())
        }
        RunError::NotRecorded(cause) => of_record(cause),
    }
}

fn one_of<T: AsRef<str>>(words: impl IntoIterator<Item = T>) -> String {
    let words: Vec<String> = words.into_iter().map(|word| word.as_ref().to_owned()).collect();
    if words.len() == 1 { words.concat() } else { format!("one of {}", words.join(", ")) }
}

/// Why a store is not reached inside of a sandbox, and what to do.
fn out_of_reach() -> (String, &'static str) {
    (
        "the sandbox hides the store, its keys and the output of every run".to_owned(),
        "callboard heartbeat reaches the supervisor; for notes use HTTP with an agent token, or --store PATH inside",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_has_three_lines_that_say_what_why_and_what_next() {
        let error =
            Error::Line { number: 7, because: "unknown health \"okk\"".to_owned(), instead: "ok".to_owned() };
        let plain = anstream::adapter::strip_str(&error.report()).to_string();
        assert_eq!(plain, "error: line 7 is not answered\n  because: unknown health \"okk\"\n  try: ok\n");
    }

    #[test]
    fn what_another_writer_holds_and_what_is_not_there_have_exits_of_their_own() {
        assert_eq!(Error::Append(Fault::Busy).exit(), Exit::HELD);
        assert_eq!(Error::Append(Fault::Full).exit(), Exit::FAILED);
        assert_eq!(Error::NoStore(PathBuf::from("s.db")).exit(), Exit::NOT_FOUND);
        assert_eq!(Error::NoRecord { seq: 7, head: 3 }.exit(), Exit::NOT_FOUND);
        let missing = io::Error::from(io::ErrorKind::NotFound);
        assert_eq!(Error::Input(PathBuf::from("x.jsonl"), missing).exit(), Exit::NOT_FOUND);
    }

    #[test]
    fn a_failure_is_never_hidden_by_a_success_before_or_after_it() {
        let codes = [0, 1, 3, 124, 130, 143, 255];
        for first in codes {
            for second in codes {
                let both = Exit::DONE.and(Exit::of_run(first)).and(Exit::of_run(second));
                assert_eq!(both.code, if first == 0 { second } else { first }, "{first} and {second}");
            }
        }
        assert_eq!(Exit::of_run(0), Exit::DONE);
    }

    #[test]
    fn no_two_exits_share_a_code_and_all_are_listed() {
        for (i, a) in Exit::ALL.iter().enumerate() {
            assert!(Exit::list().contains(&format!("{:>3}  {}", a.code, a.meaning)));
            assert!(Exit::ALL[..i].iter().all(|b| b.code != a.code), "{}", a.code);
        }
    }
}
