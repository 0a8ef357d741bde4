//! Claude Code's `stream-json`, which the streams of Cursor, Amp and qwen-code follow.
//!
//! Invariant: a message of a subagent is activity of the run and never its turn or its end. Every message carries a
//! `uuid`; one that comes again is not counted again. `system` messages and results have files of their own below.

mod result;
mod system;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::dialect::fields::{List, Named, ShellEnd, Text, lenient, unix_seconds};
use crate::program::Program;
use crate::signal::{Waiting, WaitingFor};
use crate::summary::LimitStatus;
use crate::tally::{Outcome, Tally};

/// What has to be remembered from one message to the next.
#[derive(Debug)]
pub(crate) struct Claude {
    /// The number the next result should have.
    next_result: u64,
    /// The model would not answer in this turn.
    refused: bool,
    /// The word for the request that failed last in this turn, from the message that shows it.
    failed_request: Option<FailedRequest>,
}

/// How qwen-code begins the text by which it shows a failed request, as if the model had said it.
const API_ERROR: &str = "[API Error: ";

/// Why a request to the model failed, as the message says that the CLI makes up to show it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum FailedRequest {
    OutputLimit,
    Login,
    Limited,
    Refused,
    Other,
}

impl FailedRequest {
    fn of(word: &str) -> Self {
        match word {
            "max_output_tokens" => Self::OutputLimit,
            "authentication_failed" | "oauth_org_not_allowed" | "cloud_credential_error" => Self::Login,
            "rate_limit" | "overloaded" | "server_error" => Self::Limited,
            "invalid_request" | "model_not_found" | "billing_error" | "account_on_hold" => Self::Refused,
            _ => Self::Other,
        }
    }
}

#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow, default, deserialize_with = "lenient")]
    r#type: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    subtype: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    uuid: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    session_id: Option<Text<'a>>,
}

impl Claude {
    pub(crate) const fn new() -> Self {
        Self { next_result: 0, refused: false, failed_request: None }
    }

    /// False if the line is no JSON object.
    pub(crate) fn read(&mut self, line: &str, tally: &mut Tally) -> bool {
        let Ok(head) = serde_json::from_str::<Head<'_>>(line) else { return false };
        if let Some(session) = Text::of(&head.session_id) {
            tally.session(session);
        }
        if let Some(uuid) = Text::of(&head.uuid)
            && !tally.is_first(uuid)
        {
            tally.activity();
            return true;
        }
        let kind = Text::or_empty(&head.r#type);
        let subtype = Text::or_empty(&head.subtype);
        match kind {
            "system" => self.system(subtype, line, tally),
            "assistant" => with(line, tally, |message, tally| self.assistant(message, tally)),
            "user" => with(line, tally, user),
            "stream_event" => with(line, tally, stream_event),
            "result" => self.result(subtype, line, tally),
            "rate_limit_event" => with(line, tally, rate_limit),
            "auth_status" => with(line, tally, auth_status),
            "control_request" => with(line, tally, control_request),
            "control_cancel_request" | "control_response" => tally.waits_no_more(),
            "tool_call" => with(line, tally, |call, tally| tool_call(subtype, call, tally)),
            "tool_progress" | "tool_use_summary" | "keep_alive" | "prompt_suggestion" | "active_goal"
            | "conversation_reset" | "thinking" => tally.activity(),
            _ => tally.unknown(kind),
        }
        true
    }
}

/// Reads a message of a known kind; one whose shape is not that of its kind counts as unknown.
fn with<'a, T: Deserialize<'a>>(line: &'a str, tally: &mut Tally, read: impl FnOnce(T, &mut Tally)) {
    match serde_json::from_str(line) {
        Ok(message) => read(message, tally),
        Err(_) => tally.unknown("malformed"),
    }
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, default, deserialize_with = "lenient")]
    message: Option<Body<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    parent_tool_use_id: Option<Text<'a>>,
    /// Set where the CLI made the message up to show a failed request.
    #[serde(borrow, default, deserialize_with = "lenient")]
    error: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Body<'a> {
    #[serde(borrow, default, deserialize_with = "lenient")]
    model: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    content: Option<List<Block<'a>>>,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow, default, deserialize_with = "lenient")]
    r#type: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    text: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    id: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    name: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    input: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    tool_use_id: Option<Text<'a>>,
    #[serde(default, deserialize_with = "lenient")]
    is_error: Option<bool>,
    /// The result of a tool: text, or a list of blocks.
    #[serde(borrow, default, deserialize_with = "lenient")]
    content: Option<&'a RawValue>,
}

