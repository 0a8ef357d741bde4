//! Tasks are claimed, worked on and given back.

use serde_json::Value;

use crate::harness::driver::callboard_with;
use crate::harness::shelf::{Shelf, text};
use crate::tasks::acts::{add, refused, show, state, task};

fn claim(shelf: &Shelf, id: &str) -> Value {
    shelf.json(&["task", "claim", id, "--json"])
}

#[test]
fn a_claim_tells_who_holds_it_and_until_when() {
    let shelf = Shelf::empty();
    let id = add(&shelf, &["a", "--prompt", "do it"]);
    let claimed = shelf.json(&["task", "claim", &id[..18], "--as", "bob", "--lease", "10m", "--json"]);
    assert_eq!((&claimed["task"], &claimed["epoch"]), (&id.as_str().into(), &1.into()));
    for (field, prefix) in [("worker", "wrk_"), ("turn", "ttn_"), ("until", "20")] {
        assert!(claimed[field].as_str().is_some_and(|text| text.starts_with(prefix)), "{claimed}");
    }
    assert_eq!(claimed["prompt"], "do it");
    let worker = claimed["worker"].as_str().unwrap();
    let refusal = refused(&shelf, &["claim", &id]);
    let message = refusal["message"].as_str().unwrap();
    let until = claimed["until"].as_str().unwrap();
    assert_eq!(refusal["code"], "lease_held");
    assert!(message.contains(worker) && message.contains(&format!("until {until}")), "{message}");
    let told = shelf.well(&["task", "show", &id]);
    assert!(told.contains(&format!("{worker}, until ")) && told.contains("claimed by"), "{told}");
    let words = shelf.run(&["task", "claim", &id]);
    assert!(words.code == Some(3) && words.stderr.contains(worker), "{}", words.stderr);
}

#[test]
fn whoever_claims_again_goes_on_with_the_same_worker() {
    let shelf = Shelf::empty();
    let (a, b) = (add(&shelf, &["a"]), add(&shelf, &["b"]));
    let first = claim(&shelf, &a)["worker"].clone();
    assert_eq!(task(&shelf, &["done", &a, "--summary", "did it"]), "done");
    assert_eq!(claim(&shelf, &b)["worker"], first);
    let named = first.as_str().unwrap();
    let c = add(&shelf, &["c"]);
    assert_eq!(task(&shelf, &["release", &b]), "open");
    assert_eq!(shelf.json(&["task", "claim", &c, "--worker", named, "--json"])["worker"], first);
}

#[test]
fn the_next_task_fits_the_role_and_the_labels_or_there_is_none() {
    let shelf = Shelf::empty();
    add(&shelf, &["for others", "--role", "frontend", "--priority", "0"]);
    let mine = add(&shelf, &["mine", "--role", "backend", "--label", "team=web"]);
    let next = ["task", "claim", "--next", "--role", "backend", "--label", "team=web"];
    let told = shelf.well(&next);
    assert!(told.contains(&mine) && told.contains("epoch   1") && told.contains("until   20"), "{told}");
    let ran = shelf.run(&next);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(1), ""));
    assert!(ran.stdout.starts_with("Nothing to claim."), "{}", ran.stdout);
    let json = shelf.run(&[&next[..], &["--json"]].concat());
    assert_eq!((json.code, json.stdout.trim_end()), (Some(1), "null"));
    let workers = shelf.json(&["ps", "worker", "--json"]);
    assert_eq!(
        workers["items"].as_array().map(Vec::len),
        Some(2),
        "one waits, whoever asks again: {workers}"
    );
}

#[test]
fn a_task_that_waits_is_not_claimed_before_its_dependency_is_there() {
    let shelf = Shelf::empty();
    let first = add(&shelf, &["first"]);
    let second = add(&shelf, &["second", "--after", &first]);
    let refusal = refused(&shelf, &["claim", &second]);
    assert_eq!(refusal["code"], "guard_failed");
    assert!(refusal["message"].as_str().is_some_and(|message| message.contains(&first)), "{refusal}");
    assert_eq!(task(&shelf, &["unblock", &second]), "open");
    claim(&shelf, &second);
    assert_eq!(state(&shelf, &second), "claimed");
}

#[test]
fn the_way_from_the_claim_to_done_is_told() {
    let shelf = Shelf::empty();
    let id = add(&shelf, &["a"]);
    claim(&shelf, &id);
    assert_eq!(task(&shelf, &["start", &id]), "in_progress");
    assert_eq!(task(&shelf, &["progress", &id, "half way"]), "in_progress");
    assert_eq!(task(&shelf, &["heartbeat", &id, "--lease", "1h"]), "in_progress");
    assert_eq!(show(&shelf, &id)["facts"]["progress"], "half way");
    let ran = shelf.well(&["task", "done", &id, "--summary", "did it"]);
    assert_eq!(ran, format!("{id}  Done, unverified  next: the service janitor\n"));
    let told = show(&shelf, &id);
    assert_eq!(
        (told["claims"].as_array().map(Vec::len), told["turns"].as_array().map(Vec::len)),
        (Some(1), Some(1))
    );
    assert_eq!(told["turns"][0]["state"], "verifying");
    for field in ["runs", "verdicts", "subtasks"] {
        assert_eq!(told[field], Value::Array(Vec::new()), "{field}");
    }
    assert!(told["merge"].get("commit").is_some_and(Value::is_null) && told["merge"].get("branch").is_some());
    assert_eq!(told["next_move"], "the service janitor");
}

