//! Gemini CLI's `stream-json`.
//!
//! Invariant: `result` is the end, and its statistics are of the whole run and come once. Several failures end the
//! program without a `result`; their exit codes are documented and read in the verdict. A `result` that says error and
//! nothing else is explained by the `error` event before it. A shell command that failed is a tool result with the
//! status success, whose text tells. Retries, and the name of an error that `result` leaves unnamed, are told on stderr alone;
//! which of the two streams is read first does not matter.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::dialect::fields::{ShellEnd, Text, first_status, http_status, is_retryable, lenient};
use crate::end::Cause;
use crate::summary::{Note, Tokens};
use crate::tally::{Outcome, Tally, bounded};

/// What has to be remembered from one event to the next.
#[derive(Debug)]
pub(crate) struct Gemini {
    /// The next piece of text continues the last one.
    is_speaking: bool,
    /// The last error the agent could not put aside.
    error: Option<String>,
    /// The name of the error that ended the talk with the provider, from stderr.
    named: Option<String>,
    /// The end did not name its error, and stderr may still.
    is_unnamed: bool,
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, default, deserialize_with = "lenient")]
    r#type: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    session_id: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    model: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    role: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    content: Option<Text<'a>>,
    #[serde(default, deserialize_with = "lenient")]
    delta: Option<bool>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    tool_id: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    tool_name: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    parameters: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    output: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    status: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    severity: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    message: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    error: Option<Error<'a>>,
    #[serde(default, deserialize_with = "lenient")]
    stats: Option<Stats>,
}

#[derive(Deserialize)]
struct Error<'a> {
    #[serde(borrow, default, deserialize_with = "lenient")]
    r#type: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    message: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Stats {
    #[serde(default, deserialize_with = "lenient")]
    total_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    output_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    cached: Option<u64>,
}

impl Gemini {
    pub(crate) const fn new() -> Self {
        Self { is_speaking: false, error: None, named: None, is_unnamed: false }
    }

