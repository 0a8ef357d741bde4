//! Sets the agent's own account of its end against the exit code.
//!
//! Invariant: an end is clean only if both say so. An agent that reports a failure has failed although it exits with 0,
//! because some programs never set another code; one that reports success and then exits with another code, or is ended
//! by a signal, has not ended cleanly. A clean exit without the agent's end is not a clean end. The sentence says what
//! was reported and what was read, and not which of them decides: that is said where it is decided. Not here: timeouts,
//! stops and memory, which the supervisor knows and which come before all this.

use serde::Serialize;

use crate::end::{AgentEnd, Cause, Failure};
use crate::program::{ExitCode, Program};
use crate::summary::{KilledTool, Note, Summary};

/// What to believe of an agent's end, and why.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Verdict {
    /// How the agent's account and the exit code stand to each other.
    pub standing: Standing,
    /// The end that the agent reported, or that its exit code explains; none if there is nothing but the exit code.
    pub end: Option<AgentEnd>,
    /// The same in a sentence for people.
    pub sentence: String,
    /// The tools that the agent asked for and was not allowed to use.
    pub denied: Vec<String>,
    /// The tools whose process was killed.
    pub killed_tools: Vec<KilledTool>,
    /// The program that is known to exit with 0 after failures, if the exit code is all there is to go by.
    pub exit_code_hides: Option<Program>,
}

/// How the agent's account and the exit code stand to each other.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Both say the same.
    Agrees,
    /// The program reports no end, so the exit code alone tells.
    ExitCodeAlone,
    /// The program should have reported an end and did not.
    NoEndEvent,
    /// The agent reported no end, and the exit code is one whose meaning its vendor documents.
    ExitCodeExplains,
    /// The agent reported a failure and exited with 0.
    ExitHidesFailure,
    /// The agent reported success, and the exit code or a signal says otherwise.
    ExitDeniesSuccess,
}

impl Verdict {
    /// Whether the agent ended cleanly by what is to be believed; none if only the exit code can tell.
    pub fn is_clean(&self) -> Option<bool> {
        match self.standing {
            Standing::ExitCodeAlone => None,
            Standing::NoEndEvent | Standing::ExitDeniesSuccess => Some(false),
            Standing::Agrees | Standing::ExitCodeExplains | Standing::ExitHidesFailure => {
                Some(self.end.as_ref().is_some_and(AgentEnd::is_success))
            }
        }
    }
}

/// Judges the end of a run; `exit` is none if a signal ended the program.
pub fn verdict(summary: &Summary, exit: Option<i32>) -> Verdict {
    let (standing, end, sentence) = weigh(summary, exit);
    let hides = |program: &Program| program.exit_code() == ExitCode::HidesFailures;
    let is_alone = standing == Standing::ExitCodeAlone && exit == Some(0);
    Verdict {
        standing,
        end,
        sentence,
        denied: summary.denied.clone(),
        killed_tools: summary.killed_tools.clone(),
        exit_code_hides: summary.launched.filter(|program| is_alone && hides(program)),
    }
}

/// How the two stand to each other, the end, and both in a sentence.
type Weighed = (Standing, Option<AgentEnd>, String);

fn weigh(summary: &Summary, exit: Option<i32>) -> Weighed {
    let program = summary.program;
    if !program.reports_end() && summary.end.is_none() {
        let who = if program == Program::Plain { "the program" } else { program.name() };
        let sentence = format!("{who} reports no end of its own; {}", exit_words(exit));
        return (Standing::ExitCodeAlone, None, sentence);
    }
    let documented = exit.and_then(|code| documented_end(program, code, summary));
    match (&summary.end, documented) {
        (None, Some(end)) => {
            let words = end_words(&end, summary);
            let sentence =
                format!("{program} reported no end; {}, which means that {words}", exit_words(exit));
            (Standing::ExitCodeExplains, Some(end), sentence)
        }
        (None, None) => no_end(summary, exit),
        (Some(reported), documented) => compare(summary, reported, documented, exit),
    }
}

