//! What a person decides about a task, where there is nothing to decide.

use callboard_engine::tasks::{Asking, TaskError};
use callboard_kernel::{Actor, EntityId, Moment};
use callboard_lifecycle::ActorClass;

use crate::harness::shelf::Shelf;
use crate::tasks::acts::{add, refused, task};

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
