//! Every recorded stream against the summary, the end and the verdict that are read from it.

use std::fmt::Write;

use callboard_agents::{AgentEnd, Cause, KilledTool, Program, Standing, Verdict, verdict};

use crate::fixtures;

/// Every stream in one page; a stream that reads differently shows as a difference of the page.
#[test]
fn every_recorded_stream_reads_as_listed() {
    let mut page = String::new();
    for (program, case, bytes) in fixtures::all() {
        let (summary, _) = fixtures::read(program, &bytes, &[]);
        let json = serde_json::to_value(&summary).expect("a summary is plain data");
        let serde_json::Value::Object(fields) = json else { panic!("a summary is an object") };
        writeln!(page, "## {program}/{case}").expect("a string takes everything");
        for (name, value) in fields {
            let is_empty = value.is_null() || value == 0 || value.as_array().is_some_and(Vec::is_empty);
            if !is_empty && name != "program" {
                writeln!(page, "{name}: {value}").expect("a string takes everything");
            }
        }
        for exit in [Some(0), Some(1), None] {
            let Verdict { standing, sentence, .. } = verdict(&summary, exit);
            writeln!(page, "-> {standing:?}: {sentence}").expect("a string takes everything");
        }
        page.push('\n');
    }
    insta::assert_snapshot!("streams", page);
}

#[track_caller]
fn judged(program: Program, case: &str, exit: Option<i32>) -> Verdict {
    verdict(&fixtures::read(program, &fixtures::one(program, case), &[]).0, exit)
}

#[test]
fn a_clean_run_of_every_program_agrees_with_exit_0() {
    for program in Program::ALL.into_iter().filter(|program| program.reports_end()) {
        let verdict = judged(program, "clean", Some(0));
        assert_eq!(verdict.standing, Standing::Agrees, "{program}");
        assert_eq!(verdict.end, Some(AgentEnd::Completed { truncated: false }), "{program}");
        assert_eq!(verdict.is_clean(), Some(true), "{program}");
    }
}

#[test]
fn a_clean_exit_without_the_agents_end_is_not_a_clean_end() {
    for (program, case) in [
        (Program::Claude, "no_result"),
        (Program::Claude, "goes_on_after_result"),
        (Program::Claude, "cut"),
        (Program::Codex, "interrupted"),
        (Program::Codex, "cut"),
        (Program::Gemini, "text_then_nothing"),
        (Program::Gemini, "cut"),
        (Program::Opencode, "nothing"),
        (Program::Opencode, "cut"),
        (Program::Goose, "no_complete"),
        (Program::Goose, "cut"),
    ] {
        let verdict = judged(program, case, Some(0));
        assert_eq!(verdict.standing, Standing::NoEndEvent, "{program}/{case}");
        assert_eq!(verdict.is_clean(), Some(false), "{program}/{case}");
    }
}

#[test]
fn an_exit_code_of_0_does_not_hide_a_failure_that_is_reported() {
    for (program, case) in [
        (Program::Claude, "error_during_execution"),
        (Program::Claude, "api_error_as_success"),
        (Program::Codex, "turn_failed"),
        (Program::Gemini, "error"),
        (Program::Opencode, "error"),
        (Program::Goose, "error_without_text"),
        (Program::Qwen, "api_error"),
        (Program::Qwen, "api_error_after_text"),
        (Program::Aider, "not_logged_in"),
        (Program::Aider, "rate_limited"),
        (Program::Aider, "token_limit"),
    ] {
        let verdict = judged(program, case, Some(0));
        assert_eq!(verdict.standing, Standing::ExitHidesFailure, "{program}/{case}");
        assert_eq!(verdict.is_clean(), Some(false), "{program}/{case}");
    }
}

#[test]
fn a_success_that_is_reported_does_not_hide_how_the_program_exited() {
    for program in Program::ALL.into_iter().filter(|program| program.reports_end()) {
        for exit in [Some(3), None] {
            let verdict = judged(program, "clean", exit);
            assert_eq!(verdict.standing, Standing::ExitDeniesSuccess, "{program}");
            assert_eq!(verdict.is_clean(), Some(false), "{program}");
            // Which of the two decides is said where it is decided.
            assert!(!verdict.sentence.contains("believed"), "{}", verdict.sentence);
        }
    }
}

#[track_caller]
fn cause(program: Program, case: &str) -> (Cause, String) {
    let verdict = judged(program, case, Some(1));
    let failure = verdict.end.as_ref().and_then(AgentEnd::failure).cloned();
    let failure = failure.unwrap_or_else(|| panic!("{program}/{case} has not failed: {verdict:?}"));
    (failure.cause, failure.message.unwrap_or_default())
}

