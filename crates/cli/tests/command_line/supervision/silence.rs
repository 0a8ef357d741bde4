//! Silence with a known cause: an agent that waits for a person or for a tool is not silent, and each wait has a bound of
//! its own.

use crate::harness::runs::{only, reason};
use crate::harness::shelf::Shelf;

const TOOL: &str =
    r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t1","name":"Bash","input":{}}]}}"#;
const TOOL_DONE: &str =
    r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"ok"}]}}"#;
const QUESTION: &str =
    r#"{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":"Bash"}}"#;
const ANSWERED: &str =
    r#"{"type":"control_cancel_request","request_id":"r1","request":{"subtype":"can_use_tool"}}"#;
const RESULT: &str = r#"{"type":"result","subtype":"success","is_error":false,"num_turns":1,"stop_reason":"end_turn","result":"done"}"#;

/// Runs a script as an agent of a known program: the exit code and the reason.
fn run(options: &[&str], script: &str) -> (Option<i32>, String) {
    let shelf = Shelf::empty();
    let arguments =
        [&["run", "--adapter", "claude", "--grace", "5s"], options, &["--", "sh", "-c", script]].concat();
    let code = shelf.run(&arguments).code;
    (code, reason(&only(&shelf)).to_owned())
}

#[test]
fn an_agent_that_waits_for_a_person_or_a_tool_is_not_silent() {
    for (begins, ends) in [(TOOL, TOOL_DONE), (QUESTION, ANSWERED)] {
        let script = format!("echo '{begins}'; sleep 3; echo '{ends}'; echo '{RESULT}'");
        let (code, reason) = run(&["--idle-timeout", "1500ms"], &script);
        assert_eq!((code, reason.as_str()), (Some(0), "run.completed.ok"), "{begins}");
    }
}

#[test]
fn silence_after_the_wait_is_silence() {
    let script = format!("echo '{TOOL}'; echo '{TOOL_DONE}'; exec sleep 60");
    let (code, reason) = run(&["--idle-timeout", "500ms"], &script);
    assert_eq!((code, reason.as_str()), (Some(124), "run.timed_out.silence"));
}

#[test]
fn each_wait_has_a_bound_of_its_own() {
    for (event, option, expected) in [
        (TOOL, "--tool-timeout", "run.timed_out.tool"),
        (QUESTION, "--waiting-timeout", "run.timed_out.waiting"),
    ] {
        let script = format!("echo '{event}'; exec sleep 60");
        let (code, reason) = run(&["--idle-timeout", "1h", option, "500ms"], &script);
        assert_eq!((code, reason.as_str()), (Some(124), expected), "{option}");
    }
}
