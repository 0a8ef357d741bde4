//! Claude Code's `result`: how a turn ended, and what it all cost.
//!
//! Invariant: `total_cost_usd` and `modelUsage` are running totals and replace what was known; `num_turns` and `usage`
//! are of one turn and are added, once for each result. Results are numbered, so one that is missing is noted and one
//! that comes twice counts once.

use serde::Deserialize;

use super::{API_ERROR, Claude, FailedRequest, with};
use crate::dialect::fields::{Amount, List, Named, Text, first_status, is_retryable, lenient};
use crate::end::Cause;
use crate::program::Program;
use crate::summary::{Note, Tokens};
use crate::tally::Tally;
use crate::usd::Usd;

#[derive(Deserialize)]
struct TurnResult<'a> {
    #[serde(default, deserialize_with = "lenient")]
    is_error: Option<bool>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    result: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    error: Option<Failed<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    errors: Option<List<Text<'a>>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    stop_reason: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    terminal_reason: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    startup_failure_reason: Option<Text<'a>>,
    #[serde(default, deserialize_with = "lenient")]
    api_error_status: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    result_index: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    num_turns: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    total_cost_usd: Option<Amount>,
    #[serde(default, deserialize_with = "lenient")]
    usage: Option<Usage>,
    #[serde(default, rename = "modelUsage", deserialize_with = "lenient")]
    model_usage: Option<Named<ModelUsage>>,
    #[serde(borrow, default, deserialize_with = "lenient")]
    permission_denials: Option<List<Denial<'a>>>,
}

/// Text, or an object with a message, which is how qwen-code writes it.
#[derive(Deserialize)]
#[serde(untagged)]
enum Failed<'a> {
    Text(#[serde(borrow)] Text<'a>),
    Object {
        #[serde(borrow)]
        message: Text<'a>,
    },
}

#[derive(Deserialize)]
struct Denial<'a> {
    #[serde(borrow, default, deserialize_with = "lenient")]
    tool_name: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Usage {
    #[serde(default, deserialize_with = "lenient")]
    input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    output_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    cache_read_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    cache_creation_input_tokens: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ModelUsage {
    #[serde(default, deserialize_with = "lenient")]
    input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    output_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    cache_read_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    cache_creation_input_tokens: Option<u64>,
}

impl Claude {
    pub(super) fn result(&mut self, subtype: &str, line: &str, tally: &mut Tally) {
        with(line, tally, |result: TurnResult<'_>, tally: &mut Tally| {
            if let Some(index) = result.result_index {
                if index < self.next_result {
                    return tally.activity();
                }
                if index > self.next_result {
                    tally.note(Note::LostResult { expected: self.next_result, found: index });
                }
                self.next_result = index.saturating_add(1);
            }
            // A result that only reports a failed start carries zeroes that say nothing.
            if result.startup_failure_reason.is_none() {
                totals(&result, tally);
            }
            for denial in result.permission_denials.iter().flat_map(|denials| &denials.0) {
                tally.denied(Text::or_empty(&denial.tool_name));
            }
            self.end(subtype, &result, tally);
        });
    }

    fn end(&mut self, subtype: &str, result: &TurnResult<'_>, tally: &mut Tally) {
        let terminal = Text::of(&result.terminal_reason);
        let stop = Text::or_empty(&result.stop_reason);
        let message = message(result);
        let is_error = result.is_error == Some(true);
        let failed_request = self.failed_request.take();
        match terminal {
            Some(
                reason @ ("aborted_streaming" | "aborted_tools" | "background_requested" | "tool_deferred"),
            ) => {
                return tally.interrupted(reason);
            }
            _ if std::mem::take(&mut self.refused) || stop == "refusal" => {
                return tally.failed(Cause::Refusal, message, "refusal");
            }
            _ => {}
        }
        if let Some(text) = Text::of(&result.result)
            && tally.summary.program == Program::Qwen
            && let Some(cause) = api_error(text)
        {
            return tally.failed(cause, Some(text), "API Error");
        }
        match subtype {
            "success" if is_error => {
                let cause = cause_of_error(failed_request, result.api_error_status);
                let status = result.api_error_status.map_or_else(
                    || terminal.unwrap_or("is_error").to_owned(),
                    |status| format!("api_error {status}"),
                );
                tally.failed(cause, message, &status);
            }
            "success" => {
                if let Some(reason) = terminal.filter(|reason| !SUCCESS_REASONS.contains(reason)) {
                    tally.note(Note::UnknownReason { reason: crate::tally::bounded(reason, 256) });
                }
                if let Some(text) = Text::of(&result.result) {
                    tally.said(text);
                }
                tally.completed(stop == "max_tokens");
            }
            "error_max_turns" => tally.failed(Cause::MaxTurns, message, subtype),
            "error_max_budget_usd" => tally.failed(Cause::Budget, message, subtype),
            "error_max_structured_output_retries" => tally.failed(Cause::Other, message, subtype),
            "error_during_execution" | "error" => {
                let word = Text::of(&result.startup_failure_reason).or(terminal).unwrap_or(subtype);
                tally.failed(during_execution(result), message, word);
            }
            _ => tally.failed(Cause::UnknownEnd, message, subtype),
        }
    }
}

