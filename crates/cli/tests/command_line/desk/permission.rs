//! The permission prompt tool: an agent in a run waits for leave to use a tool, over MCP on stdio.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::harness::runs::until;
use crate::harness::shelf::Shelf;

/// `callboard mcp` inside a run, as an agent program starts it.
struct Client {
    run: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    calls: u64,
}

impl Client {
    #[expect(
        clippy::disallowed_methods,
        reason = "the test talks to the program while it runs, and waits for it"
    )]
    fn start(shelf: &Shelf) -> Self {
        let mut command = shelf.command(&["run", "--quiet", "--", env!("CARGO_BIN_EXE_callboard"), "mcp"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut run = command.spawn().unwrap_or_else(|error| panic!("{error}"));
        let (Some(to), Some(from)) = (run.stdin.take(), run.stdout.take()) else { panic!("no pipes") };
        let mut client = Self { run, to, from: BufReader::new(from), calls: 0 };
        let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" } });
        let id = client.send("initialize", &params);
        client.answer(id);
        client.write(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    fn write(&mut self, message: &Value) {
        writeln!(self.to, "{message}")
            .and_then(|()| self.to.flush())
            .unwrap_or_else(|error| panic!("{error}"));
    }

    fn send(&mut self, method: &str, params: &Value) -> u64 {
        self.calls += 1;
        let id = self.calls;
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    fn answer(&mut self, id: u64) -> Value {
        loop {
            let mut line = String::new();
            let read = self.from.read_line(&mut line).unwrap_or_else(|error| panic!("{error}"));
            assert!(read > 0, "it ended before it answered");
            let message: Value =
                serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
            if message["id"] == id {
                return message["result"].clone();
            }
        }
    }

    fn ask(&mut self, command: &str) -> u64 {
        let arguments =
            json!({ "tool_name": "Bash", "input": { "command": command }, "tool_use_id": "toolu_1" });
        self.send("tools/call", &json!({ "name": "permission", "arguments": arguments }))
    }

    /// What the agent program reads: one text that is a document.
    fn verdict(&mut self, id: u64) -> Value {
        let result = self.answer(id);
        let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}"));
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    fn end(self) {
        let Self { mut run, to, .. } = self;
        drop(to);
        run.wait().unwrap_or_else(|error| panic!("{error}"));
    }
}

fn asked(shelf: &Shelf, command: &str) -> String {
    until(command, || {
        let ran = shelf.run(&["inbox", "--json"]);
        let inbox: Value = serde_json::from_str(&ran.stdout).ok()?;
        let items = inbox["items"].as_array()?;
        let about = |item: &&Value| item["context"].as_str().is_some_and(|text| text.contains(command));
        items.iter().find(about).and_then(|item| item["id"].as_str()).map(str::to_owned)
    })
}

#[test]
fn a_tool_waits_for_leave_and_a_standing_rule_gives_it_without_asking() {
    let shelf = Shelf::empty();
    let mut client = Client::start(&shelf);
    let first = client.ask("cargo test");
    shelf.well(&["answer", &asked(&shelf, "cargo test"), "allow", "--always", "exact"]);
    assert_eq!(
        client.verdict(first),
        json!({ "behavior": "allow", "updatedInput": { "command": "cargo test" } })
    );
    // The same again is answered by the rule; a longer command that begins like it is not.
    let again = client.ask("cargo test");
    assert_eq!(client.verdict(again)["behavior"], "allow");
    let other = client.ask("cargo test; rm -rf /");
    shelf.well(&["answer", &asked(&shelf, "rm -rf"), "deny", "--because", "not that"]);
    let denied = client.verdict(other);
    assert_eq!(denied["behavior"], "deny", "{denied}");
    assert!(denied["message"].as_str().is_some_and(|text| text.contains("not that")), "{denied}");
    let rules = shelf.json(&["rules", "--json"]);
    let rule = rules["items"][0]["id"].as_str().unwrap_or_else(|| panic!("{rules}"));
    shelf.well(&["rules", "revoke", rule]);
    // Two at once keep apart.
    let (left, right) = (client.ask("cargo test"), client.ask("cargo fmt"));
    shelf.well(&["answer", &asked(&shelf, "cargo fmt"), "deny"]);
    assert_eq!(client.verdict(right)["behavior"], "deny");
    shelf.well(&["answer", &asked(&shelf, "cargo test"), "allow"]);
    assert_eq!(client.verdict(left)["behavior"], "allow");
    client.end();
}