    /// False if the line is no JSON object.
    pub(crate) fn read(&mut self, line: &str, tally: &mut Tally) -> bool {
        let Ok(event) = serde_json::from_str::<Event<'_>>(line) else { return false };
        let kind = Text::or_empty(&event.r#type);
        if kind != "message" {
            self.is_speaking = false;
        }
        match kind {
            "init" => init(&event, tally),
            "message" => self.message(&event, tally),
            "tool_use" => {
                let input = event.parameters.map(RawValue::get);
                tally.tool_started(Text::or_empty(&event.tool_id), Text::or_empty(&event.tool_name), input);
            }
            "tool_result" => tool_result(&event, tally),
            "error" => self.error(&event, tally),
            "result" => self.result(&event, tally),
            _ => tally.unknown(kind),
        }
        true
    }

    fn message(&mut self, event: &Event<'_>, tally: &mut Tally) {
        let text = Text::or_empty(&event.content);
        if Text::of(&event.role) != Some("assistant") {
            self.is_speaking = false;
            return tally.activity();
        }
        if self.is_speaking && event.delta == Some(true) {
            tally.said_more(text);
            tally.answered();
            return tally.activity();
        }
        tally.said(text);
        self.is_speaking = !text.trim().is_empty();
        tally.progress();
    }

    fn error(&mut self, event: &Event<'_>, tally: &mut Tally) {
        if Text::of(&event.severity) == Some("error") {
            self.error = Some(bounded(Text::or_empty(&event.message), 256));
        }
        tally.activity();
    }

    /// Reads one line of stderr.
    pub(crate) fn stderr(&mut self, line: &str, tally: &mut Tally) {
        retried(line, tally);
        let Some(name) = error_name(line) else { return };
        if std::mem::take(&mut self.is_unnamed) {
            tally.name_failure(name, |message| cause(name, message));
        } else {
            self.named = Some(bounded(name, 64));
        }
    }

    fn result(&mut self, event: &Event<'_>, tally: &mut Tally) {
        if let Some(stats) = &event.stats {
            tally.summary.tokens = Tokens {
                input: stats.input_tokens,
                output: stats.output_tokens,
                cache_read: stats.cached,
                cache_write: None,
                total: stats.total_tokens,
            };
        }
        match (Text::or_empty(&event.status), self.error.take()) {
            // The turn limit is reported as an error, and the result after it says success all the same.
            ("success", Some(message)) if message.contains("session turns exceeded") => {
                tally.failed(Cause::MaxTurns, Some(&message), "error");
            }
            ("success", error) => {
                if let Some(message) = error {
                    tally.note(Note::ErrorBeforeSuccess { message });
                }
                tally.completed(false);
            }
            ("error", told) => {
                let error = event.error.as_ref();
                let word = error.and_then(|error| Text::of(&error.r#type)).unwrap_or("error");
                let message = error.and_then(|error| Text::of(&error.message)).or(told.as_deref());
                let is_named = word != "unknown" || message.is_some_and(|text| first_status(text).is_some());
                self.is_unnamed = !is_named && self.named.is_none();
                let name = self.named.take().filter(|_| !is_named);
                let word = name.as_deref().unwrap_or(word);
                tally.failed(cause(word, message), message, word);
            }
            (word, _) => tally.failed(Cause::UnknownEnd, None, word),
        }
    }
}

fn init(event: &Event<'_>, tally: &mut Tally) {
    tally.begin_turn();
    if let Some(session) = Text::of(&event.session_id) {
        tally.session(session);
    }
    if let Some(model) = Text::of(&event.model) {
        tally.model(model);
    }
    tally.activity();
}

fn tool_result(event: &Event<'_>, tally: &mut Tally) {
    let id = Text::or_empty(&event.tool_id);
    let error = event.error.as_ref();
    let word = error.and_then(|error| Text::of(&error.r#type));
    if matches!(word, Some("execution_denied" | "policy_violation")) {
        tally.tool_denied(id);
    }
    let said = Text::of(&event.output).or(error.and_then(|error| Text::of(&error.message)));
    let said = said.unwrap_or_default();
    let ShellEnd { has_failed, exit, signal } = ShellEnd::of(said);
    let ok = Text::of(&event.status) == Some("success") && !has_failed;
    tally.tool_ended(id, Outcome { ok, said, exit, signal });
}

/// A line of stderr: `Attempt 3 failed with status 429. Retrying with backoff...`
fn retried(line: &str, tally: &mut Tally) {
    let Some((attempt, rest)) =
        line.trim_start().strip_prefix("Attempt ").and_then(|rest| rest.split_once(" failed"))
    else {
        return;
    };
    if !rest.contains("Retrying") {
        return;
    }
    let status = http_status(rest);
    let error = status.map_or_else(|| "unknown".to_owned(), |status| format!("status {status}"));
    tally.retry(attempt.trim().parse().ok(), None, None, &error, status);
}

/// The name in a line of stderr: `Error when talking to Gemini API Full report available at: … ModelNotFoundError: …`
fn error_name(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("Error when talking to Gemini API")?;
    rest.split_whitespace().find_map(|word| word.strip_suffix(':').filter(|word| word.ends_with("Error")))
}

/// The names of the errors that end the program, and the words of those that have none.
fn cause(word: &str, message: Option<&str>) -> Cause {
    match word {
        "FatalAuthenticationError" => Cause::Login,
        "FatalInputError" | "FatalSandboxError" | "FatalConfigError" | "FatalUntrustedWorkspaceError" => {
            Cause::Startup
        }
        "FatalTurnLimitedError" => Cause::MaxTurns,
        "FatalToolExecutionError" => Cause::Tool,
        "TerminalQuotaError" | "ModelNotFoundError" => Cause::Provider { retryable: false },
        "RetryableQuotaError" => Cause::Provider { retryable: true },
        "ApiError" => Cause::Provider { retryable: message.and_then(http_status).is_none_or(is_retryable) },
        _ => message.map_or(Cause::Other, cause_in_words),
    }
}

fn cause_in_words(message: &str) -> Cause {
    let has = |part: &str| message.contains(part);
    if has("[API Error:") {
        return match first_status(message) {
            Some(401 | 403) => Cause::Login,
            status => Cause::Provider { retryable: status.is_none_or(is_retryable) },
        };
    }
    if has("exceeded the token limit") {
        return Cause::OutputLimit;
    }
    if has("response was blocked due to") {
        return Cause::Refusal;
    }
    if has("ended without a finish reason") {
        return Cause::CutStream;
    }
    if has("empty response") || has("no final response text") {
        return Cause::Provider { retryable: true };
    }
    Cause::Other
}
