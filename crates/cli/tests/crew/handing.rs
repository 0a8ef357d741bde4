//! What a worker hands its agent, and who reports the end of a task: an agent that does so itself is not reported again.
//!
//! The agent is a script that is called like a known program and writes down what it was given.

#![expect(clippy::disallowed_methods, reason = "a test starts the program as a user does")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output, Stdio};

use callboard_kernel::fact;
use callboard_ledger::{Page, RecordScope};
use callboard_lifecycle::ActorClass;
use callboard_lifecycle::task::TaskState;
use serde_json::Value;

use crate::cluster::Cluster;
use crate::stage::{LONG, Stage, finish};

/// Writes a program into the directory that is searched first.
fn install(stage: &Stage, name: &str, script: &str) {
    let dir = stage.path("bin");
    std::fs::create_dir_all(&dir).unwrap();
    let path = dir.join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn work(stage: &Stage, args: &[&str]) -> Output {
    let words = [&["work", "--once", "--lease", "3s", "--retry-pause", "200ms"], args].concat();
    let mut command = stage.callboard(&words);
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", stage.path("bin").display()));
    command.env("OUT", stage.path("tries"));
    finish(spawn(&mut command))
}

fn spawn(command: &mut Command) -> std::process::Child {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// What the script wrote under this name.
fn noted(stage: &Stage, name: &str) -> String {
    std::fs::read_to_string(stage.path("tries").join(name)).unwrap_or_default()
}

/// Writes down the arguments and variables that it was given, and does the task.
const NOTES: &str = r#"for word in "$@"; do printf '%s\n' "$word"; done > "$OUT/args"
env > "$OUT/env"; echo done > done.txt; echo ok"#;

#[test]
fn each_program_is_told_by_what_it_reads() {
    for name in ["claude", "codex", "gemini", "opencode"] {
        let stage = Stage::new();
        let file = r#"cat "$GEMINI_CLI_SYSTEM_DEFAULTS_PATH" > "$OUT/file" 2>/dev/null"#;
        let mode = r#"stat -c %a "$GEMINI_CLI_SYSTEM_DEFAULTS_PATH" > "$OUT/mode" 2>/dev/null"#;
        install(&stage, name, &format!("{NOTES}\n{file}\n{mode}\nexit 0"));
        let id = stage.add("do it", |_| ());
        let output = work(&stage, &["--", "env", "A=b", name, "-p", "{prompt}"]);
        assert_eq!(stage.state(id), TaskState::Closed, "{name}: {}", said(&output));
        let (args, env) = (noted(&stage, "args"), noted(&stage, "env"));
        let args: Vec<&str> = args.lines().collect();
        let store = stage.path("state/board.db").display().to_string();
        match name {
            "claude" => {
                let config: Value =
                    serde_json::from_str(args[0].strip_prefix("--mcp-config=").unwrap()).unwrap();
                let server = &config["mcpServers"]["callboard"];
                assert_eq!(server["command"], env!("CARGO_BIN_EXE_callboard"));
                assert!(server["args"].to_string().contains(&store), "{config}");
                assert_eq!(args[1..], ["--allowedTools=mcp__callboard", "-p", "do it"]);
            }
            "codex" => {
                let has = |start: &str, part: &str| {
                    args.windows(2)
                        .any(|pair| pair[0] == "-c" && pair[1].starts_with(start) && pair[1].contains(part))
                };
                assert!(
                    has("mcp_servers.callboard.command=", "callboard")
                        && has("mcp_servers.callboard.args=", &store),
                    "{args:?}"
                );
                assert_eq!(args[args.len() - 2..], ["-p", "do it"]);
            }
            "gemini" if said(&output).contains("no MCP tools") => {
                // A temporary directory can be changed by others than root.
                assert!(!env.contains("GEMINI_CLI_SYSTEM_DEFAULTS_PATH="), "{env}");
            }
            "gemini" => {
                let config: Value = serde_json::from_str(&noted(&stage, "file")).unwrap();
                assert!(config["mcpServers"]["callboard"]["args"].to_string().contains(&store), "{config}");
                assert_eq!((noted(&stage, "mode").trim(), args), ("600", vec!["-p", "do it"]));
            }
            _ => {
                let line = env.lines().find_map(|line| line.strip_prefix("OPENCODE_CONFIG_CONTENT="));
                let config: Value = serde_json::from_str(line.unwrap()).unwrap();
                assert!(config["mcp"]["callboard"]["command"].to_string().contains(&store), "{config}");
                assert_eq!(args, ["-p", "do it"]);
            }
        }
        assert!(!env.contains("CALLBOARD_TOKEN="), "there is no token where the run itself bounds the agent");
        let left = std::fs::read_dir(stage.path("state/attempts")).map_or(0, Iterator::count);
        assert_eq!(left, 0, "{name}");
        let files = stage.git(&["ls-tree", "--name-only", "main"]);
        assert_eq!(files, "done.txt\nshared.txt\n", "{name}");
    }
}

#[test]
fn another_program_finds_a_file_and_one_that_was_killed_leaves_none() {
    let stage = Stage::new();
    let stay = r#"cp "$1" "$OUT/config"; stat -c %a "$1" > "$OUT/mode"; dirname "$1" > "$OUT/dir"
[ -e "$OUT/again" ] && exit 0; touch "$OUT/again"; echo begun; sleep 600"#;
    install(&stage, "some-agent", stay);
    let id = stage.add("do it", |_| ());
    let words =
        ["work", "--once", "--lease", "3s", "--retry-pause", "200ms", "--", "some-agent", "{mcp_config}"];
    let mut command = stage.callboard(&words);
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", stage.path("bin").display())).env("OUT", stage.path("tries"));
    let mut first = spawn(&mut command);
    stage.until("the task in progress", |stage| stage.state(id) == TaskState::InProgress);
    first.kill().unwrap();
    first.wait().unwrap();
    let config: Value = serde_json::from_str(&noted(&stage, "config")).unwrap();
    assert!(config["mcpServers"]["callboard"]["command"].is_string(), "{config}");
    assert_eq!(noted(&stage, "mode").trim(), "600");
    let left = std::path::PathBuf::from(noted(&stage, "dir").trim());
    assert!(left.starts_with(stage.path("state/attempts")) && left.exists(), "{}", left.display());
    // The next worker stops what was left behind, does the task again, and a third one finds nothing to sweep.
    let output = work(&stage, &["--", "some-agent", "{mcp_config}"]);
    assert_eq!(stage.state(id), TaskState::Closed, "{}", said(&output));
    work(&stage, &["--", "true"]);
    let left = std::fs::read_dir(stage.path("state/attempts")).map_or(0, Iterator::count);
    assert_eq!(left, 0);
}

#[test]
fn an_unknown_program_is_told_with_file_and_line_and_nothing_is_claimed() {
    let stage = Stage::new();
    let id = stage.add("do it", |_| ());
    let file = stage.path("callboard.toml");
    std::fs::write(&file, "[profiles.mine]\ncommand = [\"true\"]\nmcp = \"claud\"\n").unwrap();
    let output = work(&stage, &["--profile", "mine"]);
    let told = said(&output);
    assert_eq!(output.status.code(), Some(2), "{told}");
    for part in ["callboard.toml", "line 3", "claud", "auto, claude, codex, gemini, opencode or none"] {
        assert!(told.contains(part), "{part:?} is not in {told}");
    }
    let output = work(&stage, &["--mcp", "claud", "--", "true"]);
    assert!(
        output.status.code() == Some(2) && said(&output).contains("opencode or none"),
        "{}",
        said(&output)
    );
    let output = work(&stage, &["--mcp", "none", "--", "true", "{mcp_config}"]);
    assert!(output.status.code() == Some(2) && said(&output).contains("mcp is none"), "{}", said(&output));
    assert_eq!(stage.state(id), TaskState::Open);
}

/// The agent reports; `$1` is what it says. Then it stays a moment, as programs do that clean up.
const REPORTS: &str = r#"
[ -e "$OUT/alive" ] && touch "$OUT/two-at-once"
touch "$OUT/alive"
echo "working"
n=$(cat "$OUT/count" 2>/dev/null || echo 0); n=$((n + 1)); echo $n > "$OUT/count"
echo "$n" > file.txt
if [ $n -eq 1 ]; then eval "\"$CALLBOARD\" task $1" 2> "$OUT/said" || mv "$OUT/said" "$OUT/refused"; sleep 1; fi
rm -f "$OUT/alive"
"#;

#[test]
fn what_the_agent_reports_is_not_reported_again() {
    let ends = [
        ("done", r#"done "$CALLBOARD_TASK" --summary mine"#, TaskState::Closed, "1"),
        ("fail", r#"fail "$CALLBOARD_TASK" --because no"#, TaskState::Closed, "2"),
        ("fail for good", r#"fail "$CALLBOARD_TASK" --because no --final"#, TaskState::Failed, "1"),
        ("release", r#"release "$CALLBOARD_TASK" --because later"#, TaskState::Closed, "2"),
        ("block", r#"block "$CALLBOARD_TASK" --gate person:paint"#, TaskState::Blocked, "1"),
        ("start", r#"start "$CALLBOARD_TASK""#, TaskState::Closed, "1"),
    ];
    for (name, act, expected, attempts) in ends {
        let stage = Stage::new();
        let id = stage.add(name, |_| ());
        // Two workers: one is free to claim what the other's agent gave back.
        let output = work(&stage, &["--concurrency", "2", "--", "/bin/sh", "-c", REPORTS, "agent", act]);
        let refused = std::fs::read_to_string(stage.path("tries/refused")).unwrap_or_default();
        let told = said(&output);
        assert_eq!(stage.state(id), expected, "{name}: {} {told} {refused}", stage.why(id));
        assert_eq!(noted(&stage, "count").trim(), attempts, "{name}: {told} {refused}");
        assert!(!stage.path("tries/two-at-once").exists(), "{name}: two agents were in one worktree");
        assert!(!told.contains("refused") && !told.contains("is lost"), "{name}: {told}");
        if name == "start" {
            continue;
        }
        assert!(!stage.path("tries/refused").exists(), "{name}: {told}");
        let page = Page { after: 0, limit: usize::MAX, scope: RecordScope::Entity(id) };
        let ended: Vec<ActorClass> = stage
            .ledger()
            .records(page)
            .unwrap()
            .iter()
            .filter_map(|record| record.event().ok())
            .filter(|event| event.data.value(fact::LEASE_HOLDER) == Some(&callboard_kernel::Value::Null))
            .map(|event| event.actor.class)
            .collect();
        assert_eq!(ended[0], ActorClass::Agent, "{name}: {ended:?}");
        assert_eq!(ended.len().to_string(), attempts, "{name}: {ended:?}");
    }
}

/// Tells the test what it was given, and waits.
const WAITS: &str = r#"printf %s "$1" > "$OUT/config"; echo working; printf %s "$CALLBOARD_TOKEN" > "$OUT/token"
n=0; while [ ! -e "$OUT/go" ] && [ $n -lt 3000 ]; do sleep 0.1; n=$((n + 1)); done; echo done > done.txt"#;

/// Calls a tool over HTTP; the answer with its head.
fn call(address: &str, token: &str, tool: &str, arguments: &Value) -> String {
    let params = serde_json::json!({"name": tool, "arguments": arguments});
    let body =
        serde_json::json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
    let mut connection = TcpStream::connect(address).unwrap();
    connection.set_read_timeout(Some(LONG)).unwrap();
    write!(
        connection,
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\
         Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    answer
}

/// A store that needs a password is not for agents: they get a token of their run for the server.
#[test]
fn where_the_store_is_out_of_reach_the_agent_gets_a_token_of_its_run() {
    let cluster = Cluster::start();
    let url = cluster.database("board");
    let password = if url.contains('?') { "&password=made-up" } else { "?password=made-up" };
    let stage = Stage::on(tempfile::tempdir().unwrap(), format!("{url}{password}"));
    install(&stage, "claude", WAITS);
    let (mine, other) =
        (stage.add("do it", |_| ()), stage.add("another", |task| task.role = Some("nobody".into())));
    let mut server = stage.callboard(&["serve", "--listen", "127.0.0.1:0", "--json"]);
    let mut server = spawn(&mut server);
    let working = std::thread::scope(|scope| {
        let home = stage.path("");
        stage.until("a server", |_| {
            std::process::Command::new("find")
                .arg(&home)
                .args(["-name", "serve.sock"])
                .output()
                .is_ok_and(|found| !found.stdout.is_empty())
        });
        let working = scope.spawn(|| work(&stage, &["--role", "some", "--", "claude", "-p", "{prompt}"]));
        stage.until("an agent with a token", |stage| !noted(stage, "token").is_empty());
        let config: Value =
            serde_json::from_str(noted(&stage, "config").strip_prefix("--mcp-config=").unwrap()).unwrap();
        let at = config["mcpServers"]["callboard"]["url"].as_str().unwrap();
        let address = at.strip_prefix("http://").and_then(|at| at.strip_suffix("/mcp")).unwrap();
        let token = noted(&stage, "token");
        assert!(!config.to_string().contains(&token), "settings hold no token");
        let text = serde_json::json!({"text": "over HTTP"});
        // The token is kept a moment after the process is there.
        stage.until("progress", |_| {
            call(address, &token, "report_progress", &text).starts_with("HTTP/1.1 200")
        });
        let foreign = call(address, &token, "show_task", &serde_json::json!({"task": other.to_string()}));
        assert!(foreign.contains("not_allowed"), "{foreign}");
        std::fs::write(stage.path("tries/go"), "").unwrap();
        let output = working.join().unwrap();
        assert_eq!(stage.state(mine), TaskState::Closed, "{}", said(&output));
        let late = call(address, &token, "report_progress", &text);
        assert!(
            late.starts_with("HTTP/1.1 401") || late.contains("isError"),
            "the token ends with its run: {late}"
        );
        output
    });
    server.kill().unwrap();
    server.wait().unwrap();
    assert_eq!(stage.facts(mine).read(fact::PROGRESS), Some("over HTTP"), "{}", said(&working));
}
