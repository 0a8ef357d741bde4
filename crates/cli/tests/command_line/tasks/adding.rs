//! Tasks are added, listed, shown and changed.

use crate::harness::driver::{callboard_with, finish};
use crate::harness::shelf::{Shelf, text};
use crate::tasks::acts::{add, refused, show, state, task};

/// Every option that needs no id.
const OPTIONS: &str = "--prompt|look at the log|--role|backend|--scope|small|--priority|1|--label|team=web|\
    --gate|person:the design|--files|src|--repo|.|--base|trunk|--verify|cargo test|--expect|out/*.md|\
    --contains|README.md=usage|--schema|a.json=schema.json|--contract|contract.yaml|--review|true|\
    --expect-diff|--max-retries|5|--timeout|1m30s|--approval|--deliver|branch|--json";

#[test]
fn a_task_is_added_with_everything_it_can_be_told() {
    let shelf = Shelf::empty();
    let first = add(&shelf, &["first"]);
    let place = tempfile::tempdir().unwrap();
    let ended = format!("{first}:ended");
    let mut words = vec!["task", "add", "  fix the bug ", "--after", &first[..16], "--after", &ended];
    words.extend(OPTIONS.split('|'));
    let mut command = shelf.command(&words);
    let view = finish(command.current_dir(place.path())).json();
    assert_eq!(
        (&view["title"], &view["kind"], &view["state"]["lifecycle"]),
        (&"fix the bug".into(), &"task".into(), &"open".into())
    );
    assert_eq!(view["labels"]["team"], "web");
    let facts = &view["facts"];
    let repo = place.path().canonicalize().unwrap();
    let expected = [
        ("prompt", "look at the log"),
        ("role", "backend"),
        ("scope", "small"),
        ("base", "trunk"),
        ("deliver", "branch"),
        ("repo", text(&repo)),
    ];
    for (name, value) in expected {
        assert_eq!(facts[name], value, "{name} of {facts}");
    }
    assert_eq!(facts["signals"].as_array().map(Vec::len), Some(7), "{facts}");
    assert_eq!(facts["unmet"].as_array().map(Vec::len), Some(3), "{facts}");
    assert!(view["next_move"].as_str().is_some_and(|next| next.contains(&first)), "{view}");
    let id = view["id"].as_str().unwrap();
    let told = shelf.well(&["task", "show", id, "--width", "80"]);
    for said in
        ["fix the bug\n", "a person: the design", "`cargo test` succeeds", "look at the log", "team=web"]
    {
        assert!(told.contains(said), "{said}: {told}");
    }
    assert!(told.lines().all(|line| line.chars().count() <= 80), "{told}");
}

#[test]
fn a_repository_around_the_current_directory_is_the_tasks_own() {
    let shelf = Shelf::empty();
    let place = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(place.path().join("repo/.git")).unwrap();
    std::fs::create_dir_all(place.path().join("repo/deep/er")).unwrap();
    let added = |folder: &str| {
        let mut command = shelf.command(&["task", "add", "a", "--json"]);
        finish(command.current_dir(place.path().join(folder))).json()
    };
    let repo = place.path().join("repo").canonicalize().unwrap();
    assert_eq!(added("repo/deep/er")["facts"]["repo"], text(&repo));
    assert!(added("")["facts"].get("repo").is_none());
}

#[test]
fn a_prompt_is_read_from_standard_input() {
    let shelf = Shelf::empty();
    let store = text(&shelf.path()).to_owned();
    let ran = callboard_with(&["--store", &store, "task", "add", "a", "--prompt", "-"], "two\nlines\n");
    assert_eq!(show(&shelf, ran.well().trim_end())["facts"]["prompt"], "two\nlines\n");
}