#[test]
fn a_failure_has_its_own_cause_and_its_words_are_kept() {
    let cases = [
        (Program::Claude, "output_limit", Cause::OutputLimit, "exceeded the 128000 output token maximum"),
        (Program::Codex, "output_limit", Cause::OutputLimit, "max_output_tokens"),
        (Program::Gemini, "output_limit", Cause::OutputLimit, "exceeded the token limit"),
        (Program::Aider, "token_limit", Cause::OutputLimit, "has hit a token limit"),
        (Program::Claude, "not_logged_in", Cause::Login, "the key is not valid"),
        (Program::Gemini, "api_error", Cause::Login, "the key is not valid"),
        (Program::Qwen, "api_error", Cause::Login, "the key is not valid"),
        (Program::Aider, "not_logged_in", Cause::Login, "the key is not valid The API provider is not able"),
        (Program::Qwen, "api_error_after_text", Cause::Provider { retryable: true }, "too many requests"),
        (Program::Aider, "rate_limited", Cause::Provider { retryable: true }, "too many requests"),
        (Program::Gemini, "cut_stream", Cause::CutStream, "Model stream ended without a finish reason."),
        (Program::Gemini, "blocked", Cause::Refusal, "blocked due to safety settings"),
        (Program::Opencode, "looping", Cause::CutStream, ""),
        (Program::Qwen, "error", Cause::Other, "Something broke"),
    ];
    for (program, case, expected, words) in cases {
        let (cause, message) = cause(program, case);
        assert_eq!(cause, expected, "{program}/{case}");
        assert!(message.contains(words), "{program}/{case}: {message}");
    }
    let talk = judged(Program::Qwen, "talks_of_errors", Some(0));
    assert_eq!(talk.end, Some(AgentEnd::Completed { truncated: false }), "an answer may speak of errors");
}

#[test]
fn tools_that_fail_are_killed_or_denied_are_told() {
    let summary = |program, case| fixtures::read(program, &fixtures::one(program, case), &[]).0;
    for (program, case) in [
        (Program::Gemini, "command_failed"),
        (Program::Opencode, "command_failed"),
        (Program::Qwen, "api_error_after_text"),
    ] {
        let summary = summary(program, case);
        assert_eq!((summary.tool_calls, summary.tool_errors), (1, 1), "{program}/{case}");
    }
    for (program, case, tool, how) in [
        (Program::Claude, "command_killed", "Bash", "exit code 137, as after SIGKILL"),
        (Program::Codex, "command_killed", "command_execution", "exit code 137, as after SIGKILL"),
        (Program::Gemini, "killed_and_denied", "run_shell_command", "killed by signal SIGKILL"),
    ] {
        let killed = summary(program, case).killed_tools;
        assert_eq!(killed, [KilledTool { tool: tool.to_owned(), how: how.to_owned() }], "{program}/{case}");
    }
    for (program, case, tool) in [
        (Program::Claude, "denied", "Bash"),
        (Program::Gemini, "killed_and_denied", "write_file"),
        (Program::Qwen, "error", "write_file"),
        (Program::Opencode, "rejected", "bash"),
    ] {
        assert_eq!(summary(program, case).denied, [tool], "{program}/{case}");
    }
}

#[test]
fn steps_without_a_change_are_a_loop_and_many_steps_are_not() {
    let looping = |program, case| fixtures::read(program, &fixtures::one(program, case), &[]).0.looping_steps;
    assert_eq!(looping(Program::Opencode, "looping"), Some(25));
    assert_eq!(looping(Program::Gemini, "looping"), Some(22));
    assert_eq!(looping(Program::Opencode, "many_steps"), None);
}

#[test]
fn plain_text_is_judged_by_its_exit_code_alone() {
    let (summary, signals) = fixtures::read(Program::Plain, b"{\"type\":\"result\"}\nhello\n", &[]);
    assert_eq!((summary.events, signals.len()), (0, 0));
    let verdict = verdict(&summary, Some(3));
    assert_eq!(verdict.standing, Standing::ExitCodeAlone);
    assert_eq!(verdict.is_clean(), None);
    assert_eq!(verdict.sentence, "the program reports no end of its own; the exit code is 3");
}

/// Gemini CLI ends without a `result` in these cases, and its exit code is the only word about them.
#[test]
fn the_exit_codes_of_gemini_mean_something() {
    let mut page = String::new();
    for case in ["nothing", "text_then_nothing", "error"] {
        for code in [1, 41, 42, 44, 52, 53, 54, 55, 130] {
            let verdict = judged(Program::Gemini, case, Some(code));
            writeln!(page, "{case} {code}: {:?}: {}", verdict.standing, verdict.sentence)
                .expect("a string takes everything");
        }
    }
    insta::assert_snapshot!("gemini_exit_codes", page);
}