impl Claude {
    fn assistant(&mut self, message: Message<'_>, tally: &mut Tally) {
        if message.parent_tool_use_id.is_none() {
            self.failed_request = Text::of(&message.error).map(FailedRequest::of);
        }
        assistant(message, tally);
    }
}

fn assistant(message: Message<'_>, tally: &mut Tally) {
    let is_main = message.parent_tool_use_id.is_none();
    let Some(body) = &message.message else { return tally.activity() };
    if is_main {
        tally.goes_on();
        tally.waits_no_more();
        if tally.summary.model.is_none()
            && let Some(model) = Text::of(&body.model)
            && message.error.is_none()
        {
            tally.model(model);
        }
    }
    let is_qwen = tally.summary.program == Program::Qwen;
    for block in body.content.iter().flat_map(|content| &content.0) {
        match Text::or_empty(&block.r#type) {
            "text" if is_qwen && Text::or_empty(&block.text).starts_with(API_ERROR) => {}
            "text" if is_main && message.error.is_none() => {
                tally.said(Text::or_empty(&block.text));
                tally.progress();
            }
            "tool_use" | "server_tool_use" | "mcp_tool_use" => {
                let input = block.input.map(RawValue::get);
                tally.tool_started(Text::or_empty(&block.id), Text::or_empty(&block.name), input);
            }
            "server_tool_result" | "web_search_tool_result" | "mcp_tool_result" => tool_result(block, tally),
            _ if message.error.is_none() => tally.progress(),
            _ => tally.activity(),
        }
    }
    tally.activity();
}

fn user(message: Message<'_>, tally: &mut Tally) {
    let content = message.message.and_then(|body| body.content);
    for block in content.iter().flat_map(|content| &content.0) {
        if Text::of(&block.r#type) == Some("tool_result") {
            tool_result(block, tally);
            tally.waits_no_more();
        }
    }
    tally.activity();
}

fn tool_result(block: &Block<'_>, tally: &mut Tally) {
    let said = block.content.map_or("", RawValue::get);
    let text = said.trim_matches('"');
    // qwen-code calls a command that failed a success, and says so in the text.
    let shell = ShellEnd::of(text);
    let ok = block.is_error != Some(true) && !shell.has_failed;
    let exit = shell.exit.or_else(|| exit_code(text).filter(|_| !ok));
    let outcome = Outcome { ok, said, exit, signal: shell.signal };
    tally.tool_ended(Text::or_empty(&block.tool_use_id), outcome);
}

/// The shell tool begins the result of a command that failed with its code: `Exit code 137`.
fn exit_code(text: &str) -> Option<i64> {
    let rest = text.strip_prefix("Exit code ")?;
    let digits = rest.find(|character: char| !character.is_ascii_digit()).unwrap_or(rest.len());
    rest[..digits].parse().ok()
}

#[derive(Deserialize)]
struct Partial<'a> {
    #[serde(borrow, default, deserialize_with = "lenient")]
    event: Option<PartialEvent<'a>>,
}

#[derive(Deserialize)]
struct PartialEvent<'a> {
    #[serde(borrow, default, deserialize_with = "lenient")]
    r#type: Option<Text<'a>>,
}

