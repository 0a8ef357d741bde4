//! goose's `stream-json`.
//!
//! Invariant: `complete` is the end. goose writes it after an `error` as well, and then the error stands. Text comes in
//! pieces that share the id of their message. The token counts of `complete` are those of the session.

use serde::Deserialize;

use crate::dialect::fields::{List, Text, lenient};
use crate::end::{AgentEnd, Cause};
use crate::signal::{Waiting, WaitingFor};
use crate::summary::Tokens;
use crate::tally::{Tally, bounded};

/// What has to be remembered from one event to the next.
#[derive(Debug)]
pub(crate) struct Goose {
    /// The message whose pieces are coming.
    speaking: Option<String>,
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, default, deserialize_with = "lenient")]
    r#type: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    message: Option<Message<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    error: Option<Text<'a>>,
    #[serde(default, deserialize_with = "lenient")]
    total_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    output_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, default, deserialize_with = "lenient")]
    id: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    role: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    content: Option<List<Content<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Content<'a> {
    #[serde(borrow, default, deserialize_with = "lenient")]
    r#type: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    text: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    id: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    tool_name: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    tool_call: Option<Outcome<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    tool_result: Option<Outcome<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    data: Option<Action<'a>>,
}

#[derive(Deserialize)]
struct Outcome<'a> {
    #[serde(borrow, default, deserialize_with = "lenient")]
    status: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    value: Option<Value<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Value<'a> {
    #[serde(borrow, default, deserialize_with = "lenient")]
    name: Option<Text<'a>>,
    #[serde(default, deserialize_with = "lenient")]
    is_error: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Action<'a> {
    #[serde(borrow, default, deserialize_with = "lenient")]
    action_type: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    tool_name: Option<Text<'a>>,
}

impl Goose {
    pub(crate) const fn new() -> Self {
        Self { speaking: None }
    }

    /// False if the line is no JSON object.
    pub(crate) fn read(&mut self, line: &str, tally: &mut Tally) -> bool {
        let Ok(event) = serde_json::from_str::<Event<'_>>(line) else { return false };
        let kind = Text::or_empty(&event.r#type);
        match (kind, &event.message) {
            ("message", Some(message)) => self.message(message, tally),
            ("notification" | "model_change", _) => tally.activity(),
            ("error", _) => tally.failed(Cause::Other, Text::of(&event.error), "error"),
            ("complete", _) => complete(&event, tally),
            _ => tally.unknown(kind),
        }
        true
    }

    fn message(&mut self, message: &Message<'_>, tally: &mut Tally) {
        tally.goes_on();
        let is_assistant = Text::of(&message.role) == Some("assistant");
        for content in message.content.iter().flat_map(|content| &content.0) {
            let id = Text::or_empty(&content.id);
            match Text::or_empty(&content.r#type) {
                "text" if is_assistant => {
                    self.text(Text::of(&message.id), Text::or_empty(&content.text), tally)
                }
                "toolRequest" | "frontendToolRequest" => {
                    let name = content.tool_call.as_ref().and_then(|call| call.value.as_ref());
                    tally.tool_started(id, name.map_or("", |value| Text::or_empty(&value.name)), None);
                }
                "toolResponse" => {
                    tally.waits_no_more();
                    let ok = content.tool_result.as_ref().is_some_and(is_ok);
                    tally.tool_ended(id, crate::tally::Outcome::of(ok, ""));
                }
                "toolConfirmationRequest" => {
                    let detail = Text::of(&content.tool_name).map(str::to_owned);
                    tally.waits(Waiting::in_stream(WaitingFor::Permission, detail));
                }
                "actionRequired" => action_required(content, tally),
                "text" | "image" | "systemNotification" => tally.activity(),
                "thinking" | "redactedThinking" | "reasoning" => tally.progress(),
                what => tally.unknown(&format!("message/{what}")),
            }
        }
    }

    fn text(&mut self, id: Option<&str>, text: &str, tally: &mut Tally) {
        if self.speaking.is_some() && self.speaking.as_deref() == id {
            tally.said_more(text);
            return tally.activity();
        }
        tally.said(text);
        self.speaking = id.filter(|_| !text.trim().is_empty()).map(|id| bounded(id, 256));
        tally.progress();
    }
}

fn is_ok(outcome: &Outcome<'_>) -> bool {
    let is_error = outcome.value.as_ref().and_then(|value| value.is_error) == Some(true);
    Text::of(&outcome.status) == Some("success") && !is_error
}

fn action_required(content: &Content<'_>, tally: &mut Tally) {
    let action = content.data.as_ref();
    let cause = match action.map_or("", |action| Text::or_empty(&action.action_type)) {
        "toolConfirmation" => WaitingFor::Permission,
        "elicitation" => WaitingFor::Question,
        // The person's answer comes as a message of its own.
        "elicitationResponse" => return tally.waits_no_more(),
        _ => WaitingFor::Action,
    };
    let detail = action.and_then(|action| Text::of(&action.tool_name)).map(str::to_owned);
    tally.waits(Waiting::in_stream(cause, detail));
}

fn complete(event: &Event<'_>, tally: &mut Tally) {
    tally.summary.tokens = Tokens {
        input: event.input_tokens,
        output: event.output_tokens,
        cache_read: None,
        cache_write: None,
        total: event.total_tokens,
    };
    match &tally.summary.end {
        Some(AgentEnd::Failed(_) | AgentEnd::PartialFailed(_)) => tally.activity(),
        Some(AgentEnd::Completed { .. } | AgentEnd::Interrupted { .. }) | None => tally.completed(false),
    }
}
