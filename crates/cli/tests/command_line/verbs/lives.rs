//! Entities moved by hand: what is allowed is recorded, what is not is refused and changes nothing.

use serde_json::{Value, json};

use crate::harness::driver::Ran;
use crate::harness::shelf::Shelf;

fn records(shelf: &Shelf, arguments: &[&str]) -> Vec<Value> {
    let text = shelf.well(&[&["events", "--json"], arguments].concat());
    let record = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    text.lines().map(record).collect()
}

fn cancel<'a>(id: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let order =
        ["transition", id, "cancelled", "--reason", "run.cancelled.operator", "--message", "not needed"];
    [&order[..], more].concat()
}

fn document(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.stdout))
}

#[test]
fn the_whole_life_of_a_run_by_hand() {
    let shelf = Shelf::empty();
    let id = shelf.create(&["session", "--title", "fix the bug", "--label", "team=a", "--label", "size=2"]);
    assert!(id.starts_with("ses_") && id.len() == 30, "{id}");
    let told = shelf.well(&cancel(&id, &["--data", "asked_by=ann", "--data", "waited_s=2"]));
    assert!(told.contains(&id[..16]) && told.contains("pending → cancelled"), "{told}");
    shelf.well(&["note", &id, "it was for the old branch"]);

    let view = shelf.json(&["inspect", &id, "--json"]);
    assert_eq!((&view["id"], &view["kind"], &view["version"]), (&json!(id), &json!("session"), &json!(3)));
    assert_eq!(view["labels"], json!({"team": "a", "size": "2"}));
    assert_eq!(view["chain"], "Cancelled");
    assert_eq!(
        (&view["state"]["lifecycle"], &view["state"]["outcome"]),
        (&json!("cancelled"), &json!("cancelled"))
    );
    assert_eq!(view["state"]["reasons"][0]["evidence"][0]["kind"], "human_assertion");
    assert_eq!(view["facts"], json!({"asked_by": "ann", "waited_s": 2}));

    let [created, moved, noted] = &records(&shelf, &[])[..] else { panic!("three records") };
    assert_eq!(
        (&created["from"], &created["to"], &created["trigger"]),
        (&json!(null), &json!("pending"), &json!(null))
    );
    assert_eq!(
        (&moved["trigger"], &moved["actor"]),
        (&json!("ended_by_hand"), &json!({"type": "operator", "id": "ann"}))
    );
    assert_eq!(noted["reasons"][0]["code"], "system.operator.note");
    assert_eq!(noted["reasons"][0]["message"], "it was for the old branch");
    assert_eq!(shelf.json(&["verify", "--json"])["records"], 3);
}

#[test]
fn a_refusal_is_data_on_stdout_or_words_on_stderr_and_exit_3() {
    let shelf = Shelf::empty();
    let id = shelf.create(&["session"]);
    let order =
        ["transition", &id, "completed", "--reason", "run.completed.ok", "--message", "it looks done"];
    let ran = shelf.run(&[&order[..], &["--json"]].concat());
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(3), ""));
    let refused = &document(&ran)["refused"];
    assert_eq!(refused["code"], "illegal_edge");
    assert_eq!((&refused["from"], &refused["to"]), (&json!("pending"), &json!("completed")));
    assert_eq!(refused["entity"], json!({"kind": "session", "id": id}));
    assert_eq!(refused["allowed"], json!(["running", "failed", "aborted", "cancelled"]));
    assert!(refused["message"].is_string() && refused["help"].is_string());

    let ran = shelf.run(&order);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(3), ""));
    let expected = format!(
        "error: refused: illegal_edge\n  because: {id}: no row leads from pending to completed\n  \
         try: from pending it can go to running, failed, aborted, cancelled\n"
    );
    assert_eq!(ran.stderr, expected);
    assert_eq!(records(&shelf, &[]).len(), 1, "nothing was changed");
}

#[test]
fn an_operator_may_not_do_what_is_for_the_supervisor() {
    let shelf = Shelf::empty();
    let id = shelf.create(&["session"]);
    let ran =
        shelf.run(&["transition", &id, "running", "--reason", "run.started.ok", "--message", "m", "--json"]);
    assert_eq!((ran.code, &document(&ran)["refused"]["code"]), (Some(3), &json!("not_permitted")));
}

