//! What the tests of tasks do all the time.

use serde_json::Value;

use crate::harness::shelf::Shelf;

/// Adds a task and gives its id.
pub(super) fn add(shelf: &Shelf, arguments: &[&str]) -> String {
    shelf.well(&[&["task", "add"], arguments].concat()).trim_end().to_owned()
}

/// The task as `task show` tells it.
pub(super) fn show(shelf: &Shelf, id: &str) -> Value {
    shelf.json(&["task", "show", id, "--json"])
}

/// The state a task is in.
pub(super) fn state(shelf: &Shelf, id: &str) -> String {
    show(shelf, id)["state"]["lifecycle"].as_str().unwrap_or("none").to_owned()
}

/// Does something with `callboard task` that must go well, and gives the state the task is in then.
#[track_caller]
pub(super) fn task(shelf: &Shelf, arguments: &[&str]) -> String {
    let told = shelf.json(&[&["task"], arguments, &["--json"]].concat());
    told["state"]["lifecycle"].as_str().unwrap_or("none").to_owned()
}

/// Is refused with `callboard task`, and gives the refusal; in words the exit code is the same.
#[track_caller]
pub(super) fn refused(shelf: &Shelf, arguments: &[&str]) -> Value {
    let ran = shelf.run(&[&["task"], arguments, &["--json"]].concat());
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(3), ""), "{arguments:?}: {}", ran.stdout);
    let words = shelf.run(&[&["task"], arguments].concat());
    assert!(words.code == Some(3) && words.stderr.starts_with("error: refused: "), "{}", words.stderr);
    let document: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}"));
    let refusal = document["refused"].clone();
    for field in ["code", "message", "entity", "from", "to", "allowed", "help"] {
        assert!(refusal.get(field).is_some(), "{field} is missing in {refusal}");
    }
    refusal
}