/// A piece of a block is a sign of life; a block that begins or ends is a step.
fn stream_event(partial: Partial<'_>, tally: &mut Tally) {
    match partial.event.as_ref().map_or("", |event| Text::or_empty(&event.r#type)) {
        "content_block_start" | "content_block_stop" => tally.progress(),
        _ => tally.activity(),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Limit<'a> {
    #[serde(borrow, default, deserialize_with = "lenient")]
    status: Option<Text<'a>>,
    #[serde(default, deserialize_with = "lenient")]
    resets_at: Option<f64>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    rate_limit_type: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct RateLimitEvent<'a> {
    #[serde(borrow, default, deserialize_with = "lenient")]
    rate_limit_info: Option<Limit<'a>>,
}

fn rate_limit(event: RateLimitEvent<'_>, tally: &mut Tally) {
    let Some(limit) = event.rate_limit_info else { return tally.unknown("rate_limit_event") };
    let status = match Text::or_empty(&limit.status) {
        "allowed" => LimitStatus::Allowed,
        "allowed_warning" => LimitStatus::Warning,
        "rejected" => LimitStatus::Rejected,
        _ => return tally.unknown("rate_limit_event"),
    };
    // A float holds every second of this millennium exactly.
    let until = limit.resets_at.map(|number| unix_seconds(number as i64));
    tally.limit(status, until, Text::of(&limit.rate_limit_type));
}

#[derive(Deserialize)]
struct AuthStatus {
    #[serde(default, rename = "isAuthenticating", deserialize_with = "lenient")]
    is_authenticating: Option<bool>,
}

fn auth_status(status: AuthStatus, tally: &mut Tally) {
    match status.is_authenticating {
        Some(true) => tally.waits(Waiting::in_stream(WaitingFor::Login, None)),
        Some(false) | None => tally.waits_no_more(),
    }
}

#[derive(Deserialize)]
struct ControlRequest<'a> {
    #[serde(borrow, default, deserialize_with = "lenient")]
    request: Option<Control<'a>>,
}

#[derive(Deserialize)]
struct Control<'a> {
    #[serde(borrow, default, deserialize_with = "lenient")]
    subtype: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    tool_name: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    message: Option<Text<'a>>,
}

fn control_request(request: ControlRequest<'_>, tally: &mut Tally) {
    let Some(control) = request.request else { return tally.unknown("control_request") };
    let detail = |text: &Option<Text<'_>>| Text::of(text).map(str::to_owned);
    let waiting = match (Text::or_empty(&control.subtype), Text::or_empty(&control.tool_name)) {
        ("can_use_tool", "AskUserQuestion") => Waiting::in_stream(WaitingFor::Question, None),
        ("can_use_tool", _) => Waiting::in_stream(WaitingFor::Permission, detail(&control.tool_name)),
        ("elicitation" | "request_user_dialog", _) => {
            Waiting::in_stream(WaitingFor::Question, detail(&control.message))
        }
        _ => return tally.activity(),
    };
    tally.waits(waiting);
}

/// Cursor reports its tools in messages of their own.
#[derive(Deserialize)]
struct ToolCall<'a> {
    #[serde(borrow, default, deserialize_with = "lenient")]
    call_id: Option<Text<'a>>,
    #[serde(default, deserialize_with = "lenient")]
    tool_call: Option<Named<ToolBody>>,
}

#[derive(Deserialize)]
struct ToolBody {
    #[serde(default, deserialize_with = "lenient")]
    result: Option<Named<IgnoredAny>>,
}

fn tool_call(subtype: &str, call: ToolCall<'_>, tally: &mut Tally) {
    let id = Text::or_empty(&call.call_id);
    let body = call.tool_call.as_ref().and_then(|named| named.0.first());
    match (subtype, body) {
        ("started", Some((name, _))) => tally.tool_started(id, name.trim_end_matches("ToolCall"), None),
        ("completed", Some((_, body))) => {
            let ok =
                body.result.as_ref().is_some_and(|result| result.0.iter().any(|(key, _)| key == "success"));
            tally.tool_ended(id, Outcome::of(ok, ""));
        }
        _ => tally.unknown("tool_call"),
    }
}
