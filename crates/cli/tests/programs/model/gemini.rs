//! The Gemini API, `streamGenerateContent` with server-sent events.

use serde_json::{Value, json};

use super::dialect::{Answer, CACHED_TOKENS, INPUT_TOKENS, OUTPUT_TOKENS, unnamed};

pub(super) fn events(answer: &Answer) -> Vec<String> {
    let part = match &answer.call {
        Some((name, arguments)) => json!({"functionCall": {"name": name, "args": arguments}}),
        None => json!({"text": answer.text}),
    };
    let finish = if answer.is_truncated { "MAX_TOKENS" } else { "STOP" };
    vec![unnamed(&chunk(answer, &part, None)), unnamed(&chunk(answer, &json!({"text": ""}), Some(finish)))]
}

fn chunk(answer: &Answer, part: &Value, finish: Option<&str>) -> Value {
    let mut candidate = json!({"content": {"role": "model", "parts": [part]}, "index": 0});
    if let Some(finish) = finish {
        candidate["finishReason"] = json!(finish);
    }
    json!({
        "candidates": [candidate],
        "usageMetadata": {
            "promptTokenCount": INPUT_TOKENS, "cachedContentTokenCount": CACHED_TOKENS,
            "candidatesTokenCount": OUTPUT_TOKENS, "totalTokenCount": INPUT_TOKENS + OUTPUT_TOKENS,
        },
        "modelVersion": answer.model,
    })
}
