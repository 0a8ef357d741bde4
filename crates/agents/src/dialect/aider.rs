//! aider's text, which has no structure and an exit code of 0 whatever happened.
//!
//! Invariant: an error of the provider is an end only if no answer follows it; the line with the counts of tokens
//! follows every answer. Without an error in it the text says nothing of the end. Not here: the answer itself, which
//! cannot be told from what aider says of its own.

use crate::dialect::fields::is_retryable;
use crate::end::Cause;
use crate::tally::{Tally, bounded};
use crate::usd::Usd;

/// What has to be remembered from one line to the next.
#[derive(Debug)]
pub(crate) struct Aider {
    /// The error that no answer has followed.
    error: Option<Failed>,
    /// The next line continues the error: a long line is wrapped.
    is_wrapped: bool,
}

#[derive(Debug)]
struct Failed {
    cause: Cause,
    status: Option<u64>,
    word: String,
    message: String,
}

impl Aider {
    pub(crate) const fn new() -> Self {
        Self { error: None, is_wrapped: false }
    }

    pub(crate) fn text(&mut self, line: &str, tally: &mut Tally) {
        let line = line.trim();
        if line.is_empty() {
            self.is_wrapped = false;
        } else if let Some(model) = model(line) {
            tally.model(model);
        } else if let Some(name) = error_name(line) {
            let (cause, status) = cause(name);
            let (word, message) = (bounded(name, 256), bounded(line, 1_024));
            self.error = Some(Failed { cause, status, word, message });
            self.is_wrapped = true;
        } else if line.starts_with("Retrying in ") {
            self.is_wrapped = false;
            let error = self.error.as_ref();
            let message = error.map_or("unknown", |error| error.word.as_str());
            tally.retry(None, None, delay_ms(line), message, error.and_then(|error| error.status));
        } else if line.starts_with("Tokens: ") {
            self.error = None;
            counts(line, tally);
            tally.progress();
        } else if line.starts_with("Model ") && line.ends_with("has hit a token limit!") {
            let (word, message) = ("token limit".to_owned(), bounded(line, 1_024));
            self.error = Some(Failed { cause: Cause::OutputLimit, status: None, word, message });
        } else if self.is_wrapped
            && let Some(error) = &mut self.error
        {
            let room = 1_024usize.saturating_sub(error.message.len() + 1);
            error.message.push(' ');
            error.message.push_str(&bounded(line, room));
        }
    }

    pub(crate) fn finish(&mut self, tally: &mut Tally) {
        if let Some(Failed { cause, word, message, .. }) = self.error.take() {
            tally.failed(cause, Some(&message), &word);
        }
    }
}

/// `Model: openai/gpt-5 with whole edit format`, or `Main model: …`.
fn model(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("Model: ").or_else(|| line.strip_prefix("Main model: "))?;
    rest.split_once(" with ").map(|(model, _)| model)
}

/// `litellm.RateLimitError: …`
fn error_name(line: &str) -> Option<&str> {
    let (name, _) = line.strip_prefix("litellm.")?.split_once(':')?;
    (name.ends_with("Error") || name == "Timeout").then_some(name)
}

/// The errors of litellm, each with the HTTP status that it stands for.
fn cause(name: &str) -> (Cause, Option<u64>) {
    let status = match name {
        "AuthenticationError" => return (Cause::Login, Some(401)),
        "PermissionDeniedError" => return (Cause::Login, Some(403)),
        "ContextWindowExceededError" => return (Cause::ContextLimit, Some(400)),
        "ContentPolicyViolationError" => return (Cause::Refusal, Some(400)),
        "BadRequestError" | "UnsupportedParamsError" | "InvalidRequestError" => 400,
        "NotFoundError" => 404,
        "UnprocessableEntityError" => 422,
        "RateLimitError" => 429,
        "InternalServerError" => 500,
        "ServiceUnavailableError" => 503,
        "Timeout" => 408,
        _ => return (Cause::Provider { retryable: true }, None),
    };
    (Cause::Provider { retryable: is_retryable(status) }, Some(status))
}

/// `Retrying in 0.5 seconds...`
fn delay_ms(line: &str) -> Option<u64> {
    let seconds: f64 = line.split(' ').nth(2)?.parse().ok()?;
    // Longer than a day is no pause between two tries.
    (0.0..86_400.0).contains(&seconds).then_some((seconds * 1_000.0) as u64)
}

/// `Tokens: 1.2k sent, 5 received. Cost: $0.01 message, $0.05 session.`
fn counts(line: &str, tally: &mut Tally) {
    let before = |word: &str| {
        let (number, _) = line.split_once(word)?;
        number.rsplit([' ', '$']).next().filter(|number| !number.is_empty())
    };
    let add = |total: &mut Option<u64>, part: Option<u64>| {
        if let Some(part) = part {
            *total = Some(total.unwrap_or(0).saturating_add(part));
        }
    };
    add(&mut tally.summary.tokens.input, before(" sent").and_then(thousands));
    add(&mut tally.summary.tokens.output, before(" received").and_then(thousands));
    if let Some(cost) = before(" session").and_then(Usd::parse) {
        tally.summary.cost_usd = Some(cost);
    }
}

/// `593`, `1.2k`, `12k`.
fn thousands(number: &str) -> Option<u64> {
    let Some(thousands) = number.strip_suffix('k') else { return number.parse().ok() };
    let thousands: f64 = thousands.parse().ok()?;
    (0.0..1e9).contains(&thousands).then_some((thousands * 1_000.0).round() as u64)
}
