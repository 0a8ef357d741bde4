//! Codex's `exec --json`.
//!
//! Invariant: the usage in `turn.completed` is the running total of the thread, so the last one replaces the others; a
//! resumed thread begins with what it had used before. An `error` line is an end only if nothing follows it: Codex
//! writes one for every reconnect as well. An interrupted turn ends without any event.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::dialect::fields::{Named, Text, http_status, is_retryable, lenient};
use crate::end::Cause;
use crate::signal::{Waiting, WaitingFor};
use crate::summary::{LimitStatus, Tokens};
use crate::tally::{Outcome, Tally, bounded};

/// What has to be remembered from one event to the next.
#[derive(Debug)]
pub(crate) struct Codex {
    /// What the last reconnect was for; a failure with these words is the provider's, whatever they are.
    retried: Option<String>,
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, default, deserialize_with = "lenient")]
    r#type: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    thread_id: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    item: Option<Item<'a>>,
    #[serde(default, deserialize_with = "lenient")]
    usage: Option<Usage>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    error: Option<Error<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    message: Option<Text<'a>>,
}

/// Kept as pairs, because a web search has two fields called `id` and a struct takes only one.
#[derive(Deserialize)]
#[serde(transparent)]
struct Item<'a> {
    #[serde(borrow)]
    fields: Named<&'a RawValue>,
}

impl<'a> Item<'a> {
    fn get<T: Deserialize<'a>>(&self, name: &str) -> Option<T> {
        let (_, raw) = self.fields.0.iter().find(|(field, _)| field == name)?;
        serde_json::from_str(raw.get()).ok()
    }

    fn text(&self, name: &str) -> Option<Text<'a>> {
        self.get(name)
    }

    fn raw(&self, name: &str) -> Option<&'a str> {
        self.fields.0.iter().find(|(field, _)| field == name).map(|(_, raw)| raw.get())
    }
}

#[derive(Deserialize)]
struct AgentState<'a> {
    #[serde(borrow, default, deserialize_with = "lenient")]
    status: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Usage {
    #[serde(default, deserialize_with = "lenient")]
    input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    cached_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    cache_write_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    output_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct Error<'a> {
    #[serde(borrow, default, deserialize_with = "lenient")]
    message: Option<Text<'a>>,
}

impl Codex {
    pub(crate) const fn new() -> Self {
        Self { retried: None }
    }