#[test]
fn what_cannot_be_is_an_error_of_the_command_line_and_nothing_is_recorded() {
    let shelf = Shelf::empty();
    let run = shelf.create(&["session", "--title", "a run"]);
    let before = shelf.well(&["events", "--json"]);
    for (arguments, code) in [
        (&["add", ""][..], 2),
        (&["add", "a", "--scope", "huge"], 2),
        (&["add", "a", "--priority", "-1"], 2),
        (&["add", "a", "--files", "../x"], 2),
        (&["add", "a", "--gate", "weather:fine"], 2),
        (&["add", "a", "--timeout", "1x"], 2),
        (&["add", "a", "--after", &run], 2),
        (&["add", "a", "--after", "tsk_0"], 4),
        (&["add", "a", "--parent", "tsk_0"], 4),
        (&["show", "tsk_0"], 4),
        (&["show", &run], 2),
        (&["show", "no id"], 2),
        (&["ls", "--state", "opn"], 2),
        (&["claim"], 2),
        (&["claim", "tsk_0"], 4),
        (&["done", "tsk_0"], 2),
        (&["done", "tsk_0", "--summary", "x"], 4),
        (&["cancel", "tsk_0"], 2),
        (&["nothing"], 2),
    ] {
        let ran = shelf.run(&[&["task"], arguments].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(code), ""), "{arguments:?}: {}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 3, "{arguments:?}: {}", ran.stderr);
    }
    assert_eq!(shelf.well(&["events", "--json"]), before);
}

#[test]
fn tasks_are_listed_by_state_role_and_label() {
    let shelf = Shelf::empty();
    let a = add(&shelf, &["alpha", "--role", "backend", "--label", "team=web"]);
    let b = add(&shelf, &["beta", "--role", "frontend"]);
    let c = add(&shelf, &["gamma", "--priority", "1"]);
    shelf.well(&["task", "cancel", &b, "--because", "not needed"]);
    let ids = |arguments: &[&str]| -> Vec<String> {
        let document = shelf.json(&[&["task", "ls", "--json"], arguments].concat());
        let items = document["items"].as_array().cloned().unwrap_or_default();
        items.iter().filter_map(|item| item["id"].as_str().map(str::to_owned)).collect()
    };
    assert_eq!(ids(&[]), [c.clone(), a.clone()], "the most urgent first, and nothing that is over");
    assert_eq!(ids(&["--all"]).len(), 3);
    assert_eq!(ids(&["--state", "cancelled"]), std::slice::from_ref(&b));
    assert_eq!(ids(&["--state", "cancelled", "--state", "open"]).len(), 3);
    assert_eq!(ids(&["--role", "backend"]), std::slice::from_ref(&a));
    assert_eq!(ids(&["--label", "team=web"]), [a]);
    assert_eq!(ids(&["--label", "team=api"]), [""; 0]);
    assert_eq!(ids(&["--limit", "1"]), [c]);
    let text = shelf.well(&["task", "ls", "--width", "80"]);
    assert!(
        text.contains("any worker that") && text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    assert!(shelf.well(&["task", "ls", "--state", "failed"]).contains("Nothing matches."));
}

#[test]
fn a_task_is_changed_only_while_nobody_works_on_it() {
    let shelf = Shelf::empty();
    let id = add(&shelf, &["a"]);
    let changed = [
        "edit",
        &id,
        "--title",
        "b",
        "--priority",
        "1",
        "--scope",
        "large",
        "--timeout",
        "2h",
        "--max-retries",
        "1",
        "--role",
        "r",
        "--prompt",
        "p",
    ];
    assert_eq!(task(&shelf, &changed), "open");
    let told = show(&shelf, &id);
    assert_eq!((&told["title"], &told["timeout"]["configured_s"]), (&"b".into(), &7200.into()));
    assert_eq!(shelf.run(&["task", "edit", &id]).code, Some(2), "nothing is to be changed");
    shelf.well(&["task", "claim", &id]);
    let refusal = refused(&shelf, &["edit", &id, "--title", "c"]);
    assert_eq!((&refusal["code"], &refusal["from"]), (&"not_permitted".into(), &"claimed".into()));
    assert_eq!(show(&shelf, &id)["title"], "b");
}

#[test]
fn a_task_made_by_hand_begins_where_it_can_be_claimed() {
    let shelf = Shelf::empty();
    let id = shelf.create(&["task", "--title", "a"]);
    assert_eq!(state(&shelf, &id), "open");
    let planned = shelf.create(&["task", "--title", "b", "--state", "planned"]);
    let attention = shelf.json(&["attention", "--json"]);
    let commands = attention["items"][0]["actions"].to_string();
    assert!(commands.contains(&format!("callboard task approve {planned}")), "{attention}");
}
