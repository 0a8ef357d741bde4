//! `callboard task add`: puts a task on the board.
//!
//! Invariant: what is typed becomes a request as every surface sends it, and the engine checks it. Deliberately absent: defaults of the
//! fields, which are the engine's; only where the task is worked on follows from where this is called.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use callboard_engine::tasks::NewTask;
use callboard_kernel::abort::OnChildFailure;
use callboard_kernel::task::Scope;
use callboard_ledger::Ledger;
use callboard_lifecycle::Words;
use callboard_wire::TaskRequest;
use clap::{Args, ValueEnum};

use super::answer::{asking, dependency, in_words, not_done, task_id, tell};
use crate::error::{Error, Exit};
use crate::input::moment::span;
use crate::input::word::{Reading, WordParser, pair};
use crate::show::screen::Screen;
use crate::store::Store;

/// The longest prompt that is read from standard input; the engine says what a task may have.
const PROMPT_BYTES_MAX: u64 = 1024 * 1024;

/// Add a task to the board, open to be claimed.
///
/// Prints its id. It works on the git repository around the current directory unless --repo names another. From inside a run
/// no task can be added that runs commands.
#[derive(Args, Debug)]
pub(crate) struct AddArgs {
    /// What is to be done, in a few words.
    #[arg(value_name = "TITLE")]
    title: String,
    /// What the agent is told; the title unless given. A dash reads it from standard input.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    prompt: Option<String>,
    /// Only workers with this role, and workers without one, claim it.
    #[arg(long, value_name = "ROLE")]
    role: Option<String>,
    /// How much work it is; it sets how long an attempt may take. medium unless given.
    #[arg(long, value_name = "SCOPE", value_parser = WordParser::<Scope>::new())]
    scope: Option<Scope>,
    /// The lowest number is claimed first; 2 unless given.
    #[arg(long, value_name = "N")]
    priority: Option<i64>,
    /// A label. May be given several times.
    #[arg(long = "label", value_name = "NAME=VALUE", value_parser = Reading(pair))]
    labels: Vec<(String, String)>,
    /// The task it is part of, which waits for it.
    #[arg(long, value_name = "ID")]
    parent: Option<String>,
    /// How often it is tried again after a failure; 3 unless given.
    #[arg(long, value_name = "N")]
    max_retries: Option<i64>,
    /// How long one attempt may take, such as 45m; what its scope says unless given.
    #[arg(long, value_name = "SPAN", value_parser = Reading(span))]
    timeout: Option<Duration>,
    /// What is called off when one of its parts fails: nothing (contain), the other parts (siblings), or all of it (session).
    #[arg(long, value_name = "POLICY", value_parser = WordParser::<OnChildFailure>::new())]
    on_child_failure: Option<OnChildFailure>,
    #[command(flatten)]
    waits: WaitArgs,
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    checks: CheckArgs,
    /// The task as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "What it waits for")]
struct WaitArgs {
    /// Only after this task is closed; with :ended behind the id, also after it failed or was cancelled. May be given several times.
    #[arg(long = "after", value_name = "ID[:ended]")]
    after: Vec<String>,
    /// Only after person:TEXT is confirmed with task unblock, after time:RFC3339, or once command:COMMAND or merged:COMMAND
    /// succeeds. May be given several times.
    #[arg(long = "gate", value_name = "GATE")]
    gates: Vec<String>,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Where it is worked on")]
struct PlaceArgs {
    /// The git repository.
    #[arg(long, value_name = "DIR")]
    repo: Option<PathBuf>,
    /// The branch that it begins from and is merged into; the one that the repository is on unless given.
    #[arg(long, value_name = "BRANCH")]
    base: Option<String>,
    /// A path that no other task may work on at the same time. May be given several times.
    #[arg(long, value_name = "PATH")]
    files: Vec<String>,
    /// How a verified result is delivered; merge unless given.
    #[arg(long, value_name = "HOW", value_enum)]
    deliver: Option<Delivered>,
    /// A person must approve the result before it is merged.
    #[arg(long)]
    approval: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Delivered {
    /// Merged into the base branch.
    Merge,
    /// Left on a branch of its own.
    Branch,
    /// Opened as a pull request by the command of your settings, and followed until it is merged.
    Pr,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "What must hold before it is merged")]
struct CheckArgs {
    /// A command that must succeed in its worktree. May be given several times.
    #[arg(long, value_name = "COMMAND")]
    verify: Vec<String>,
    /// A path or glob that must be there. May be given several times.
    #[arg(long, value_name = "PATH")]
    expect: Vec<String>,
    /// A file that must contain a text. May be given several times.
    #[arg(long, value_name = "PATH=TEXT")]
    contains: Vec<String>,
    /// A JSON file that must fit a JSON schema. May be given several times.
    #[arg(long, value_name = "PATH=SCHEMA")]
    schema: Vec<String>,
    /// A file of the repository with an artifact contract that must hold.
    #[arg(long, value_name = "FILE")]
    contract: Option<String>,
    /// A command that reviews the work after all other checks, and fails to reject it.
    #[arg(long, value_name = "COMMAND")]
    review: Option<String>,
    /// Something must have changed.
    #[arg(long)]
    expect_diff: bool,
}

impl AddArgs {
    /// Adds it.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        let prompt = self.prompt.as_deref().map(prompt_of).transpose()?;
        let ledger = store.open()?;
        let asking = asking(&ledger)?;
        let request = self.request(&ledger, prompt)?;
        let new = NewTask::read(&request, asking.actor.class).map_err(in_words)?;
        match asking.add(new) {
            Ok(id) if self.json => tell(screen, &ledger, id, true)?,
            Ok(id) => screen.print(&format!("{id}\n"))?,
            Err(error) => return not_done(screen, self.json, error),
        }
        Ok(Exit::DONE)
    }

