//! The surfaces that somebody who works by hand can use: the terminal, HTTP and MCP.

#![expect(clippy::disallowed_methods, reason = "a test starts the program as a user does")]

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::stage::Stage;
use crate::wire::{Reply, exchange};

/// What the holder of a task does with it.
#[derive(Clone, Copy)]
pub(super) enum Act {
    Start,
    Done,
    Fail,
    Release,
    Block,
    Split,
}

/// Somewhere tasks can be claimed and worked on.
pub(super) trait Surface {
    fn claim(&self, task: &str);
    fn act(&self, task: &str, act: Act);
}

pub(super) struct Terminal<'a>(pub(super) &'a Stage);

impl Surface for Terminal<'_> {
    fn claim(&self, task: &str) {
        self.0.well(&["task", "claim", task, "--as", "ann"]);
    }

    fn act(&self, task: &str, act: Act) {
        let words: &[&str] = match act {
            Act::Start => &["start", task],
            Act::Done => &["done", task, "--summary", "did it"],
            Act::Fail => &["fail", task, "--because", "it cannot be done", "--final"],
            Act::Release => &["release", task],
            Act::Block => &["block", task, "--by", "the key"],
            Act::Split => &["split", task, "--into", "a part"],
        };
        self.0.well(&[&["task"], words].concat());
    }
}

/// A server of the stage, ended when it is dropped. Its services look after tasks meanwhile.
pub(crate) struct Http {
    server: Child,
    address: SocketAddr,
    token: String,
}

impl Http {
    pub(crate) fn serve(stage: &Stage) -> Self {
        let mut command = stage.callboard(&["serve", "--json", "--listen", "127.0.0.1:0", "--rate", "0"]);
        let mut server = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap();
        let url = ready["url"].as_str().unwrap();
        let address = url.trim_start_matches("http://").trim_end_matches('/').parse().unwrap();
        let token = std::fs::read_to_string(stage.path("state/operator.token")).unwrap().trim().to_owned();
        Self { server, address, token }
    }

    pub(crate) fn get(&self, path: &str) -> Reply {
        let (address, token) = (self.address, &self.token);
        let request = format!(
            "GET /api/v1{path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
        );
        exchange(address, request.as_bytes()).unwrap_or_else(|| panic!("no answer to {path}"))
    }

    pub(super) fn post(&self, task: &str, verb: &str, body: &Value) -> Value {
        let (body, address, token) = (body.to_string(), self.address, &self.token);
        let request = format!(
            "POST /api/v1/tasks/{task}/{verb} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
        exchange(address, request.as_bytes()).unwrap_or_else(|| panic!("no answer to {verb}")).ok()
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        self.server.kill().ok();
        self.server.wait().ok();
    }
}

impl Surface for Http {
    fn claim(&self, task: &str) {
        self.post(task, "claim", &json!({"worker": "http"}));
    }

    fn act(&self, task: &str, act: Act) {
        let (verb, body) = match act {
            Act::Start => ("start", json!({})),
            Act::Done => ("done", json!({"summary": "did it"})),
            Act::Fail => ("fail", json!({"message": "it cannot be done", "is_final": true})),
            Act::Release => ("release", json!({"because": "somebody else is to do it"})),
            Act::Block => ("block", json!({"by": ["the key"], "because": "no key"})),
            Act::Split => ("split", json!({"parts": [{"title": "a part"}]})),
        };
        self.post(task, verb, &body);
    }
}

pub(super) struct Mcp<'a>(pub(super) &'a Stage);

impl Mcp<'_> {
    /// Calls a tool, in a process of its own.
    fn call(&self, tool: &str, arguments: &Value) -> Value {
        let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        let asked = [
            json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}),
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
            json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}),
        ];
        let mut command = self.0.callboard(&["mcp"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        for message in &asked {
            writeln!(input, "{message}").unwrap();
        }
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let replies = lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
        let reply = replies.skip(1).find(|reply| reply["id"] == 2).unwrap();
        assert_ne!(reply["result"]["isError"], true, "{tool}: {reply}");
        drop(input);
        assert!(child.wait().unwrap().success());
        reply["result"]["structuredContent"].clone()
    }
}

impl Surface for Mcp<'_> {
    fn claim(&self, task: &str) {
        self.call("claim_task", &json!({"task": task, "worker": "mcp"}));
    }

    fn act(&self, task: &str, act: Act) {
        let (tool, mut arguments) = match act {
            Act::Start => ("start_task", json!({})),
            Act::Done => ("complete_task", json!({"summary": "did it"})),
            Act::Fail => ("fail_task", json!({"message": "it cannot be done", "is_final": true})),
            Act::Release => ("release_task", json!({"because": "somebody else is to do it"})),
            Act::Block => ("block_task", json!({"by": ["the key"], "because": "no key"})),
            Act::Split => ("split_task", json!({"parts": [{"title": "a part"}]})),
        };
        arguments["task"] = task.into();
        self.call(tool, &arguments);
    }
}
