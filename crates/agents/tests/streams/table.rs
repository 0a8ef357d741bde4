//! Every recorded stream against the summary, the end and the verdict that are read from it.

use std::fmt::Write;

use callboard_agents::{AgentEnd, Program, Standing, Verdict, verdict};

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
fn the_events_win_over_an_exit_code_that_lies() {
    for (program, case) in [
        (Program::Claude, "error_during_execution"),
        (Program::Claude, "api_error_as_success"),
        (Program::Codex, "turn_failed"),
        (Program::Gemini, "error"),
        (Program::Opencode, "error"),
        (Program::Goose, "error_without_text"),
    ] {
        let verdict = judged(program, case, Some(0));
        assert_eq!(verdict.standing, Standing::ExitHidesFailure, "{program}/{case}");
        assert_eq!(verdict.is_clean(), Some(false), "{program}/{case}");
    }
    for program in Program::ALL.into_iter().filter(|program| program.reports_end()) {
        for exit in [Some(1), None] {
            let verdict = judged(program, "clean", exit);
            assert_eq!(verdict.standing, Standing::ExitDeniesSuccess, "{program}");
            assert_eq!(verdict.is_clean(), Some(true), "{program}");
        }
    }
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