#[test]
fn a_condition_on_the_version_holds() {
    let shelf = Shelf::empty();
    let id = shelf.create(&["session"]);
    shelf.well(&["note", &id, "somebody was faster"]);
    let ran = shelf.run(&cancel(&id, &["--if-version", "1", "--json"]));
    assert_eq!((ran.code, &document(&ran)["refused"]["code"]), (Some(3), &json!("version_conflict")));
    let record = shelf.json(&cancel(&id, &["--if-version", "2", "--json"]));
    assert_eq!((&record["version"], &record["to"]), (&json!(3), &json!("cancelled")));
}

#[test]
fn the_same_key_gives_the_same_record_and_another_order_is_refused() {
    let shelf = Shelf::empty();
    let id = shelf.create(&["session"]);
    let once = shelf.well(&cancel(&id, &["--key", "stop-1", "--json"]));
    assert_eq!(shelf.well(&cancel(&id, &["--key", "stop-1", "--json"])), once);
    let ran = shelf.run(&cancel(&id, &["--key", "stop-1", "--data", "x=1", "--json"]));
    assert_eq!((ran.code, &document(&ran)["refused"]["code"]), (Some(3), &json!("key_reused")));
    let note = ["note", &id, "seen", "--key", "note-1", "--json"];
    assert_eq!(shelf.well(&note), shelf.well(&note));
    assert_eq!(records(&shelf, &[]).len(), 3);
}

#[test]
fn creating_twice_with_one_key_is_creating_once() {
    let shelf = Shelf::empty();
    let id = shelf.create(&["task", "--title", "a", "--key", "board-7"]);
    assert_eq!(shelf.create(&["task", "--title", "a", "--key", "board-7"]), id);
    assert_ne!(
        shelf.create(&["show", "--title", "a", "--key", "board-7"])[4..],
        id[4..],
        "kinds share no bits"
    );
    assert_eq!(shelf.run(&["create", "task", "--title", "b", "--key", "board-7"]).code, Some(3));
}

#[test]
fn an_entity_begins_where_its_machine_allows_and_under_the_id_it_is_given() {
    let shelf = Shelf::empty();
    let parent = shelf.create(&["session"]);
    let id = "tsk_01k7c3h2f4x8w6t5r3q1n0m9bz";
    let record =
        shelf.json(&["create", "task", "--id", id, "--state", "open", "--parent", &parent[..20], "--json"]);
    assert_eq!((&record["entity"]["id"], &record["to"]), (&json!(id), &json!("open")));
    assert_eq!(shelf.json(&["inspect", id, "--json"])["parent"], json!(parent));
    assert_eq!(shelf.run(&["create", "task", "--id", id]).code, Some(3), "it exists");
    let same_bits = format!("ses_{}", &id[4..]);
    let ran = shelf.run(&["create", "session", "--id", &same_bits]);
    assert_eq!(ran.code, Some(1), "no two kinds share their bits: {}", ran.stderr);
    for (arguments, code) in [
        (&["create", "task", "--state", "done"][..], Some(3)),
        (&["create", "task", "--state", "dune"], Some(2)),
        (&["create", "task", "--id", "tsk_01"], Some(2)),
        (&["create", "task", "--id", &parent], Some(2)),
        (&["create", "task", "--parent", "ses_7zz"], Some(4)),
        (&["create", "tsk"], Some(2)),
    ] {
        assert_eq!(shelf.run(arguments).code, code, "{arguments:?}");
    }
}

#[test]
fn words_that_are_not_understood_are_answered_with_the_nearest() {
    let shelf = Shelf::empty();
    let id = shelf.create(&["session"]);
    let with = |to: &'static str, reason: &'static str, more: &[&'static str]| {
        let order = ["transition", id.as_str(), to, "--reason", reason, "--message", "m"];
        let ran = shelf.run(&[&order[..], more].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
        ran.stderr
    };
    let told = |because: &str, instead: &str| {
        format!("error: the command line is not understood\n  because: {because}\n  try: {instead}\n")
    };
    assert_eq!(
        with("canceld", "run.cancelled.operator", &[]),
        told("session has no state \"canceld\"", "cancelled")
    );
    assert_eq!(
        with("cancelled", "run.cancelled.operatr", &[]),
        told(
            "unknown reason \"run.cancelled.operatr\"",
            "one of run.cancelled.operator, play.cancelled.operator, run.cancelled.agent"
        )
    );
    assert_eq!(
        with("cancelled", "run.cancelled.operator", &["--trigger", "stop_askd"]),
        told("session has no trigger \"stop_askd\"", "stop_asked")
    );
    assert_eq!(
        with("cancelled", "run.cancelled.operator", &["--data", "x"]),
        told("\"x\" does not name a value", "NAME=VALUE")
    );
}
