//! The OpenAI Chat Completions API.

use serde_json::{Value, json};

use super::dialect::{Answer, CACHED_TOKENS, INPUT_TOKENS, OUTPUT_TOKENS, unnamed};

pub(super) fn events(answer: &Answer) -> Vec<String> {
    let said = match &answer.call {
        Some((name, arguments)) => json!({"tool_calls": [{
            "index": 0, "id": format!("call_{}", answer.nth), "type": "function",
            "function": {"name": name, "arguments": arguments.to_string()},
        }]}),
        None => json!({"content": answer.text}),
    };
    let finish = match (&answer.call, answer.is_truncated) {
        (Some(_), _) => "tool_calls",
        (None, true) => "length",
        (None, false) => "stop",
    };
    let mut last = chunk(answer, json!([]));
    last["usage"] = json!({
        "prompt_tokens": INPUT_TOKENS, "prompt_tokens_details": {"cached_tokens": CACHED_TOKENS},
        "completion_tokens": OUTPUT_TOKENS, "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
    });
    vec![
        unnamed(&chunk(answer, choice(&json!({"role": "assistant", "content": ""}), None))),
        unnamed(&chunk(answer, choice(&said, None))),
        unnamed(&chunk(answer, choice(&json!({}), Some(finish)))),
        unnamed(&last),
        "data: [DONE]\n\n".to_owned(),
    ]
}

fn choice(delta: &Value, finish: Option<&str>) -> Value {
    json!([{"index": 0, "delta": delta, "finish_reason": finish}])
}

fn chunk(answer: &Answer, choices: Value) -> Value {
    json!({"id": "c_1", "object": "chat.completion.chunk", "created": 1, "model": answer.model, "choices": choices})
}
