//! People ask and answer, and a plan waits for its answer.

use serde_json::Value;

use crate::harness::runs::{begin, until};
use crate::harness::shelf::{Shelf, text};

/// The only question that waits.
fn open(shelf: &Shelf) -> Value {
    let items = shelf.json(&["inbox", "--json"])["items"].as_array().cloned().unwrap_or_default();
    assert_eq!(items.len(), 1, "{items:?}");
    items[0].clone()
}

fn id(question: &Value) -> &str {
    question["id"].as_str().unwrap_or_else(|| panic!("{question}"))
}

#[test]
fn an_answer_reaches_whoever_asked_and_a_second_one_is_refused() {
    let shelf = Shelf::empty();
    let asking = begin(&mut shelf.command(&["ask", "Which one?", "-o", "first", "-o", "second"]));
    until("the question", || {
        let ran = shelf.run(&["inbox", "--json"]);
        (ran.code == Some(0) && ran.stdout.contains("Which one?")).then_some(())
    });
    let question = open(&shelf);
    for field in ["id", "subject", "text", "options", "default", "asked_at", "expires_at", "asked_by"] {
        assert!(question.get(field).is_some(), "{field} is missing in {question}");
    }
    assert_eq!((&question["default"], &question["asked_by"]), (&Value::from("hold"), &Value::from("ann")));
    let shown = shelf.well(&["answer", id(&question)]);
    assert!(shown.contains("Which one?") && shown.contains("asked"), "{shown}");
    let refused = shelf.run(&["answer", id(&question), "third", "--json"]);
    assert_eq!(refused.code, Some(3), "{}", refused.stdout);
    assert!(refused.stdout.contains("answer_offered"), "{}", refused.stdout);
    let record = shelf.json(&["answer", id(&question), "second", "--because", "it is newer", "--json"]);
    assert_eq!(
        (&record["to"], &record["data"]["answer"]),
        (&Value::from("answered"), &Value::from("second"))
    );
    let output = asking.wait_with_output().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), &b"second\n"[..]));
    let late = shelf.run(&["answer", id(&question), "first"]);
    assert_eq!(late.code, Some(3));
    assert!(late.stderr.contains("ann answered it already: second"), "{}", late.stderr);
}

#[test]
fn without_an_answer_the_asker_is_told_so_and_time_is_never_a_yes() {
    let shelf = Shelf::empty();
    let ran =
        shelf.run(&["ask", "Now?", "-o", "wait", "-o", "yes", "--expires", "1s", "--on-expiry", "wait"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(124), ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("no answer; the default is \"wait\""), "{}", ran.stderr);
    let ran = shelf.run(&["ask", "Now?", "-o", "yes", "--expires", "1s", "--on-expiry", "yes"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    let held = shelf.run(&["ask", "Well?", "--expires", "1s"]);
    assert_eq!((held.code, held.stdout.as_str()), (Some(124), ""));
    assert_eq!(open(&shelf)["text"], "Well?");
    let ended = shelf.json(&["inbox", "--all", "--json"]);
    let states: Vec<&Value> =
        ended["items"].as_array().into_iter().flatten().map(|item| &item["state"]).collect();
    assert_eq!(states, ["expired", "asked"]);
}

#[test]
fn a_plan_waits_for_one_answer() {
    let shelf = Shelf::empty();
    let plan = shelf.file("plan.yaml");
    let tasks = "plan: login\ntasks:\n  - name: one\n    title: one\n  - name: two\n    title: two\n";
    std::fs::write(&plan, tasks).unwrap_or_else(|error| panic!("{error}"));
    shelf.well(&["task", "import", text(&plan)]);
    let question = open(&shelf);
    assert_eq!(question["source"], "plan", "{question}");
    shelf.well(&["answer", id(&question), "approve"]);
    let listed = shelf.json(&["task", "ls", "--state", "open", "--json"]);
    assert_eq!(listed["total"], 2, "{listed}");
    assert!(shelf.json(&["inbox", "--json"])["items"].as_array().is_some_and(Vec::is_empty));
    let log = shelf.well(&["verify"]);
    assert!(log.starts_with("The log holds"), "{log}");
}

#[test]
fn bad_questions_and_answers_say_what_to_do() {
    let shelf = Shelf::empty();
    shelf.well(&["ask", "anything", "--no-wait"]);
    for (words, code) in [
        (&["ask", ""][..], 2),
        (&["ask", "x", "-o", "a", "-o", "a"], 2),
        (&["ask", "x", "--on-expiry", "deny"], 2),
        (&["answer", "qst_nothing", "yes"], 4),
        (&["answer", "x", "yes", "--always"], 2),
        (&["rules", "revoke", "rul_nothing"], 4),
    ] {
        let ran = shelf.run(words);
        assert_eq!(ran.code, Some(code), "{words:?}: {}", ran.stderr);
    }
    let question = open(&shelf);
    let ran = shelf.run(&["answer", id(&question), "yes", "--always", "everything"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(shelf.well(&["rules"]).contains("No standing rule"));
}
