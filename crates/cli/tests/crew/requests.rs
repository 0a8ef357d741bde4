//! A task that is delivered as a pull request: the commands of the user open it and tell how it stands, its reviews go back into the
//! session of the agent, and the task is closed when the request is reported as merged.

#![expect(clippy::disallowed_methods, reason = "a test starts the program as a user does")]

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Stdio};

use callboard_kernel::{fact, task};
use callboard_lifecycle::task::TaskState;

use crate::stage::Stage;

/// An agent with a session of its own. It notes how it was called, and writes another line each time.
const AGENT: &str = r#"#!/bin/sh
echo "$*" >> "$TRIES/calls"
echo "line $(wc -l < "$TRIES/calls")" >> page.txt
cat "$TRIES/stream"
"#;

/// Where a forge would be: each call is noted, and the request is named on the last line.
const OPEN: &str = r#"#!/bin/sh
echo "$*" >> "$TRIES/opened"
echo "something else that it prints"
echo "https://forge.example/pull/7"
"#;

const REPORT: &str = r#"#!/bin/sh
cat "$TRIES/report"
"#;

const SETTINGS: &str = r#"
[profiles.agent]
command = ["AGENT", "-p", "{prompt}", "--output-format", "stream-json"]
resume = ["AGENT", "--resume", "{session}", "-p", "{prompt}", "--output-format", "stream-json"]

[pull_requests]
open = ["OPEN", "{branch}", "{base}", "{title}", "{request}"]
report = ["REPORT", "{request}"]
"#;

fn program(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn set_up(stage: &Stage) -> Child {
    let bin = |name: &str| stage.path("bin").join(name);
    program(&bin("claude"), AGENT);
    program(&bin("open"), OPEN);
    program(&bin("report"), REPORT);
    let stream = concat!(env!("CARGO_MANIFEST_DIR"), "/../agents/tests/fixtures/claude/clean.jsonl");
    std::fs::copy(stream, stage.path("tries/stream")).unwrap();
    let settings = SETTINGS
        .replace("AGENT", bin("claude").to_str().unwrap())
        .replace("OPEN", bin("open").to_str().unwrap())
        .replace("REPORT", bin("report").to_str().unwrap());
    std::fs::write(stage.path("callboard.toml"), settings).unwrap();
    let mut work =
        stage.callboard(&["work", "--profile", "agent", "--lease", "5s", "--retry-pause", "100ms"]);
    work.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn report(stage: &Stage, text: &str) {
    // In one move, because the report may be read at any moment.
    std::fs::write(stage.path("tries/report.new"), text).unwrap();
    std::fs::rename(stage.path("tries/report.new"), stage.path("tries/report")).unwrap();
}

fn lines(stage: &Stage, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(stage.path("tries").join(name)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn what_is_said_of_a_pull_request_goes_back_to_the_agent_until_it_is_merged() {
    let stage = Stage::new();
    report(&stage, r#"{"state": "open"}"#);
    let id = stage.add("write the page; $(touch x)", |task| task.deliver = Some("pr".to_owned()));
    let mut crew = set_up(&stage);
    stage.until("the pull request", |stage| task::awaited_request(&stage.task(id).entity).is_some());
    let shown = stage.callboard(&["task", "show", &id.to_string(), "--json"]).output().unwrap();
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.contains("https://forge.example/pull/7"), "{shown}");

    let wanted = "the reviewer wants a title";
    report(&stage, &format!(r#"{{"state": "open", "feedback": ["{wanted}"]}}"#));
    stage.until("the second delivery", |stage| lines(stage, "opened").len() == 2);
    let calls = std::fs::read_to_string(stage.path("tries/calls")).unwrap();
    let session = stage.facts(id).read(fact::VENDOR_SESSION).expect("the session is kept").to_owned();
    assert!(calls.contains(&format!("--resume {session} ")) && calls.contains(wanted), "{calls}");
    let opened = lines(&stage, "opened");
    assert!(opened[0].ends_with("main write the page; $(touch x) "), "{opened:?}");
    assert!(opened[1].ends_with("$(touch x) https://forge.example/pull/7"), "{opened:?}");

    report(&stage, r#"{"state": "merged", "commit": "0123abc"}"#);
    stage.until("the end", |stage| stage.state(id) == TaskState::Closed);
    crew.kill().unwrap();
    crew.wait().unwrap();
    assert_eq!(stage.facts(id).read(fact::COMMIT), Some("0123abc"), "{}", stage.why(id));
    // The forge merges; this repository is left alone.
    assert!(!stage.git(&["ls-tree", "--name-only", "main"]).contains("page.txt"));
}

#[test]
fn a_pull_request_that_is_closed_fails_its_task_for_good() {
    let stage = Stage::new();
    report(&stage, "no report at all");
    let id = stage.add("write the page", |task| task.deliver = Some("pr".to_owned()));
    let mut crew = set_up(&stage);
    stage.until("the complaint", |stage| {
        stage.facts(id).read(fact::PROBLEM).is_some_and(|problem| problem.contains("printed no report"))
    });
    let attention = stage.callboard(&["attention", "--json"]).output().unwrap();
    let attention = String::from_utf8_lossy(&attention.stdout).into_owned();
    assert!(attention.contains("printed no report"), "{attention}");
    report(&stage, r#"{"state": "closed", "feedback": ["not wanted"]}"#);
    stage.until("the end", |stage| stage.state(id) == TaskState::Failed);
    crew.kill().unwrap();
    crew.wait().unwrap();
    assert!(stage.why(id).contains("not wanted"), "{}", stage.why(id));
    assert_eq!(lines(&stage, "opened").len(), 1);
}
