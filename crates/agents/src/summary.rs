//! What an agent's stream has said so far, taken together.
//!
//! Invariant: a value is what the agent reported last, or `None` if it never did; totals that the agent itself
//! accumulates are replaced, never added up. Everything that grows with the stream has a bound, and what falls past it
//! is still counted. Not here: the events themselves, which are in the run's log byte for byte.

use serde::Serialize;

use crate::end::AgentEnd;
use crate::program::Program;
use crate::signal::Waiting;
use crate::usd::Usd;

/// The sum of one stream.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Summary {
    /// Whose stream it is.
    pub program: Program,
    /// The agent program that the command line names, also where its output is only text or a screen.
    pub launched: Option<Program>,
    /// The model that answers, as the agent names it.
    pub model: Option<String>,
    /// From where the model is known.
    pub model_by: Option<ModelBy>,
    /// The agent's own id of the conversation, with which it can be resumed.
    pub vendor_session: Option<String>,
    /// The agent's count of turns: model round-trips where it counts those, prompts otherwise.
    pub turns: Option<u64>,
    /// How many tools were called.
    pub tool_calls: u64,
    /// How many of their results were errors.
    pub tool_errors: u64,
    /// How many errors came since the last result that was none.
    pub errors_in_row: u64,
    /// What the agent says it used.
    pub tokens: Tokens,
    /// What the agent says it cost.
    pub cost_usd: Option<Usd>,
    /// How often a request to the model was made again.
    pub retries: u64,
    /// The retries since the model last answered.
    pub retrying: Option<Retrying>,
    /// How many steps in a row repeat one of the three before them, once there are enough to call it a loop.
    pub looping_steps: Option<u64>,
    /// The oldest tool call that has no result yet.
    pub open_tool: Option<OpenTool>,
    /// Whether it is summarising its context.
    pub is_compacting: bool,
    /// The tools that it asked for and was not allowed to use.
    pub denied: Vec<String>,
    /// The tools whose process was killed, as far as their results tell.
    pub killed_tools: Vec<KilledTool>,
    /// What the provider last said of its limits.
    pub rate_limit: Option<RateLimit>,
    /// What it is waiting for.
    pub waiting: Option<Waiting>,
    /// The beginning of the last thing it said.
    pub last_message: Option<String>,
    /// How it says it ended, unless it went on afterwards.
    pub end: Option<AgentEnd>,
    /// How many ends it reported; more than one where it went on after one.
    pub ends: u64,
    /// What it started in the background and has not ended.
    pub children: Vec<Child>,
    /// What is odd about the stream, each said once.
    pub notes: Vec<Note>,
    /// How many events were read.
    pub events: u64,
    /// How many of them are of a kind that is not known.
    pub unknown_events: u64,
    /// Those kinds, up to a bound.
    pub unknown_kinds: Vec<UnknownKind>,
    /// How many lines were text, not events.
    pub text_lines: u64,
    /// How many lines began like an event and were not one, or were too long to be read.
    pub broken_lines: u64,
}

/// From where the model is known.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelBy {
    /// The agent names it in its output.
    Stream,
    /// The command line asks for it.
    CommandLine,
    /// The agent's settings ask for it, which something else may override.
    Settings,
}

impl ModelBy {
    /// The word for it in a record.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stream => "stream",
            Self::CommandLine => "command line",
            Self::Settings => "settings",
        }
    }
}

/// Requests to the model that fail and are made again.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Retrying {
    /// How many in a row.
    pub count: u64,
    /// What went wrong last, in the vendor's words.
    pub last_error: String,
    /// The HTTP status of the last failure, if it had one.
    pub status: Option<u64>,
}

/// A tool call without a result.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct OpenTool {
    /// The vendor's id of the call.
    pub id: String,
    /// The tool.
    pub name: String,
}

/// A tool whose process was killed.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct KilledTool {
    /// The tool.
    pub tool: String,
    /// What its result tells, such as `exit code 137, as after SIGKILL`.
    pub how: String,
}

/// Tokens as the agent counts them; vendors differ in whether `input` includes what came from a cache.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
pub struct Tokens {
    /// What the model read.
    pub input: Option<u64>,
    /// What the model wrote.
    pub output: Option<u64>,
    /// What was read from a cache.
    pub cache_read: Option<u64>,
    /// What was written to a cache.
    pub cache_write: Option<u64>,
    /// Everything, where the agent gives only that.
    pub total: Option<u64>,
}

/// What the provider said of its limits.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct RateLimit {
    /// Whether requests are taken.
    pub status: LimitStatus,
    /// When the limit is lifted, in seconds since 1970.
    pub until_unix_s: Option<i64>,
    /// Which limit it is, in the vendor's words.
    pub detail: Option<String>,
}

/// Whether the provider takes requests.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitStatus {
    /// It does.
    Allowed,
    /// It does, and soon will not.
    Warning,
    /// It does not.
    Rejected,
}

/// Something the agent left running: a background command, a subagent.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Child {
    /// The vendor's id of it.
    pub id: String,
    /// What it is for, in the agent's words.
    pub description: Option<String>,
}

/// Something odd about a stream that a reader of its end should know.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(tag = "note", rename_all = "snake_case")]
pub enum Note {
    /// The stream stopped in the middle of an event.
    CutStream,
    /// The agent numbers its results, and at least one number is missing.
    LostResult {
        /// The number that should have come.
        expected: u64,
        /// The number that came.
        found: u64,
    },
    /// A total that only grows became smaller, so it began again and the earlier part is not in it.
    TotalsBeganAgain,
    /// The agent could not save its own transcript, so a resumed conversation may miss a part.
    WritesLost,
    /// A background task was found without the process that ran it.
    OrphanedChild {
        /// The vendor's id of it.
        id: String,
    },
    /// It reported success beside a reason that is not known here.
    UnknownReason {
        /// The vendor's word.
        reason: String,
    },
    /// It reported an error and then success.
    ErrorBeforeSuccess {
        /// What it said of the error.
        message: String,
    },
    /// More is odd than is kept.
    MoreNotes,
}

/// A kind of event that is not known, and how often it came.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct UnknownKind {
    /// What the vendor calls it.
    pub kind: String,
    /// How often it came.
    pub count: u64,
}

impl Summary {
    pub(crate) const fn new(program: Program) -> Self {
        Self {
            program,
            launched: None,
            model: None,
            model_by: None,
            vendor_session: None,
            turns: None,
            tool_calls: 0,
            tool_errors: 0,
            errors_in_row: 0,
            tokens: Tokens { input: None, output: None, cache_read: None, cache_write: None, total: None },
            cost_usd: None,
            retries: 0,
            retrying: None,
            looping_steps: None,
            open_tool: None,
            is_compacting: false,
            denied: Vec::new(),
            killed_tools: Vec::new(),
            rate_limit: None,
            waiting: None,
            last_message: None,
            end: None,
            ends: 0,
            children: Vec::new(),
            notes: Vec::new(),
            events: 0,
            unknown_events: 0,
            unknown_kinds: Vec::new(),
            text_lines: 0,
            broken_lines: 0,
        }
    }
}
