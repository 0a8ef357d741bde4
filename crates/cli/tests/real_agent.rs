//! A real agent program under `callboard run`, against a model on loopback: the record says what the agent did, and the
//! contract what it did not.
//!
//! Invariant: the agent has an emptied environment, a home of its own and a made-up key, and reaches nothing but
//! loopback. Without the program the tests say so and pass; `cargo xtask test` installs it.

#[path = "../../agents/tests/support/mod.rs"]
mod support;

use std::process::Command;

use serde_json::{Value, json};

use support::codex;
use support::model_server::{CACHED_TOKENS, INPUT_TOKENS, Mode, ModelServer, OUTPUT_TOKENS};

/// One turn of the real program as a run: its exit code, its closing line, and how it is shown.
struct Turn {
    code: Option<i32>,
    closing: String,
    view: Value,
    why: String,
}

fn turn(mode: Mode, options: &[&str]) -> Option<Turn> {
    let Some(program) = codex::program() else {
        eprintln!(
            "skipped: CALLBOARD_CODEX names no codex; `cargo xtask test nextest` installs one and runs this"
        );
        return None;
    };
    let directory =
        tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap_or_else(|error| panic!("{error}"));
    let server = ModelServer::start(mode).unwrap_or_else(|error| panic!("no loopback server: {error}"));
    let store = directory.path().join("store.db");
    let callboard = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_callboard"));
        command.arg("--store").arg(&store).args(arguments);
        codex::surround(&mut command, &server, directory.path()).unwrap_or_else(|error| panic!("{error}"));
        command
    };
    let limit = format!("{}s", codex::SECONDS_MAX);
    let mut command =
        callboard(&[&["run", "--adapter", "auto", "--timeout", &limit][..], options, &["--"]].concat());
    let output =
        command.args(codex::command_line(&program)).output().unwrap_or_else(|error| panic!("{error}"));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let ask = |arguments: &[&str]| {
        let output = callboard(arguments).output().unwrap_or_else(|error| panic!("{error}"));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let items: Value = serde_json::from_str(&ask(&["ps", "session", "--all", "--json"])).unwrap_or_default();
    let view = items["items"][0].clone();
    let why = ask(&["why", view["id"].as_str().unwrap_or_default()]);
    assert!(
        server.requests().iter().all(|request| request == "POST /v1/responses"),
        "{:?}",
        server.requests()
    );
    assert!(!server.requests().is_empty(), "the model was never asked; codex said: {said}");
    let closing = said.lines().last().unwrap_or_default().to_owned();
    Some(Turn { code: output.status.code(), closing, view, why })
}

fn reason(turn: &Turn) -> &str {
    turn.view["state"]["reasons"][0]["code"].as_str().unwrap_or_default()
}

#[test]
fn a_turn_is_recorded_with_its_tokens_its_session_and_its_turns() {
    let Some(turn) = turn(Mode::Answers, &[]) else { return };
    assert_eq!((turn.code, reason(&turn)), (Some(0), "run.completed.ok"), "{}", turn.why);
    let agent = &turn.view["facts"]["agent"];
    assert_eq!((&agent["program"], &agent["turns"]), (&json!("codex"), &json!(1)));
    assert!(agent["vendor_session"].as_str().is_some_and(|session| session.len() == 36), "{agent}");
    let tokens = &agent["tokens"];
    assert_eq!(tokens["input"], INPUT_TOKENS);
    assert_eq!((&tokens["output"], &tokens["cache_read"]), (&json!(OUTPUT_TOKENS), &json!(CACHED_TOKENS)));
    assert_eq!((&agent["last_message"], &agent["cost_usd"]), (&json!("Hello from loopback."), &json!(null)));
    assert_eq!((&turn.view["chain"], &turn.view["facts"]["leftovers"]), (&json!("Completed"), &json!(0)));
}

/// The agent says that it wrote the file, ends cleanly and exits with 0.
#[test]
fn an_agent_that_claims_a_file_it_did_not_write_has_failed() {
    let Some(turn) = turn(Mode::ClaimsAFile, &["--expect", "review.md"]) else { return };
    assert_eq!((turn.code, reason(&turn)), (Some(1), "run.failed.missing_artifact"), "{}", turn.why);
    assert_eq!(turn.view["exit"]["code"], 0);
    assert_eq!(turn.view["facts"]["agent"]["last_message"], "I wrote review.md.");
    assert_eq!(turn.view["chain"], "Failed · review.md missing");
    assert!(turn.closing.starts_with("✗ Failed · review.md missing"), "{}", turn.closing);
    assert!(turn.why.contains("review.md: does not exist"), "{}", turn.why);
}

#[test]
fn an_agent_whose_provider_fails_has_failed_for_that_reason() {
    let Some(turn) = turn(Mode::Fails, &[]) else { return };
    assert_eq!((turn.code, reason(&turn)), (Some(1), "run.failed.provider_retryable"), "{}", turn.why);
    assert!(turn.closing.starts_with("✗ Failed · "), "{}", turn.closing);
}