fn compare(
    summary: &Summary,
    reported: &AgentEnd,
    documented: Option<AgentEnd>,
    exit: Option<i32>,
) -> Weighed {
    let program = summary.program;
    let words = end_words(reported, summary);
    let exited = exit_words(exit);
    match (reported.is_success(), exit) {
        (true, Some(0)) => (
            Standing::Agrees,
            Some(reported.clone()),
            format!("{program} reported that {words}, and {exited}"),
        ),
        (true, _) => (
            Standing::ExitDeniesSuccess,
            Some(reported.clone()),
            format!("{program} reported that {words}, but {exited}"),
        ),
        (false, Some(0)) => (
            Standing::ExitHidesFailure,
            Some(reported.clone()),
            format!("{program} reported that {words}, but {exited}"),
        ),
        (false, _) => {
            // The code can name the cause more closely than the event did.
            let end = match (reported.failure().map(|failure| failure.cause), documented) {
                (Some(Cause::Other | Cause::UnknownEnd), Some(end)) => end,
                _ => reported.clone(),
            };
            let sentence = format!("{program} reported that {}, and {exited}", end_words(&end, summary));
            (Standing::Agrees, Some(end), sentence)
        }
    }
}

fn no_end(summary: &Summary, exit: Option<i32>) -> Weighed {
    let program = summary.program;
    let is_cut = summary.notes.contains(&Note::CutStream);
    let seen = match (summary.events, summary.ends) {
        _ if is_cut => "stopped in the middle of an event".to_owned(),
        (0, _) => "printed no event at all".to_owned(),
        (1, 0) => "printed 1 event, and that is no end".to_owned(),
        (events, 0) => format!("printed {events} events and no end among them"),
        (_, _) => "went on after it had reported an end, and reported no other".to_owned(),
    };
    let sentence = format!("{program} {seen}, and {}; that is not a clean end", exit_words(exit));
    (Standing::NoEndEvent, None, sentence)
}

/// The exit codes that Gemini CLI gives a meaning of their own.
fn documented_end(program: Program, code: i32, summary: &Summary) -> Option<AgentEnd> {
    if program != Program::Gemini {
        return None;
    }
    let cause = match code {
        41 => Cause::Login,
        42 | 44 | 52 | 55 => Cause::Startup,
        53 => Cause::MaxTurns,
        54 => Cause::Tool,
        130 => return Some(AgentEnd::Interrupted { vendor: "exit 130".to_owned() }),
        _ => return None,
    };
    let message =
        summary.end.as_ref().and_then(AgentEnd::failure).and_then(|failure| failure.message.clone());
    let failure = Failure { cause, message, vendor: format!("exit {code}") };
    let is_partial = summary.last_message.is_some() && cause.leaves_text();
    Some(if is_partial { AgentEnd::PartialFailed(failure) } else { AgentEnd::Failed(failure) })
}

fn end_words(end: &AgentEnd, summary: &Summary) -> String {
    let mut words = match end {
        AgentEnd::Completed { truncated: false } => "it completed".to_owned(),
        AgentEnd::Completed { truncated: true } => {
            "it completed with an answer cut at the model's limit".to_owned()
        }
        AgentEnd::PartialFailed(failure) => format!("{} after useful text", failure_words(failure)),
        AgentEnd::Failed(failure) => failure_words(failure),
        AgentEnd::Interrupted { vendor } => format!("it was interrupted ({vendor})"),
    };
    match summary.children.len() {
        0 => {}
        1 => words.push_str(" and left 1 background task running"),
        count => words.push_str(&format!(" and left {count} background tasks running")),
    }
    words
}

fn failure_words(failure: &Failure) -> String {
    let cause = failure.cause.words();
    match failure.message.as_deref().and_then(|message| message.lines().next()) {
        Some(message) => {
            let message = crate::tally::bounded(message, 200);
            format!("{cause} ({}: {message})", failure.vendor)
        }
        None => format!("{cause} ({})", failure.vendor),
    }
}

fn exit_words(exit: Option<i32>) -> String {
    match exit {
        Some(code) => format!("the exit code is {code}"),
        None => "it was killed by a signal".to_owned(),
    }
}
