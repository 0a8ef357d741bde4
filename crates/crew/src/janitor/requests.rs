//! Delivery as a pull request: one command of the user opens or renews it, another one tells how it stands.
//!
//! Invariant: both commands come from the user's settings, not from a task; what a task holds is an argument of theirs and never read by a
//! shell. They run in the repository and not in the worktree, whose files the agent wrote. A task is closed only when the report says that
//! the request is merged. What checks and reviews say goes back to the agent once; the same words again are not told twice.
//! Deliberately absent: any forge.

use std::path::PathBuf;

use callboard_engine::tasks::{Rejection, TaskError, TaskFailure};
use callboard_engine::{Stream, output};
use callboard_kernel::{Facts, fact, task};
use callboard_ledger::Stored;
use callboard_lifecycle::ReasonCode;
use callboard_lifecycle::session::SessionState;
use callboard_lifecycle::task::TransitionReason;
use callboard_wire::RunRequest;
use serde::Deserialize;

use super::checks::{Site, parent_of};
use super::service::verdict;
use crate::crew::Crew;
use crate::outcome::ended;
use crate::pace::Pace;
use crate::profile::fill;

/// The most that is read of what a command printed.
const PRINTED_MAX: usize = 64 * 1024;
/// The longest name of a pull request.
const REQUEST_CHARS: usize = 2000;

/// The commands that open pull requests and tell how they stand.
///
/// Placeholders: {branch}, {base}, {tip}, {title}, {summary}, {task}, {repo}, {request}.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestCommands {
    /// Opens one, or renews the one that {request} names; its last line names the request.
    pub open: Vec<String>,
    /// Prints how {request} stands, as JSON.
    pub report: Vec<String>,
}

/// How a pull request stands, as the command of the user prints it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Report {
    state: RequestState,
    /// The commit that it was merged as.
    commit: Option<String>,
    /// What checks and reviews want to be changed.
    #[serde(default)]
    feedback: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RequestState {
    Open,
    Merged,
    Closed,
}

impl Crew {
    /// Opens the pull request of a verified task, or renews it.
    pub(super) fn open_request(&self, stored: &Stored) -> Result<(), TaskError> {
        let Some(commands) = &self.requests else {
            let problem = "no command opens pull requests: write [pull_requests] with open and report in callboard.toml, \
                           and start callboard work again";
            self.tell(&format!("{}: {problem}", stored.entity.state.id));
            return self.note_problem(stored, problem);
        };
        let printed = match self.ask_command(stored, "open a pull request", &commands.open)? {
            Ok(printed) => printed,
            Err(problem) => return self.note_problem(stored, &problem),
        };
        let last = printed.lines().rev().map(str::trim).find(|line| !line.is_empty());
        let Some(request) = last.filter(|line| line.chars().count() <= REQUEST_CHARS) else {
            let problem = "the command that opens a pull request named none: its last line must";
            return self.note_problem(stored, problem);
        };
        self.tell(&format!("{}: verified; {request} is to be merged", stored.entity.state.id));
        let tip = stored.entity.facts.read(fact::TIP);
        let data = Facts::none().and(fact::PULL_REQUEST, request).and(fact::PULL_REQUEST_TIP, tip);
        self.deliver_goes_on(stored.entity.state.id);
        self.asking(self.system_actor()).note_task_any(stored, data.and(fact::PROBLEM, None::<&str>))
    }

