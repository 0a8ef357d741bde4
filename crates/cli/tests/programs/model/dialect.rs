//! What the model says, apart from the vendor's way to say it.

use serde_json::{Value, json};

use super::http::Request;
use super::{chat, gemini, messages, responses};

/// What the model reports as its use in every answer. The input includes the cached part.
pub(crate) const INPUT_TOKENS: u64 = 11;
pub(crate) const CACHED_TOKENS: u64 = 3;
pub(crate) const OUTPUT_TOKENS: u64 = 7;

/// The name of the model where a program lets us choose one.
pub(crate) const MODEL: &str = "mock-model";

/// A vendor's protocol.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Dialect {
    Responses,
    Chat,
    Messages,
    Gemini,
}

/// One answer of the model.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) text: String,
    /// The name and the arguments of a tool to call instead of saying something.
    pub(crate) call: Option<(String, Value)>,
    /// Which call of the conversation that is, so that each has an id of its own.
    pub(crate) nth: usize,
    /// Whether the output limit ended it.
    pub(crate) is_truncated: bool,
    /// The model that was asked for.
    pub(crate) model: String,
}

impl Dialect {
    /// The protocol of a request; none if it is not for a model.
    pub(crate) fn of(target: &str) -> Option<Self> {
        let path = target.split('?').next().unwrap_or(target);
        match path {
            path if path.ends_with("/responses") => Some(Self::Responses),
            path if path.ends_with("/chat/completions") => Some(Self::Chat),
            path if path.ends_with("/messages") => Some(Self::Messages),
            path if path.ends_with(":streamGenerateContent") => Some(Self::Gemini),
            _ => None,
        }
    }

    /// The events of an answer, each as it goes over the wire.
    pub(crate) fn events(self, answer: &Answer) -> Vec<String> {
        match self {
            Self::Responses => responses::events(answer),
            Self::Chat => chat::events(answer),
            Self::Messages => messages::events(answer),
            Self::Gemini => gemini::events(answer),
        }
    }

    /// What tools have answered in this conversation.
    pub(crate) fn tool_results(self, body: &Value) -> Vec<&Value> {
        match self {
            Self::Responses => {
                items(&body["input"]).filter(|item| item["type"] == "function_call_output").collect()
            }
            Self::Chat => items(&body["messages"]).filter(|message| message["role"] == "tool").collect(),
            Self::Messages => {
                let blocks = items(&body["messages"]).flat_map(|message| items(&message["content"]));
                blocks.filter(|block| block["type"] == "tool_result").collect()
            }
            Self::Gemini => {
                let parts = items(&body["contents"]).flat_map(|content| items(&content["parts"]));
                parts.filter(|part| !part["functionResponse"].is_null()).collect()
            }
        }
    }

    /// The body of a refusal, as the vendor writes it.
    pub(crate) fn refusal(self, status: u16, message: &str) -> Value {
        let (kind, word) = match status {
            401 => ("authentication_error", "UNAUTHENTICATED"),
            404 => ("not_found_error", "NOT_FOUND"),
            429 => ("rate_limit_error", "RESOURCE_EXHAUSTED"),
            _ => ("api_error", "INTERNAL"),
        };
        match self {
            Self::Responses | Self::Chat => json!({"error": {"message": message, "type": kind}}),
            Self::Messages => json!({"type": "error", "error": {"type": kind, "message": message}}),
            Self::Gemini => json!({"error": {"code": status, "message": message, "status": word}}),
        }
    }
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().map_or(&[][..], Vec::as_slice).iter()
}

/// The names of the tools that a request offers.
fn offered(request: &Request) -> impl Iterator<Item = &str> {
    let names =
        items(&request.body["tools"]).flat_map(|tool| match tool["functionDeclarations"].as_array() {
            Some(declared) => declared.iter().map(|tool| tool["name"].as_str()).collect(),
            None => vec![tool["name"].as_str().or_else(|| tool["function"]["name"].as_str())],
        });
    names.flatten()
}

/// Stands between a namespace and the name of a tool in it.
pub(super) const IN: &str = "::";

/// The tool of the task board by the name that the program gives it: among its tools, in a namespace of them, or in a list of names that it
/// loads when they are called.
pub(crate) fn board_call(request: &Request, tool: &str, arguments: &Value) -> Option<(String, Value)> {
    let plain = offered(request).find(|name| name.contains("callboard") && name.ends_with(tool));
    let namespace = || {
        let spaces = items(&request.body["tools"]).filter(|space| space["type"] == "namespace");
        let mut of_board =
            spaces.filter(|space| space["name"].as_str().is_some_and(|it| it.contains("callboard")));
        let space = of_board.find(|space| items(&space["tools"]).any(|it| it["name"] == tool))?;
        Some(format!("{}{IN}{tool}", space["name"].as_str()?))
    };
    let deferred = || {
        let name = format!("mcp__callboard__{tool}");
        request.body["messages"].to_string().contains(&name).then_some(name)
    };
    let found = plain.map(str::to_owned).or_else(namespace).or_else(deferred);
    found.map(|name| (name, arguments.clone()))
}

/// The tool of the request that runs shell commands, with the arguments that run this one.
pub(crate) fn shell_call(request: &Request, command: &str) -> Option<(String, Value)> {
    offered(request).find_map(|name| {
        let arguments = match name {
            "exec_command" => json!({"cmd": command, "yield_time_ms": 30_000}),
            "Bash" | "bash" => {
                json!({"command": command, "description": "runs it", "timeout": 600_000})
            }
            "run_shell_command" => {
                json!({"command": command, "description": "runs it", "is_background": false})
            }
            _ => return None,
        };
        Some((name.to_owned(), arguments))
    })
}

/// A server-sent event with a name.
pub(crate) fn named(kind: &str, data: &Value) -> String {
    format!("event: {kind}\ndata: {data}\n\n")
}

/// A server-sent event without a name.
pub(crate) fn unnamed(data: &Value) -> String {
    format!("data: {data}\n\n")
}
