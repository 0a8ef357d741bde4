//! A real agent program, from its registry, against a model on loopback: what it prints is what the reader expects.

mod support;

use std::process::Command;

use callboard_agents::{AgentEnd, Cause, Program, Reader, Standing, Summary, Verdict, detect, verdict};

use support::codex;
use support::model_server::{CACHED_TOKENS, INPUT_TOKENS, Mode, ModelServer, OUTPUT_TOKENS};

/// One turn of the real program: what was read of it, how it is judged, and where it worked.
struct Turn {
    summary: Summary,
    verdict: Verdict,
    directory: tempfile::TempDir,
    requests: Vec<String>,
}

/// None, with the reason printed, if the program was not installed for the tests.
fn turn(mode: Mode) -> Option<Turn> {
    let Some(program) = codex::program() else {
        eprintln!(
            "skipped: CALLBOARD_CODEX names no codex; `cargo xtask test nextest` installs one and runs this"
        );
        return None;
    };
    let program_seen = detect(&codex::command_line(&program));
    assert_eq!(program_seen, Program::Codex);
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))
        .unwrap_or_else(|error| panic!("no temporary directory: {error}"));
    let server = ModelServer::start(mode).unwrap_or_else(|error| panic!("no loopback server: {error}"));
    let mut command = Command::new("timeout");
    command.args(["--kill-after", "5", codex::SECONDS_MAX]).args(codex::command_line(&program));
    codex::surround(&mut command, &server, directory.path())
        .unwrap_or_else(|error| panic!("codex has no place to work: {error}"));
    let output = command.output().unwrap_or_else(|error| panic!("codex does not start: {error}"));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_ne!(output.status.code(), Some(124), "codex did not end in time; it said: {stderr}");

    let mut reader = Reader::new(program_seen);
    reader.stdout(&output.stdout);
    reader.finish();
    let summary = reader.summary().clone();
    let verdict = verdict(&summary, output.status.code());
    println!("{}\n{}", String::from_utf8_lossy(&output.stdout), verdict.sentence);
    Some(Turn { summary, verdict, directory, requests: server.requests() })
}

#[track_caller]
fn stayed_on_loopback(turn: &Turn) {
    assert!(!turn.requests.is_empty(), "the model was never asked");
    for request in &turn.requests {
        assert_eq!(request, "POST /v1/responses", "{:?}", turn.requests);
    }
}

#[test]
fn a_clean_turn_is_read_to_its_end() {
    let Some(turn) = turn(Mode::Answers) else { return };
    let summary = &turn.summary;
    assert_eq!(summary.end, Some(AgentEnd::Completed { truncated: false }));
    assert_eq!(turn.verdict.standing, Standing::Agrees);
    assert!(summary.vendor_session.as_ref().is_some_and(|session| session.len() == 36), "{summary:?}");
    assert_eq!(summary.last_message.as_deref(), Some("Hello from loopback."));
    assert_eq!(summary.turns, Some(1));
    assert_eq!(summary.tokens.input, Some(INPUT_TOKENS));
    assert_eq!(summary.tokens.cache_read, Some(CACHED_TOKENS));
    assert_eq!(summary.tokens.output, Some(OUTPUT_TOKENS));
    assert_eq!((summary.unknown_events, summary.broken_lines), (0, 0), "{summary:?}");
    // Codex names neither its model nor its price, and neither is made up.
    assert_eq!((&summary.model, summary.cost_usd), (&None, None));
    stayed_on_loopback(&turn);
}

#[test]
fn a_model_that_fails_makes_the_agent_fail() {
    let Some(turn) = turn(Mode::Fails) else { return };
    let failure = turn.summary.end.as_ref().and_then(AgentEnd::failure);
    assert_eq!(failure.map(|failure| failure.cause), Some(Cause::Provider { retryable: true }));
    assert_eq!(turn.verdict.standing, Standing::Agrees);
    assert_eq!(turn.verdict.is_clean(), Some(false));
    stayed_on_loopback(&turn);
}

#[test]
fn a_stream_that_breaks_off_is_retried_and_then_fails() {
    let Some(turn) = turn(Mode::BreaksOff) else { return };
    assert_eq!(turn.summary.retries, 1, "{:?}", turn.summary);
    let failure = turn.summary.end.as_ref().and_then(AgentEnd::failure);
    assert_eq!(failure.map(|failure| failure.cause), Some(Cause::Provider { retryable: true }));
    assert_eq!(turn.verdict.is_clean(), Some(false));
    stayed_on_loopback(&turn);
}

/// The agent's end is true and the file is not there: that is for the artifact contract to find.
#[test]
fn an_agent_that_claims_a_file_ends_cleanly_without_it() {
    let Some(turn) = turn(Mode::ClaimsAFile) else { return };
    assert_eq!(turn.verdict.is_clean(), Some(true));
    assert_eq!(turn.summary.last_message.as_deref(), Some("I wrote review.md."));
    assert_eq!(turn.summary.tool_calls, 0);
    assert!(!turn.directory.path().join("work/review.md").exists());
    stayed_on_loopback(&turn);
}
