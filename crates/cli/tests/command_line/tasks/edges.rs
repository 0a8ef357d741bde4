//! Every edge of the task machine that the verbs reach is walked, each on a task of its own.

use std::collections::BTreeSet;

use callboard_engine::tasks::{Asking, TaskError};
use callboard_kernel::{Actor, EntityId, Moment};
use callboard_ledger::{Page, RecordScope};
use callboard_lifecycle::{ActorClass, Kind};

use crate::harness::shelf::Shelf;
use crate::tasks::acts::{add, refused, state, task};

/// A task that was begun.
fn begun(shelf: &Shelf) -> String {
    let id = claimed(shelf);
    assert_eq!(task(shelf, &["start", &id]), "in_progress");
    id
}

fn claimed(shelf: &Shelf) -> String {
    let id = add(shelf, &["a task"]);
    shelf.json(&["task", "claim", &id, "--json"]);
    id
}

/// A task whose result waits for a person, as the janitor leaves it.
fn pending(shelf: &Shelf) -> String {
    let id = claimed(shelf);
    assert_eq!(task(shelf, &["done", &id, "--summary", "did it"]), "done");
    let ledger = shelf.ledger();
    let asking =
        Asking::new(&ledger, Actor::new(ActorClass::System, "janitor"), Moment::from_micros(i64::MAX / 4));
    let held = || -> Result<(), TaskError> {
        let Ok(entity) = id.parse::<EntityId>() else { panic!("{id} is no id") };
        asking.verified(&asking.task(entity)?, Vec::new())?;
        asking.ask_approval(&asking.task(entity)?, "a person must approve it")
    };
    held().unwrap_or_else(|error| panic!("{error}"));
    id
}

fn planned(shelf: &Shelf) -> String {
    shelf.create(&["task", "--title", "planned", "--state", "planned"])
}

/// The edges that tasks went along, as the log tells.
fn walked(shelf: &Shelf) -> BTreeSet<(String, String)> {
    let page = Page { after: 0, limit: usize::MAX, scope: RecordScope::All };
    let records = shelf.ledger().records(page).unwrap_or_else(|error| panic!("{error}"));
    let moves =
        records.into_iter().filter(|record| record.kind == "task" && record.from_state != record.to_state);
    moves
        .filter(|record| !record.from_state.is_empty())
        .map(|record| (record.from_state, record.to_state))
        .collect()
}

#[test]
fn the_verbs_walk_every_edge_that_is_theirs() {
    let shelf = Shelf::empty();
    let fail = |id: &str| task(&shelf, &["fail", id, "--because", "x", "--final"]);
    let cancel = |id: &str| assert_eq!(task(&shelf, &["cancel", id, "--because", "not needed"]), "cancelled");
    let split = |id: &str| drop(shelf.json(&["task", "split", id, "--into", "one", "--json"]));
    assert_eq!(task(&shelf, &["approve", &planned(&shelf)]), "open");
    assert_eq!(task(&shelf, &["reject", &planned(&shelf), "--because", "no"]), "cancelled");
    cancel(&add(&shelf, &["open"]));
    let parent = add(&shelf, &["parent"]);
    let child = add(&shelf, &["child", "--parent", &parent]);
    assert_eq!(
        (state(&shelf, &parent).as_str(), state(&shelf, &child).as_str()),
        ("waiting_for_subtasks", "open")
    );
    cancel(&parent);
    assert_eq!(state(&shelf, &child), "cancelled", "what belongs to it is called off too");
    for hold in [claimed, begun] {
        assert_eq!(task(&shelf, &["done", &hold(&shelf), "--summary", "did it"]), "done");
        assert_eq!(fail(&hold(&shelf)), "failed");
        assert_eq!(task(&shelf, &["release", &hold(&shelf)]), "open");
        assert_eq!(task(&shelf, &["block", &hold(&shelf), "--by", "x"]), "blocked");
        split(&hold(&shelf));
        cancel(&hold(&shelf));
    }
    let blocked = claimed(&shelf);
    task(&shelf, &["block", &blocked, "--by", "the key", "--because", "no key"]);
    assert_eq!(task(&shelf, &["unblock", &blocked, "--because", "here it is"]), "open");
    let blocked = claimed(&shelf);
    task(&shelf, &["block", &blocked, "--by", "the key"]);
    cancel(&blocked);
    let failed = claimed(&shelf);
    fail(&failed);
    assert_eq!(task(&shelf, &["retry", &failed]), "open");
    let done = claimed(&shelf);
    task(&shelf, &["done", &done, "--summary", "did it"]);
    assert_eq!(task(&shelf, &["reject", &done, "--because", "it is wrong"]), "failed");
    assert_eq!(task(&shelf, &["reject", &pending(&shelf), "--because", "it is wrong"]), "failed");
    assert_eq!(task(&shelf, &["reject", &pending(&shelf), "--because", "again", "--send-back"]), "open");
    cancel(&pending(&shelf));
    let edges = walked(&shelf);
    let all: BTreeSet<(u8, u8)> = Kind::Task.machine().rows.iter().map(|row| (row.from, row.to)).collect();
    println!("{} of {} edges of the task machine: {edges:?}", edges.len(), all.len());
    assert_eq!(edges.len(), 27, "{edges:#?}");
}

#[test]
fn what_a_person_cannot_decide_is_refused_with_what_can_be_done() {
    let shelf = Shelf::empty();
    let open = add(&shelf, &["open"]);
    for words in [
        &["approve", &open][..],
        &["reject", &open, "--because", "x"],
        &["retry", &open],
        &["release", &open, "--force"],
    ] {
        let refusal = refused(&shelf, words);
        assert_eq!(refusal["from"], "open", "{words:?}: {refusal}");
        assert!(refusal["allowed"].as_array().is_some_and(|allowed| !allowed.is_empty()), "{refusal}");
    }
    assert_eq!(refused(&shelf, &["reject", &planned(&shelf), "--send-back"])["from"], "planned");
    let held = pending(&shelf);
    let listed = shelf.well(&["task", "ls"]);
    assert!(listed.contains("Waits for approval"), "{listed}");
    // There is nothing to merge, so approving it closes it in the name of the person.
    assert_eq!(task(&shelf, &["approve", &held]), "closed");
    task(&shelf, &["cancel", &open, "--because", "x"]);
    assert_eq!(refused(&shelf, &["cancel", &open, "--because", "x"])["code"], "ended");
    assert_eq!(refused(&shelf, &["unblock", &open])["code"], "ended");
}