/// The reasons that stand beside a success without taking anything from it.
const SUCCESS_REASONS: [&str; 3] = ["completed", "stop_hook_prevented", "hook_stopped"];

/// A result that shows a failed request: the message before it says why, or the status does.
const fn cause_of_error(failed: Option<FailedRequest>, status: Option<u64>) -> Cause {
    match (failed, status) {
        (Some(FailedRequest::OutputLimit), _) => Cause::OutputLimit,
        (_, Some(401 | 403)) | (Some(FailedRequest::Login), _) => Cause::Login,
        (_, Some(status)) => Cause::Provider { retryable: is_retryable(status) },
        (Some(FailedRequest::Refused), None) => Cause::Provider { retryable: false },
        (Some(FailedRequest::Limited | FailedRequest::Other) | None, None) => {
            Cause::Provider { retryable: true }
        }
    }
}

/// qwen-code shows a failed request as the last words of its answer, and calls that a success.
fn api_error(answer: &str) -> Option<Cause> {
    let (_, error) = answer.rsplit_once(API_ERROR)?;
    let last = error.rfind(']')?;
    // What may follow is advice on a line of its own.
    if !error[last + 1..].is_empty() && !error[last + 1..].starts_with('\n') {
        return None;
    }
    let status = first_status(error);
    Some(match status {
        Some(401 | 403) => Cause::Login,
        Some(status) => Cause::Provider { retryable: is_retryable(status) },
        None => Cause::Provider { retryable: true },
    })
}

fn during_execution(result: &TurnResult<'_>) -> Cause {
    if result.startup_failure_reason.is_some() {
        return Cause::Startup;
    }
    match Text::or_empty(&result.terminal_reason) {
        "api_error" | "model_error" => Cause::Provider { retryable: true },
        "blocking_limit" | "rapid_refill_breaker" => Cause::Provider { retryable: true },
        "prompt_too_long" | "image_error" => Cause::ContextLimit,
        "max_turns" => Cause::MaxTurns,
        "budget_exhausted" => Cause::Budget,
        "malformed_tool_use_exhausted" | "tool_deferred_unavailable" => Cause::Tool,
        "turn_setup_failed" => Cause::Startup,
        _ => Cause::Other,
    }
}

fn message<'b>(result: &'b TurnResult<'_>) -> Option<&'b str> {
    let first = result.errors.as_ref().and_then(|errors| errors.0.first());
    let error = result.error.as_ref().map(|error| match error {
        Failed::Text(text) | Failed::Object { message: text } => text.0.as_ref(),
    });
    first.map(|text| text.0.as_ref()).or(error).or(Text::of(&result.result))
}

fn totals(result: &TurnResult<'_>, tally: &mut Tally) {
    let summary = &mut tally.summary;
    if let Some(turns) = result.num_turns {
        summary.turns = Some(summary.turns.unwrap_or(0).saturating_add(turns));
    }
    // A failure may report nothing but zeroes, which say less than nothing at all.
    if result.is_error == Some(true) && is_zero(result) {
        return;
    }
    if let Some(Amount(cost)) = result.total_cost_usd {
        let before = summary.cost_usd.unwrap_or_default();
        summary.cost_usd = Some(cost);
        if cost < before {
            tally.note(Note::TotalsBeganAgain);
        }
    }
    let tokens = &mut tally.summary.tokens;
    match (&result.model_usage, &result.usage) {
        (Some(models), _) if !models.0.is_empty() => *tokens = over_models(models),
        (_, Some(usage)) => {
            let add = |total: &mut Option<u64>, part: Option<u64>| {
                if let Some(part) = part {
                    *total = Some(total.unwrap_or(0).saturating_add(part));
                }
            };
            add(&mut tokens.input, usage.input_tokens);
            add(&mut tokens.output, usage.output_tokens);
            add(&mut tokens.cache_read, usage.cache_read_input_tokens);
            add(&mut tokens.cache_write, usage.cache_creation_input_tokens);
        }
        _ => {}
    }
}

fn is_zero(result: &TurnResult<'_>) -> bool {
    let costs_nothing = result.total_cost_usd.as_ref().is_none_or(|cost| cost.0 == Usd::default());
    let has_models = result.model_usage.as_ref().is_some_and(|models| !models.0.is_empty());
    let is_unused =
        |usage: &Usage| usage.input_tokens.unwrap_or(0) == 0 && usage.output_tokens.unwrap_or(0) == 0;
    costs_nothing && !has_models && result.usage.as_ref().is_none_or(is_unused)
}

/// One result lists every model with its own running total.
fn over_models(models: &Named<ModelUsage>) -> Tokens {
    let sum = |part: fn(&ModelUsage) -> Option<u64>| {
        models.0.iter().filter_map(|(_, usage)| part(usage)).reduce(u64::saturating_add)
    };
    Tokens {
        input: sum(|usage| usage.input_tokens),
        output: sum(|usage| usage.output_tokens),
        cache_read: sum(|usage| usage.cache_read_input_tokens),
        cache_write: sum(|usage| usage.cache_creation_input_tokens),
        total: None,
    }
}