    fn request(&self, ledger: &Ledger, prompt: Option<String>) -> Result<TaskRequest, Error> {
        let Self { waits, place, checks, .. } = self;
        let after = waits.after.iter().map(|typed| dependency(ledger, typed)).collect::<Result<_, _>>()?;
        let parent = self.parent.as_deref().map(|typed| task_id(ledger, typed)).transpose()?;
        let deliver = place.deliver.map(|how| match how {
            Delivered::Merge => "merge".to_owned(),
            Delivered::Branch => "branch".to_owned(),
            Delivered::Pr => "pr".to_owned(),
        });
        Ok(TaskRequest {
            title: self.title.clone(),
            prompt,
            role: self.role.clone(),
            priority: self.priority,
            scope: self.scope.map(|scope| scope.name().to_owned()),
            labels: self.labels.iter().cloned().collect(),
            after,
            gates: waits.gates.clone(),
            files: place.files.clone(),
            repo: repo(place.repo.as_deref())?,
            base: place.base.clone(),
            verify: checks.verify.clone(),
            expect: checks.expect.clone(),
            contains: checks.contains.clone(),
            schema: checks.schema.clone(),
            contract: checks.contract.clone(),
            review: checks.review.clone(),
            expect_diff: checks.expect_diff,
            max_retries: self.max_retries,
            timeout_s: self.timeout.map(|span| span.as_secs_f64()),
            on_child_failure: self.on_child_failure.map(|policy| policy.name().to_owned()),
            parent: parent.map(|id| id.to_string()),
            approval: place.approval,
            deliver,
        })
    }
}

/// The prompt that is meant: what was typed, or standard input.
pub(super) fn prompt_of(typed: &str) -> Result<String, Error> {
    if typed != "-" {
        return Ok(typed.to_owned());
    }
    stdin_text(PROMPT_BYTES_MAX)
}

/// Standard input as text, if it is no longer than this.
pub(super) fn stdin_text(max: u64) -> Result<String, Error> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().take(max + 1).read_to_end(&mut bytes).map_err(Error::Read)?;
    if bytes.len() as u64 > max {
        return Err(Error::Read(std::io::Error::other(format!("it has more than {max} bytes"))));
    }
    String::from_utf8(bytes).map_err(|_| Error::Read(std::io::Error::other("it is no UTF-8 text")))
}

/// The repository that is meant, as an absolute path: the one that was named, or the one around the current directory.
pub(super) fn repo(named: Option<&Path>) -> Result<Option<String>, Error> {
    let found = match named {
        Some(path) => Some(absolute(path)?),
        None => {
            let here = absolute(Path::new("."))?;
            here.ancestors().find(|path| path.join(".git").exists()).map(Path::to_owned)
        }
    };
    let text = |path: PathBuf| {
        path.into_os_string().into_string().map_err(|path| Error::CommandLine {
            because: format!("{} is no UTF-8 text", path.display()),
            instead: "a repository whose path is".to_owned(),
        })
    };
    found.map(text).transpose()
}

/// A path as it is seen from everywhere. One that is not there may be on another host.
fn absolute(path: &Path) -> Result<PathBuf, Error> {
    let lexical = || std::path::absolute(path).map_err(|source| Error::Input(path.to_owned(), source));
    path.canonicalize().or_else(|_| lexical())
}