#[test]
fn whoever_holds_nothing_is_refused() {
    let shelf = Shelf::empty();
    let id = add(&shelf, &["a"]);
    for words in [
        &["start", &id][..],
        &["heartbeat", &id],
        &["progress", &id, "x"],
        &["done", &id, "--summary", "x"],
        &["fail", &id, "--because", "x"],
        &["block", &id, "--by", "x"],
        &["split", &id, "--into", "x"],
        &["release", &id],
    ] {
        let refusal = refused(&shelf, words);
        assert_eq!((&refusal["code"], &refusal["from"]), (&"lease_lost".into(), &"open".into()), "{words:?}");
        assert!(refusal["help"].as_str().is_some_and(|help| help.contains("task claim")), "{refusal}");
    }
}

#[test]
fn an_epoch_that_is_over_does_nothing() {
    let shelf = Shelf::empty();
    let id = add(&shelf, &["a"]);
    claim(&shelf, &id);
    task(&shelf, &["release", &id, "--because", "lunch"]);
    assert_eq!(claim(&shelf, &id)["epoch"], 2);
    for words in [
        &["done", &id, "--summary", "x", "--epoch", "1"][..],
        &["progress", &id, "x", "--epoch", "1"],
        &["heartbeat", &id, "--epoch", "1"],
    ] {
        assert_eq!(refused(&shelf, words)["code"], "lease_lost", "{words:?}");
    }
    assert_eq!(task(&shelf, &["done", &id, "--summary", "x", "--epoch", "2"]), "done");
}

#[test]
fn a_failure_is_tried_again_unless_it_is_final() {
    let shelf = Shelf::empty();
    let id = add(&shelf, &["a"]);
    claim(&shelf, &id);
    assert_eq!(task(&shelf, &["fail", &id, "--because", "no network"]), "open");
    let told = show(&shelf, &id);
    assert_eq!((&told["facts"]["retries"], &told["facts"]["last_error"]), (&1.into(), &"no network".into()));
    assert_eq!(refused(&shelf, &["claim", &id])["code"], "guard_failed", "not before the pause is over");
    let other = add(&shelf, &["b", "--max-retries", "0"]);
    claim(&shelf, &other);
    assert_eq!(task(&shelf, &["fail", &other, "--because", "x", "--final"]), "failed");
    assert!(show(&shelf, &other)["next_move"].as_str().is_some_and(|next| next.starts_with("a person")));
    assert_eq!(task(&shelf, &["retry", &other, "--because", "the network is back"]), "open");
    assert_eq!(refused(&shelf, &["retry", &other])["from"], "open");
}

#[test]
fn a_blocked_task_tells_what_it_waits_for() {
    let shelf = Shelf::empty();
    let (id, other) = (add(&shelf, &["a"]), add(&shelf, &["b"]));
    claim(&shelf, &id);
    assert_eq!(shelf.run(&["task", "block", &id]).code, Some(2), "it says by what");
    let words = ["block", &id, "--by", "the key", "--on", &other[..20], "--gate", "person:the design"];
    assert_eq!(task(&shelf, &words), "blocked");
    let next = show(&shelf, &id)["next_move"].clone();
    let next = next.as_str().unwrap();
    assert!(next.contains("the key") && next.contains(&other) && next.contains("the design"), "{next}");
    assert_eq!(task(&shelf, &["unblock", &id]), "open");
}

#[test]
fn a_task_is_split_by_titles_or_by_a_list() {
    let shelf = Shelf::empty();
    let id = add(&shelf, &["a", "--role", "backend"]);
    claim(&shelf, &id);
    let split = shelf.json(&["task", "split", &id, "--into", "one", "two", "--json"]);
    let parts = split["subtasks"].as_array().cloned().unwrap_or_default();
    assert_eq!(parts.len(), 2);
    let part = show(&shelf, parts[0].as_str().unwrap());
    assert_eq!((&part["parent"], &part["facts"]["role"]), (&id.as_str().into(), &"backend".into()));
    assert_eq!(
        (state(&shelf, &id).as_str(), &show(&shelf, &id)["subtasks"]),
        ("waiting_for_subtasks", &split["subtasks"])
    );
    let second = parts[1].as_str().unwrap();
    claim(&shelf, second);
    let store = shelf.path();
    let words = ["--store", text(&store), "task", "split", second, "--plan", "-"];
    let listed = callboard_with(&words, r#"[{"title": "x", "priority": 1}, {"title": "y"}]"#).well();
    assert_eq!(listed.lines().count(), 2);
    let wrong = callboard_with(&words, r#"[{"titel": "x"}]"#);
    assert!(wrong.code == Some(2) && wrong.stderr.contains("titel"), "{}", wrong.stderr);
}

#[test]
fn a_person_takes_a_task_away() {
    let shelf = Shelf::empty();
    let id = add(&shelf, &["a"]);
    claim(&shelf, &id);
    task(&shelf, &["start", &id]);
    assert_eq!(task(&shelf, &["release", &id, "--force", "--because", "it is needed elsewhere"]), "open");
    assert_eq!(show(&shelf, &id)["turns"][0]["state"], "reaped");
    claim(&shelf, &id);
}
