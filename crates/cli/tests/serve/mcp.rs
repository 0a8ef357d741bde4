//! The official MCP client of another language claims and completes tasks, over standard input and output and over HTTP; and what the
//! protocol answers to whoever may not.
//!
//! Invariant: without the client the tests say so and pass; `cargo xtask test` installs it.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::host::{Host, callboard};

/// What the client said, or nothing if it is not installed.
fn client(host: &Host, way: &[&str]) -> Option<Value> {
    let Some(sdk) = std::env::var_os("CALLBOARD_MCP_SDK") else {
        eprintln!(
            "skipped: CALLBOARD_MCP_SDK names no directory; `cargo xtask test nextest` installs the client"
        );
        return None;
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/serve/mcp_client.cjs");
    let mut command = Command::new("node");
    command.arg(script).arg(sdk).args(way).env("CALLBOARD_STORE", host.store());
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{told}");
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

fn check(host: &Host, id: &str, said: &Value) {
    assert_eq!((&said["title"], &said["state"]), (&json!("paint the fence"), &json!("done")), "{said}");
    assert_eq!(
        (&said["refused"], &said["story"], &said["server"]),
        (&json!("not_held"), &json!(1), &json!("callboard"))
    );
    let tools: Vec<&str> = said["tools"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    for needed in ["claim_task", "complete_task", "split_task", "ask", "permission", "attention"] {
        assert!(tools.contains(&needed), "{needed} is missing: {said}");
    }
    let story = host.get(&format!("/api/v1/tasks/{id}/story")).json();
    assert_eq!(story["state"]["lifecycle"], "done");
    assert_eq!(story["facts"]["summary"], "done in TypeScript");
}

fn added(host: &Host) -> String {
    let reply = host.post("/api/v1/tasks", &json!({"title": "paint the fence"}));
    assert_eq!(reply.status, 201, "{}", reply.text());
    reply.json()["id"].as_str().unwrap().to_owned()
}

#[test]
fn the_client_of_typescript_completes_a_task_over_standard_input_and_output() {
    let host = Host::start();
    let id = added(&host);
    if let Some(said) = client(&host, &["stdio", env!("CARGO_BIN_EXE_callboard"), "mcp"]) {
        check(&host, &id, &said);
    }
}

#[test]
fn the_client_of_typescript_completes_a_task_over_http() {
    let host = Host::start();
    let id = added(&host);
    if let Some(said) = client(&host, &["http", &format!("http://{}/mcp", host.address), &host.token]) {
        check(&host, &id, &said);
    }
}

#[test]
fn over_http_a_token_is_needed_and_a_foreign_name_gets_nothing() {
    let host = Host::start();
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}).to_string();
    let accepts = "Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n";
    assert_eq!(host.send("POST", "/mcp", accepts, &body).status, 401);
    let bearer = host.bearer(&host.token);
    assert_eq!(
        host.send("POST", "/mcp", &format!("{accepts}{bearer}Origin: http://evil.example\r\n"), &body).status,
        403
    );
    let reply = host.send("POST", "/mcp", &format!("{accepts}{bearer}"), &body);
    assert_eq!((reply.status, reply.json()["result"]["tools"].as_array().map(Vec::len)), (200, Some(15)));
    assert_eq!(host.send("GET", "/mcp", &bearer, "").status, 405, "there are no streams of the server's own");
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the test speaks with the program while it runs, and waits for it"
)]
fn inside_a_run_the_caller_is_its_agent() {
    let host = Host::start();
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let call = json!({"name": "add_task", "arguments": {"title": "t"}});
    let asked = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}),
    ];
    let mut run = callboard(&host.store(), &["run", "-q", "--", env!("CARGO_BIN_EXE_callboard"), "mcp"]);
    let mut run = run.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = run.stdin.take().unwrap();
    for message in &asked {
        writeln!(input, "{message}").unwrap();
    }
    let mut lines = BufReader::new(run.stdout.take().unwrap()).lines();
    let mut next = || {
        let line = lines.next().unwrap().unwrap();
        serde_json::from_str::<Value>(&line).unwrap_or_else(|_| panic!("no protocol: {line}"))
    };
    assert_eq!(next()["result"]["serverInfo"]["name"], "callboard");
    let refused = next();
    assert_eq!(refused["result"]["isError"], true, "{refused}");
    assert_eq!(refused["result"]["structuredContent"]["error"]["code"], "not_allowed", "{refused}");
    drop(input);
    assert!(run.wait().unwrap().success(), "it ends with its client");
}