    /// False if the line is no JSON object.
    pub(crate) fn read(&mut self, line: &str, tally: &mut Tally) -> bool {
        let Ok(event) = serde_json::from_str::<Event<'_>>(line) else { return false };
        let kind = Text::or_empty(&event.r#type);
        match kind {
            "thread.started" => {
                if let Some(thread) = Text::of(&event.thread_id) {
                    tally.session(thread);
                }
                tally.activity();
            }
            "turn.started" => {
                self.retried = None;
                tally.begin_turn();
                tally.summary.turns = Some(tally.summary.turns.unwrap_or(0) + 1);
                tally.activity();
            }
            "turn.completed" => {
                // Codex writes zeroes where the provider told it nothing.
                if let Some(usage) = event.usage.filter(|usage| usage.input_tokens != Some(0)) {
                    tally.summary.tokens = tokens(&usage);
                }
                tally.completed(false);
            }
            "turn.failed" => {
                let message = event.error.as_ref().and_then(|error| Text::of(&error.message));
                self.failed(message, kind, tally);
            }
            "error" => self.error(Text::of(&event.message), tally),
            "item.started" | "item.updated" | "item.completed" => match &event.item {
                Some(read) => item(kind, read, tally),
                None => tally.unknown(kind),
            },
            "item.plan.delta" => tally.activity(),
            "request_user_input" => tally.waits(Waiting::in_stream(WaitingFor::Question, None)),
            _ => tally.unknown(kind),
        }
        true
    }

    fn error(&mut self, message: Option<&str>, tally: &mut Tally) {
        let text = message.unwrap_or_default();
        match reconnect(text) {
            Some((attempt, max)) => {
                self.retried = Some(bounded(text, 1_024));
                tally.goes_on();
                tally.retry(Some(attempt), Some(max), None, text, http_status(text));
            }
            None => self.failed(message, "error", tally),
        }
    }

    fn failed(&self, message: Option<&str>, word: &str, tally: &mut Tally) {
        let text = message.unwrap_or_default();
        if text.contains("usage limit") {
            tally.limit(LimitStatus::Rejected, None, message);
        }
        let was_retried =
            !text.is_empty() && self.retried.as_ref().is_some_and(|retried| retried.contains(text));
        let told = cause(text);
        let cause =
            if told == Cause::Other && was_retried { Cause::Provider { retryable: true } } else { told };
        tally.failed(cause, message, word);
    }
}

fn item(kind: &str, item: &Item<'_>, tally: &mut Tally) {
    tally.goes_on();
    tally.waits_no_more();
    let (id, what) = (item.text("id"), item.text("type"));
    let (id, what) = (Text::or_empty(&id), Text::or_empty(&what));
    let is_completed = kind == "item.completed";
    match what {
        "agent_message" | "plan" if is_completed => {
            tally.said(Text::or_empty(&item.text("text")));
            tally.progress();
        }
        "reasoning" | "todo_list" if is_completed => tally.progress(),
        "agent_message" | "plan" | "reasoning" | "todo_list" | "error" => tally.activity(),
        "command_execution" | "file_change" | "mcp_tool_call" | "collab_tool_call" | "web_search" => {
            tool(kind, id, what, item, tally);
        }
        _ => tally.unknown(&format!("item/{what}")),
    }
}

/// A tool that is quick is reported only when it is done.
fn tool(kind: &str, id: &str, what: &str, item: &Item<'_>, tally: &mut Tally) {
    for (agent, state) in
        item.get::<Named<AgentState<'_>>>("agents_states").iter().flat_map(|states| &states.0)
    {
        match Text::or_empty(&state.status) {
            "pending_init" | "running" => tally.child(agent, None),
            _ => tally.child_ended(agent),
        }
    }
    if kind == "item.updated" {
        return tally.activity();
    }
    if kind == "item.completed" && !tally.is_first(id) {
        return tally.activity();
    }
    let name = match (Text::of(&item.text("server")), Text::of(&item.text("tool"))) {
        (Some(server), Some(tool)) => format!("{server}/{tool}"),
        (None, Some(tool)) => tool.to_owned(),
        (_, None) => what.to_owned(),
    };
    // A change of files lists the files and not what was changed.
    let input = item.raw("command").or_else(|| item.raw("arguments"));
    tally.tool_started(id, &name, input);
    if kind == "item.completed" {
        let status = item.text("status");
        if Text::of(&status) == Some("declined") {
            tally.denied(&name);
        }
        let ok = !matches!(Text::or_empty(&status), "failed" | "declined");
        let said = item.raw("aggregated_output").or_else(|| item.raw("result")).unwrap_or_default();
        let exit = item.get("exit_code").filter(|_| !ok);
        tally.tool_ended(id, Outcome { exit, ..Outcome::of(ok, said) });
    }
}

/// `Reconnecting... 2/5 (stream disconnected before completion: …)`
fn reconnect(text: &str) -> Option<(u64, u64)> {
    let rest = text.strip_prefix("Reconnecting")?.trim_start_matches(['.', '…', ' ']);
    let (attempt, rest) = rest.split_once('/')?;
    let max = rest.split(|character: char| !character.is_ascii_digit()).next()?;
    Some((attempt.parse().ok()?, max.parse().ok()?))
}

/// Codex gives no code, so the words have to do; what they do not tell is `Other`.
fn cause(text: &str) -> Cause {
    let has = |part: &str| text.contains(part);
    let status = http_status(text);
    if matches!(status, Some(401 | 403)) || has("not logged in") {
        return Cause::Login;
    }
    if has("max_output_tokens") {
        return Cause::OutputLimit;
    }
    if has("context window") || has("context_length") {
        return Cause::ContextLimit;
    }
    // The body of a refused request is passed on as it came; what can be retried comes with other words.
    if text.starts_with("{\"error\":") || has("invalid_request_error") {
        return Cause::Provider { retryable: false };
    }
    if let Some(status) = status {
        return Cause::Provider { retryable: is_retryable(status) };
    }
    let is_provider = [
        "stream disconnected",
        "stream closed",
        "usage limit",
        "rate limit",
        "error sending request",
        "high demand",
    ];
    if is_provider.iter().any(|part| has(part)) {
        return Cause::Provider { retryable: true };
    }
    Cause::Other
}

fn tokens(usage: &Usage) -> Tokens {
    Tokens {
        input: usage.input_tokens,
        output: usage.output_tokens,
        cache_read: usage.cached_input_tokens,
        cache_write: usage.cache_write_input_tokens,
        total: None,
    }
}
