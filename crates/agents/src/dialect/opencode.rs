//! opencode's `run --format json`.
//!
//! Invariant: each step has its own cost and tokens, so they are added, once for each part id. A step that finished for
//! another reason than a tool call is the end; older releases print nothing after it, and exit with 0 even when the
//! session failed. Newer ones add `done`, which confirms an end and never makes one. A step that was cut by the provider
//! has the reason `unknown` or `other`, and opencode takes the next one without a word. A command that failed is a tool
//! call that completed; its exit code is in the metadata.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::dialect::fields::{Amount, List, Text, is_retryable, lenient};
use crate::end::Cause;
use crate::tally::{Outcome, Tally};

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, default, deserialize_with = "lenient")]
    r#type: Option<Text<'a>>,
    #[serde(borrow, default, rename = "sessionID", deserialize_with = "lenient")]
    session_id: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    part: Option<Part<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    error: Option<Error<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    rejected: Option<List<Text<'a>>>,
}

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow, default, deserialize_with = "lenient")]
    id: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    text: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    tool: Option<Text<'a>>,
    #[serde(borrow, default, rename = "callID", deserialize_with = "lenient")]
    call_id: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    state: Option<ToolState<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    reason: Option<Text<'a>>,
    #[serde(default, deserialize_with = "lenient")]
    cost: Option<Amount>,
    #[serde(default, deserialize_with = "lenient")]
    tokens: Option<StepTokens>,
}

#[derive(Deserialize)]
struct ToolState<'a> {
    #[serde(borrow, default, deserialize_with = "lenient")]
    status: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    input: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    output: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    error: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "lenient")]
    metadata: Option<ToolMetadata>,
}

#[derive(Deserialize)]
struct ToolMetadata {
    #[serde(default, deserialize_with = "lenient")]
    exit: Option<i64>,
}

#[derive(Deserialize)]
struct StepTokens {
    #[serde(default, deserialize_with = "lenient")]
    input: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    output: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    cache: Option<CacheTokens>,
}

#[derive(Deserialize)]
struct CacheTokens {
    #[serde(default, deserialize_with = "lenient")]
    read: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    write: Option<u64>,
}

#[derive(Deserialize)]
struct Error<'a> {
    #[serde(borrow, default, deserialize_with = "lenient")]
    name: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    message: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    data: Option<ErrorData<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ErrorData<'a> {
    #[serde(borrow, default, deserialize_with = "lenient")]
    message: Option<Text<'a>>,
    #[serde(default, deserialize_with = "lenient")]
    status_code: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    is_retryable: Option<bool>,
}

/// False if the line is no JSON object.
pub(crate) fn read(line: &str, tally: &mut Tally) -> bool {
    let Ok(event) = serde_json::from_str::<Event<'_>>(line) else { return false };
    let kind = Text::or_empty(&event.r#type);
    if let Some(session) = Text::of(&event.session_id) {
        tally.session(session);
    }
    match (kind, &event.part) {
        ("error", _) => error(event.error.as_ref(), tally),
        ("done", _) => done(&event, tally),
        ("step_start" | "step_finish" | "text" | "reasoning" | "tool_use", Some(read)) => {
            let id = Text::or_empty(&read.id);
            if id.is_empty() || tally.is_first(id) {
                part(kind, read, tally);
            } else {
                tally.activity();
            }
        }
        _ => tally.unknown(kind),
    }
    true
}

fn part(kind: &str, part: &Part<'_>, tally: &mut Tally) {
    match kind {
        "step_start" => {
            tally.goes_on();
            tally.begin_step();
            tally.summary.turns = Some(tally.summary.turns.unwrap_or(0) + 1);
            tally.activity();
        }
        "text" => {
            let text = Text::or_empty(&part.text);
            tally.said(text);
            tally.step_said(text);
            tally.progress();
        }
        "tool_use" => tool(part, tally),
        "step_finish" => step_finish(part, tally),
        _ => tally.progress(),
    }
}

fn tool(part: &Part<'_>, tally: &mut Tally) {
    let id = Text::or_empty(&part.call_id);
    let state = part.state.as_ref();
    let input = state.and_then(|state| state.input).map(RawValue::get);
    tally.tool_started(id, Text::or_empty(&part.tool), input);
    let exit = state.and_then(|state| state.metadata.as_ref()?.exit).filter(|code| *code != 0);
    let is_completed = state.is_some_and(|state| Text::of(&state.status) == Some("completed"));
    let said = state.and_then(|state| state.output.or(state.error)).map_or("", RawValue::get);
    if !is_completed && DENIALS.iter().any(|words| said.contains(words)) {
        tally.tool_denied(id);
    }
    tally.tool_ended(id, Outcome { exit, ..Outcome::of(is_completed && exit.is_none(), said) });
}

/// How the error of a tool begins that a person or a rule did not allow.
const DENIALS: [&str; 2] = ["rejected permission", "specified a rule"];

fn step_finish(part: &Part<'_>, tally: &mut Tally) {
    let summary = &mut tally.summary;
    if let Some(Amount(cost)) = part.cost {
        summary.cost_usd = Some(summary.cost_usd.unwrap_or_default().plus(cost));
    }
    if let Some(step) = &part.tokens {
        let cache = step.cache.as_ref();
        let add = |total: &mut Option<u64>, part: Option<u64>| {
            if let Some(part) = part {
                *total = Some(total.unwrap_or(0).saturating_add(part));
            }
        };
        add(&mut summary.tokens.input, step.input);
        add(&mut summary.tokens.output, step.output);
        add(&mut summary.tokens.cache_read, cache.and_then(|cache| cache.read));
        add(&mut summary.tokens.cache_write, cache.and_then(|cache| cache.write));
    }
    tally.end_step();
    match Text::or_empty(&part.reason) {
        "tool-calls" => tally.progress(),
        "stop" => tally.completed(false),
        "length" => tally.completed(true),
        "content-filter" => tally.failed(Cause::Refusal, None, "content-filter"),
        "error" => tally.failed(Cause::Provider { retryable: true }, None, "error"),
        // The provider's stream ended without saying why.
        reason @ ("unknown" | "other") => tally.failed(Cause::CutStream, None, reason),
        reason => tally.failed(Cause::UnknownEnd, None, reason),
    }
}

fn error(error: Option<&Error<'_>>, tally: &mut Tally) {
    let name = error.and_then(|error| Text::of(&error.name)).unwrap_or("error");
    let data = error.and_then(|error| error.data.as_ref());
    let message =
        data.and_then(|data| Text::of(&data.message)).or(error.and_then(|error| Text::of(&error.message)));
    let status = data.and_then(|data| data.status_code);
    let cause = match name {
        "MessageAbortedError" => return tally.interrupted(name),
        "MessageOutputLengthError" => return tally.completed(true),
        "ProviderAuthError" => Cause::Login,
        "ContextOverflowError" => Cause::ContextLimit,
        "APIError" => Cause::Provider {
            retryable: data
                .and_then(|data| data.is_retryable)
                .unwrap_or_else(|| status.is_none_or(is_retryable)),
        },
        _ => Cause::Other,
    };
    tally.failed(cause, message, name);
}

fn done(event: &Event<'_>, tally: &mut Tally) {
    for permission in event.rejected.iter().flat_map(|rejected| &rejected.0) {
        tally.denied(&permission.0);
    }
    match tally.summary.end {
        Some(_) => tally.activity(),
        // The session rests after a tool call that nothing followed, such as one that was not allowed.
        None => tally.interrupted("idle"),
    }
}