    /// Asks how the pull requests stand that tasks wait for.
    pub(super) fn follow_requests(
        &self,
        live: &[Stored],
        pace: &mut Pace,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<(), TaskError> {
        let Some(commands) = &self.requests else { return Ok(()) };
        for stored in live.iter().filter(|stored| self.is_here(stored)) {
            let Some(request) = task::awaited_request(&stored.entity) else { continue };
            let tip = stored.entity.facts.read(fact::PULL_REQUEST_TIP).unwrap_or_default();
            if !goes_on() || !pace.is_due(stored.entity.state.id, &format!("{request} {tip}")) {
                continue;
            }
            let told = match self.ask_command(stored, &format!("report on {request}"), &commands.report)? {
                Ok(printed) => serde_json::from_str::<Report>(&printed).map_err(|error| {
                    format!("the command that reports on pull requests printed no report: {error}")
                }),
                Err(problem) => Err(problem),
            };
            let acted = match told {
                Ok(report) => {
                    self.deliver_goes_on(stored.entity.state.id);
                    self.act_on(stored, request, &report)
                }
                Err(problem) => self.note_problem(stored, &problem),
            };
            match acted {
                // Somebody moved the task meanwhile; it is asked again.
                Ok(()) | Err(TaskError::Refused(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn act_on(&self, stored: &Stored, request: &str, report: &Report) -> Result<(), TaskError> {
        match report.state {
            RequestState::Merged => {
                let commit = Facts::none().and(fact::COMMIT, report.commit.as_deref());
                self.finish(stored, &commit, &format!("verified, and {request} is reported as merged"))
            }
            RequestState::Closed => {
                let told = format!("{request} was closed without being merged");
                self.send_back(stored, &told, report, true)
            }
            RequestState::Open if report.feedback.is_empty() => Ok(()),
            RequestState::Open => {
                let is_told = stored.entity.facts.read(fact::FEEDBACK) == Some(joined(report).as_str());
                if is_told {
                    return Ok(());
                }
                self.send_back(stored, &format!("{request} is to be changed"), report, false)
            }
        }
    }

    /// The task failed for what was said of its request; its agent goes on in the same session, unless that is the end.
    fn send_back(
        &self,
        stored: &Stored,
        told: &str,
        report: &Report,
        is_final: bool,
    ) -> Result<(), TaskError> {
        let feedback = joined(report);
        let message = if feedback.is_empty() { told.to_owned() } else { format!("{told}: {feedback}") };
        let failure =
            TaskFailure::new(const { ReasonCode::of("task.failed.verification") }, message.as_str());
        let failure = TaskFailure {
            canonical: Some(TransitionReason::Retry),
            data: Facts::none().and(fact::FEEDBACK, feedback.as_str()),
            is_final,
            ..failure
        };
        let rejection = Rejection { failure, verdicts: vec![verdict("the pull request", false, told)] };
        self.tell(&format!("{}: {told}", stored.entity.state.id));
        self.asking(self.system_actor()).reject(stored, &rejection)
    }

    /// Runs a command of the user in the repository of a task; what it printed, or what went wrong.
    fn ask_command(
        &self,
        stored: &Stored,
        title: &str,
        command: &[String],
    ) -> Result<Result<String, String>, TaskError> {
        let facts = &stored.entity.facts;
        let Some(repo) = facts.read(fact::REPO) else { return Ok(Err("it has no repository".to_owned())) };
        let (id, dir) = (stored.entity.state.id, PathBuf::from(repo));
        let task = id.to_string();
        let read = |name| facts.read(name).unwrap_or_default();
        let values = [
            ("{branch}", read(fact::BRANCH)),
            ("{base}", read(fact::BASE)),
            ("{tip}", read(fact::TIP)),
            ("{title}", read(fact::TITLE)),
            ("{summary}", read(fact::SUMMARY)),
            ("{task}", task.as_str()),
            ("{repo}", repo),
            ("{request}", read(fact::PULL_REQUEST)),
        ];
        let argv = command.iter().map(|word| fill(word, &values).as_str().into()).collect();
        let site = Site { task: id, parent: parent_of(stored), dir: &dir, git: None };
        let ran = self.run_to_end(&site, title, RunRequest::new(argv, repo.into()))?;
        Ok(ran.and_then(|ran| {
            let run = ran.entity.state.id;
            if ended(&ran.entity) != Some(SessionState::Completed) {
                let why = ran.entity.reasons.first().map_or("", |reason| reason.message.as_str());
                return Err(format!("the command to {title} did not succeed: {why} ({run})"));
            }
            printed(&ran).map_err(|error| format!("the output of {run} cannot be read: {error}"))
        }))
    }
}

fn joined(report: &Report) -> String {
    report.feedback.join("\n")
}

/// What a run wrote to its standard output, as far as it is read.
fn printed(run: &Stored) -> std::io::Result<String> {
    let dir = run.entity.facts.read(fact::DIR).unwrap_or_default();
    let whole = output::Log::open(dir)?.whole(Stream::Stdout)?;
    let mut bytes = Vec::new();
    while bytes.len() < PRINTED_MAX {
        let piece = whole.read_at(bytes.len() as u64, PRINTED_MAX - bytes.len())?;
        if piece.is_empty() {
            break;
        }
        bytes.extend(piece);
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
