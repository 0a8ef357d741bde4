//! Spans as OTLP writes them in JSON, with the names that OpenTelemetry gives to agents and to requests.

use axum::http::HeaderMap;
use callboard_kernel::{EntityId, Moment};
use callboard_ledger::Stored;
use serde_json::{Value, json};

/// The kinds of spans we send.
const INTERNAL: u8 = 1;
const SERVER: u8 = 2;
/// A status of OTLP: it failed.
const ERROR: u8 = 2;

/// The span of a request that was answered; it belongs to the trace the caller names, if it names one.
pub(crate) fn of_request(
    method: &str,
    pattern: &str,
    status: u16,
    headers: &HeaderMap,
    (from, until): (Moment, Moment),
) -> Value {
    let parent = headers.get("traceparent").and_then(|value| value.to_str().ok()).and_then(traceparent);
    let (trace, parent) = parent.unwrap_or_else(|| (random(), String::new()));
    let attributes = [
        ("http.request.method", text(method)),
        ("http.route", text(pattern)),
        ("http.response.status_code", number(status.into())),
    ];
    let mut span = span(&trace, &format!("{method} {pattern}"), SERVER, (from, until), &attributes);
    if !parent.is_empty() {
        span["parentSpanId"] = parent.into();
    }
    if status >= 500 {
        span["status"] = json!({ "code": ERROR });
    }
    span
}

/// The span of a run that has ended; nothing for what is no run or has not ended.
pub(super) fn of_run(stored: &Stored) -> Option<Value> {
    let entity = &stored.entity;
    let id: EntityId = entity.state.id;
    let (from, until) = (entity.started_at.or(entity.created_at)?, entity.ended_at?);
    let state = entity.state.lifecycle?.name();
    let facts = serde_json::to_value(&entity.facts).unwrap_or_default();
    let agent = &facts["agent"];
    let program = agent["program"].as_str().or(facts["adapter"].as_str()).unwrap_or("plain");
    let mut attributes = vec![
        ("gen_ai.operation.name", text("invoke_agent")),
        ("gen_ai.agent.id", text(&id.to_string())),
        ("gen_ai.agent.name", text(program)),
        ("callboard.state", text(state)),
    ];
    let provider = match program {
        "claude" => Some("anthropic"),
        "codex" => Some("openai"),
        "gemini" => Some("gcp.gemini"),
        _ => None,
    };
    attributes.extend(provider.map(|name| ("gen_ai.provider.name", text(name))));
    let texts = [("gen_ai.request.model", "model"), ("gen_ai.conversation.id", "vendor_session")];
    attributes.extend(texts.iter().filter_map(|(name, fact)| Some((*name, text(agent[fact].as_str()?)))));
    let counts = [
        ("gen_ai.usage.input_tokens", "input"),
        ("gen_ai.usage.output_tokens", "output"),
        ("gen_ai.usage.cache_read.input_tokens", "cache_read"),
        ("gen_ai.usage.cache_creation.input_tokens", "cache_write"),
    ];
    let tokens = &agent["tokens"];
    attributes.extend(counts.iter().filter_map(|(name, fact)| Some((*name, number(tokens[fact].as_u64()?)))));
    let is_well = state == "completed";
    let why = entity.reasons.first().map(|reason| reason.code.to_string());
    attributes.extend(why.filter(|_| !is_well).map(|why| ("error.type", text(&why))));
    // A run is one trace, whoever sends it: its id is the trace's.
    let trace = id.uuid().simple().to_string();
    let mut span = span(&trace, &format!("invoke_agent {program}"), INTERNAL, (from, until), &attributes);
    span["spanId"] = trace[16..].into();
    if !is_well {
        span["status"] = json!({ "code": ERROR });
    }
    Some(span)
}

fn span(
    trace: &str,
    name: &str,
    kind: u8,
    (from, until): (Moment, Moment),
    attributes: &[(&str, Value)],
) -> Value {
    let nanos = |moment: Moment| (i128::from(moment.as_micros()) * 1000).to_string();
    let attributes: Vec<Value> =
        attributes.iter().map(|(key, value)| json!({ "key": key, "value": value })).collect();
    json!({
        "traceId": trace,
        "spanId": &random()[..16],
        "name": name,
        "kind": kind,
        "startTimeUnixNano": nanos(from),
        "endTimeUnixNano": nanos(until),
        "attributes": attributes,
    })
}

/// As many random digits as the id of a trace has.
fn random() -> String {
    let mut bytes = [0; 16];
    // Without random numbers the spans of a moment cannot be told apart, and nothing else is lost.
    getrandom::fill(&mut bytes).ok();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn text(value: &str) -> Value {
    json!({ "stringValue": value })
}

fn number(value: u64) -> Value {
    // OTLP writes whole numbers as text.
    json!({ "intValue": value.to_string() })
}

/// The trace and the span that a caller names, as W3C writes them.
fn traceparent(text: &str) -> Option<(String, String)> {
    let parts: Vec<&str> = text.split('-').collect();
    let [_, trace, span, _] = parts[..] else { return None };
    let is_id = |id: &str, length: usize| {
        id.len() == length
            && id.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
            && id.bytes().any(|byte| byte != b'0')
    };
    (is_id(trace, 32) && is_id(span, 16)).then(|| (trace.to_owned(), span.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_that_names_its_trace_is_believed_only_if_it_is_one() {
        let (trace, span) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7");
        let named = traceparent(&format!("00-{trace}-{span}-01"));
        assert_eq!(named, Some((trace.to_owned(), span.to_owned())));
        for bad in
            ["", "00-0-0-0", &format!("00-{}-{span}-01", "0".repeat(32)), &format!("00-{trace}-{span}")]
        {
            assert_eq!(traceparent(bad), None, "{bad}");
        }
    }
}
