//! `callboard derive`: one answer a line, in order, whatever else is in the stream.

use std::io::{BufRead, BufReader, Write};

use serde_json::{Value, json};

use crate::harness::driver::{Ran, callboard, callboard_with, command};

const SEVERITY_V1: &str = include_str!("../../../../kernel/tests/conformance/severity_v1.jsonl");

fn answers(ran: &Ran) -> Vec<Value> {
    let answer = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    ran.stdout.lines().map(answer).collect()
}

#[test]
fn every_row_of_the_first_policy_is_answered_in_order() {
    let ran = callboard_with(&["derive", "--policy", "v1"], SEVERITY_V1);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    let answers = answers(&ran);
    assert_eq!(answers.len(), 840);
    for (line, answer) in SEVERITY_V1.lines().zip(&answers) {
        let row: Value = serde_json::from_str(line).unwrap();
        for key in ["outcome", "health", "delivery", "severity", "tone"] {
            assert_eq!(answer[key], row[key], "{key} of {line}");
        }
        assert_eq!(answer["policy_version"], "v1");
    }
}

#[test]
fn an_answer_has_every_field_of_a_normalized_state() {
    let ran = callboard_with(&["derive"], r#"{"kind":"run","lifecycle":"running","health":"stale"}"#);
    let mut answer = answers(&ran).remove(0);
    let moment = answer["evaluated_at"].take();
    let moment = moment.as_str().unwrap_or_else(|| panic!("no moment"));
    assert!(moment.len() == "2026-11-15T19:19:18.000000Z".len() && moment.ends_with('Z'), "{moment}");
    assert_eq!(
        answer,
        json!({
            "kind": "session", "lifecycle": "running", "outcome": null, "phase": null, "health": "process_dead", "delivery": null,
            "severity": "critical", "tone": "danger", "reasons": [], "evaluated_at": null, "policy_version": "v2",
            "source": "backend", "chain": "Running · Process dead", "effective": "stale running",
        })
    );
}

#[test]
fn the_second_policy_is_the_default_and_sees_what_the_first_does_not() {
    let blocked = r#"{"kind":"play","lifecycle":"blocked"}"#;
    let severity = |arguments: &[&str]| answers(&callboard_with(arguments, blocked))[0]["severity"].clone();
    assert_eq!(severity(&["derive"]), "warning");
    assert_eq!(severity(&["derive", "--policy", "v2"]), "warning");
    assert_eq!(severity(&["derive", "--policy", "v1"]), "neutral");
}

#[test]
fn the_same_is_written_with_and_without_json() {
    let legacy = |arguments: &[&str]| {
        let mut answer = answers(&callboard_with(arguments, "{}\n")).remove(0);
        answer["evaluated_at"] = Value::Null;
        answer
    };
    assert_eq!(legacy(&["derive", "--json"]), legacy(&["derive"]));
    assert_eq!(legacy(&["derive"])["chain"], "legacy");
}

#[test]
fn good_lines_are_answered_between_bad_ones() {
    let input = concat!(
        "{\"lifecycle\":\"completed\"}\n",
        "{\"lifecycle\":\"complete\"}\n",
        "\n",
        "{\"lifecycle\":\n",
        "{\"lifecycle\":\"failed\"}\n",
        "{\"kind\":\"ply\"}\n",
        "{\"health\":\"ok\"}",
    );
    let ran = callboard_with(&["derive"], input);
    assert_eq!(ran.code, Some(2));
    let chains: Vec<Value> = answers(&ran).iter().map(|answer| answer["chain"].clone()).collect();
    assert_eq!(chains, ["Completed", "Failed", "Infra OK"]);
    assert_eq!(
        ran.stderr,
        "error: line 2 is not answered\n  because: unknown state \"complete\"\n  try: completed\n\
         error: line 4 is not answered\n  because: EOF while parsing a value, at column 13\n  \
         try: an object such as {\"kind\":\"session\",\"lifecycle\":\"running\",\"health\":\"ok\"}\n\
         error: line 6 is not answered\n  because: unknown kind \"ply\"\n  try: play\n"
    );
}

#[test]
fn a_line_of_any_length_does_no_harm() {
    let long = format!("{{\"health\":\"ok\",\"note\":\"{}\"}}", "x".repeat(1_000_000));
    let fits = format!("{{\"health\":\"ok\",\"note\":\"{}\"}}", "x".repeat(200_000));
    let ran = callboard_with(&["derive"], &format!("{fits}\n{long}\n{fits}"));
    assert_eq!((ran.code, answers(&ran).len()), (Some(2), 2));
    assert!(ran.stderr.starts_with("error: line 2 is not answered\n  because: it is longer than 256 KiB\n"));
}

#[test]
fn nothing_in_is_nothing_out() {
    assert_eq!(callboard(&["derive"]).well(), "");
    assert_eq!(callboard_with(&["derive"], "\n \n\r\n").well(), "");
}

#[test]
fn a_line_is_answered_before_the_next_one_is_sent() {
    let (questions, mut ask) = std::io::pipe().unwrap();
    let (answers, answering) = std::io::pipe().unwrap();
    let mut program = command(&["derive"]);
    program.stdin(questions).stdout(answering);
    let running = std::thread::spawn(move || program.status());
    let mut answers = BufReader::new(answers).lines();
    for state in ["running", "completed"] {
        ask.write_all(format!("{{\"lifecycle\":\"{state}\"}}\n").as_bytes()).unwrap();
        let answer = answers.next().unwrap().unwrap();
        assert!(answer.contains(&format!("\"lifecycle\":\"{state}\"")), "{answer}");
    }
    drop(ask);
    assert_eq!(running.join().unwrap().unwrap().code(), Some(0));
    assert!(answers.next().is_none());
}
