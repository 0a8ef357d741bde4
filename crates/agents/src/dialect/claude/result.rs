//! Claude Code's `result`: how a turn ended, and what it all cost.
//!
//! Invariant: `total_cost_usd` and `modelUsage` are running totals and replace what was known; `num_turns` and `usage`
//! are of one turn and are added, once for each result. Results are numbered, so one that is missing is noted and one
//! that comes twice counts once.

use serde::Deserialize;

use super::{Claude, with};
use crate::dialect::fields::{Amount, List, Named, Text, is_retryable, lenient};
use crate::end::Cause;
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
    error: Option<Text<'a>>,
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
            self.end(subtype, &result, tally);
        });
    }

    fn end(&mut self, subtype: &str, result: &TurnResult<'_>, tally: &mut Tally) {
        let terminal = Text::of(&result.terminal_reason);
        let stop = Text::or_empty(&result.stop_reason);
        let message = message(result);
        let is_error = result.is_error == Some(true);
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
        match subtype {
            "success" if is_error => {
                let cause = match result.api_error_status {
                    Some(401 | 403) => Cause::Login,
                    status => Cause::Provider { retryable: status.is_none_or(is_retryable) },
                };
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
    first.map(|text| text.0.as_ref()).or(Text::of(&result.error)).or(Text::of(&result.result))
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
