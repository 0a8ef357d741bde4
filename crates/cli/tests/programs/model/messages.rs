//! The Anthropic Messages API.

use serde_json::json;

use super::dialect::{Answer, CACHED_TOKENS, INPUT_TOKENS, OUTPUT_TOKENS, named};

pub(super) fn events(answer: &Answer) -> Vec<String> {
    let (block, delta, stop) = match &answer.call {
        Some((name, arguments)) => (
            json!({"type": "tool_use", "id": format!("toolu_{}", answer.nth), "name": name, "input": {}}),
            json!({"type": "input_json_delta", "partial_json": arguments.to_string()}),
            "tool_use",
        ),
        None => (
            json!({"type": "text", "text": ""}),
            json!({"type": "text_delta", "text": answer.text}),
            if answer.is_truncated { "max_tokens" } else { "end_turn" },
        ),
    };
    // This vendor counts the cached part apart from the rest.
    let usage = json!({
        "input_tokens": INPUT_TOKENS - CACHED_TOKENS, "cache_read_input_tokens": CACHED_TOKENS,
        "cache_creation_input_tokens": 0, "output_tokens": 1,
    });
    let message = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": answer.model, "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": usage,
    });
    [
        json!({"type": "message_start", "message": message}),
        json!({"type": "content_block_start", "index": 0, "content_block": block}),
        json!({"type": "content_block_delta", "index": 0, "delta": delta}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({
            "type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": null},
            "usage": {"output_tokens": OUTPUT_TOKENS},
        }),
        json!({"type": "message_stop"}),
    ]
    .iter()
    .map(|data| named(data["type"].as_str().unwrap_or_default(), data))
    .collect()
}
