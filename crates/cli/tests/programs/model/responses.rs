//! The OpenAI Responses API.

use serde_json::{Value, json};

use super::dialect::{Answer, CACHED_TOKENS, IN, INPUT_TOKENS, OUTPUT_TOKENS, named};

pub(super) fn events(answer: &Answer) -> Vec<String> {
    let last = if answer.is_truncated { "incomplete" } else { "completed" };
    let mut response =
        json!({"id": "resp_1", "status": last, "output": [item(answer, last)], "usage": usage()});
    if answer.is_truncated {
        response["incomplete_details"] = json!({"reason": "max_output_tokens"});
    }
    let mut events = vec![
        ("response.created".to_owned(), json!({"response": {"id": "resp_1", "status": "in_progress"}})),
        (
            "response.output_item.added".to_owned(),
            json!({"output_index": 0, "item": item(answer, "in_progress")}),
        ),
    ];
    if answer.call.is_none() {
        let delta = json!({"item_id": "msg_1", "output_index": 0, "content_index": 0, "delta": answer.text});
        events.push(("response.output_text.delta".to_owned(), delta));
    }
    events.push((
        "response.output_item.done".to_owned(),
        json!({"output_index": 0, "item": item(answer, last)}),
    ));
    events.push((format!("response.{last}"), json!({"response": response})));
    events
        .into_iter()
        .enumerate()
        .map(|(number, (kind, mut data))| {
            data["type"] = json!(kind);
            data["sequence_number"] = json!(number);
            named(&kind, &data)
        })
        .collect()
}

fn item(answer: &Answer, status: &str) -> Value {
    match &answer.call {
        Some((name, arguments)) => {
            let (space, name) =
                name.split_once(IN).map_or((None, name.as_str()), |(space, name)| (Some(space), name));
            let mut call = json!({
                "type": "function_call", "id": format!("fc_{}", answer.nth), "call_id": format!("call_{}", answer.nth),
                "status": status, "name": name, "arguments": arguments.to_string(),
            });
            if let Some(space) = space {
                call["namespace"] = json!(space);
            }
            call
        }
        None => {
            let text = json!({"type": "output_text", "text": answer.text, "annotations": []});
            let content = if status == "in_progress" { vec![] } else { vec![text] };
            json!({"type": "message", "id": "msg_1", "role": "assistant", "status": status, "content": content})
        }
    }
}

fn usage() -> Value {
    json!({
        "input_tokens": INPUT_TOKENS, "input_tokens_details": {"cached_tokens": CACHED_TOKENS},
        "output_tokens": OUTPUT_TOKENS, "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
    })
}
