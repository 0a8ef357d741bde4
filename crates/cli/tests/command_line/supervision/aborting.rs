//! Aborts on real process trees: a tool call, siblings, a whole tree, and the policy by which a failure spreads.

use std::process::Command;

use serde_json::{Value, json};

use crate::harness::runs::{CALLBOARD, carriers, detached, reason, supervisor, until, view};
use crate::harness::shelf::{Shelf, text};

const INIT: &str = r#"{"type":"system","subtype":"init","session_id":"s1","model":"m","tools":[]}"#;
const TOOL: &str =
    r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t1","name":"Bash","input":{}}]}}"#;
const TOOL_DONE: &str =
    r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"no"}]}}"#;
const RESULT: &str = r#"{"type":"result","subtype":"success","is_error":false,"num_turns":1,"stop_reason":"end_turn","result":"done"}"#;

/// Ends whoever a test that failed has left.
struct Swept<'a>(&'a Shelf);

impl Drop for Swept<'_> {
    fn drop(&mut self) {
        for pid in carriers(text(&self.0.file(""))) {
            drop(Command::new("kill").args(["-KILL", &pid.to_string()]).status());
        }
    }
}

/// A token that no other test has.
fn token(shelf: &Shelf, name: &str) -> String {
    format!("{}-{name}", text(&shelf.file("")).trim_end_matches('/'))
}

/// Starts a run in the background that lasts, with these options; its id.
fn start(shelf: &Shelf, name: &str, options: &[&str]) -> String {
    let variable = format!("ABORTING={}", token(shelf, name));
    // A daemon in a session of its own beside it.
    let script = "setsid sleep 600 & exec sleep 600";
    let command = ["--grace", "2s", "--title", name, "--", "env", &variable, "sh", "-c", script];
    let id = detached(shelf, &[options, &command].concat());
    until("its daemon", || (carriers(&token(shelf, name)).len() >= 2).then_some(()));
    id
}

fn state(shelf: &Shelf, id: &str) -> Value {
    view(shelf, id)["state"]["lifecycle"].clone()
}

/// Asserts that a run was stopped for a reason, with the abort reason of the record, and left nobody.
#[track_caller]
fn assert_aborted(shelf: &Shelf, name: &str, id: &str, code: &str, abort: Option<&str>) {
    let seen = view(shelf, id);
    assert_eq!((reason(&seen), &seen["state"]["lifecycle"]), (code, &json!("cancelled")), "{name}: {seen}");
    assert_eq!(seen["facts"]["abort_reason"].as_str(), abort, "{name}");
    assert!(carriers(&token(shelf, name)).is_empty(), "{name} left somebody");
}

#[test]
fn a_tool_abort_ends_the_tool_and_nobody_else() {
    let shelf = Shelf::empty();
    let _swept = Swept(&shelf);
    let (tool, helper) = (token(&shelf, "tool"), token(&shelf, "helper"));
    let [go, end] = ["go", "end"].map(|name| text(&shelf.file(name)).to_owned());
    // The tool ignores TERM, and has a daemon in a session of its own.
    let script = format!(
        "env ABORTING={helper} sleep 600 & echo '{INIT}'; until [ -e {go} ]; do sleep 0.05; done; echo '{TOOL}'; \
         env ABORTING={tool} sh -c 'trap \"\" TERM; setsid sleep 600 & sleep 600; sleep 600'; \
         echo '{TOOL_DONE}'; until [ -e {end} ]; do sleep 0.05; done; echo '{RESULT}'; kill $!"
    );
    let id = detached(
        &shelf,
        &["--adapter", "claude", "--grace", "500ms", "--title", "agent", "--", "sh", "-c", &script],
    );
    until("its first line", || shelf.run(&["logs", &id]).stdout.contains("init").then_some(()));
    let refused = shelf.run(&["abort", &id, "--scope", "tool", "--because", "too early"]);
    assert_eq!(refused.code, Some(3), "no tool call is open: {}", refused.stderr);
    std::fs::write(&go, "").unwrap();
    until("its tool", || (carriers(&tool).len() >= 3).then_some(()));
    until("the record of it", || view(&shelf, &id)["facts"]["open_tool"]["name"].as_str().map(drop));

    let arguments = ["abort", &id, "--scope", "tool", "--because", "it hangs", "--json"];
    let planned = shelf.json(&[&arguments[..], &["--dry-run"]].concat());
    assert_eq!((&planned["tool"]["name"], &planned["dry_run"]), (&json!("Bash"), &json!(true)), "{planned}");
    assert!(carriers(&tool).len() >= 3, "a dry run ends nobody");
    let done = shelf.json(&arguments);
    assert_eq!(done["tool"]["left"], 0, "{done}");
    assert!(done["tool"]["processes"].as_i64().is_some_and(|count| count >= 3), "{done}");
    assert!(carriers(&tool).is_empty(), "the tool left somebody");
    assert_eq!(carriers(&helper).len(), 1, "what the agent started before the call goes on");
    assert_eq!(state(&shelf, &id), "running", "the agent goes on");
    let why = shelf.well(&["why", &id]);
    assert!(why.contains("run.tool.aborted") && why.contains("it hangs"), "{why}");

    std::fs::write(&end, "").unwrap();
    until("its end", || (state(&shelf, &id) == "completed").then_some(()));
    assert!(carriers(&helper).is_empty());
    shelf.well(&["verify"]);
}

#[test]
fn a_sibling_abort_leaves_the_parent_and_the_one_that_is_named() {
    let shelf = Shelf::empty();
    let _swept = Swept(&shelf);
    let parent = start(&shelf, "parent", &[]);
    let below = |name: &str, parent: &str| start(&shelf, name, &["--parent", parent]);
    let [a, b, c] = ["a", "b", "c"].map(|name| below(name, &parent));
    let deep = below("deep", &b);
    let other = start(&shelf, "other", &[]);
    let done = shelf.json(&["abort", &a, "--scope", "sibling", "--because", "wrong branch", "--json"]);
    let order: Vec<&str> =
        done["targets"].as_array().unwrap().iter().map(|target| target["id"].as_str().unwrap()).collect();
    assert_eq!((order.len(), order[0]), (3, deep.as_str()), "the deepest first: {done}");
    for (name, id) in [("b", &b), ("c", &c)] {
        assert_aborted(&shelf, name, id, "run.cancelled.sibling", Some("sibling_aborted"));
    }
    assert_aborted(&shelf, "deep", &deep, "run.cancelled.parent", Some("parent_aborted"));
    for id in [&parent, &a, &other] {
        assert_eq!(state(&shelf, id), "running");
    }
    let why = shelf.well(&["why", &b]);
    assert!(why.contains("ann: wrong branch"), "{why}");
    shelf.well(&["stop", "--now", &a, &parent, &other]);
}

#[test]
fn a_session_abort_ends_the_whole_tree_the_deepest_first() {
    let shelf = Shelf::empty();
    let _swept = Swept(&shelf);
    let top = start(&shelf, "top", &[]);
    let middle = start(&shelf, "middle", &["--parent", &top]);
    let deep = start(&shelf, "deep", &["--parent", &middle]);
    let beside = start(&shelf, "beside", &[]);
    shelf.well(&["abort", &top, "--scope", "session", "--because", "enough"]);
    assert_aborted(&shelf, "top", &top, "run.cancelled.operator", None);
    for (name, id) in [("middle", &middle), ("deep", &deep)] {
        assert_aborted(&shelf, name, id, "run.cancelled.parent", Some("parent_aborted"));
    }
    let ended = |id: &str| view(&shelf, id)["ended_at"].as_str().unwrap().to_owned();
    assert!(ended(&deep) <= ended(&middle) && ended(&middle) <= ended(&top), "the deepest first");
    assert_eq!(state(&shelf, &beside), "running");
    shelf.well(&["stop", "--now", &beside]);
    shelf.well(&["verify"]);
}

#[test]
fn a_failure_spreads_only_as_far_as_the_policy_of_the_parent_says() {
    for (policy, sibling, parent_code) in [
        (None, None, None),
        (Some("contain"), None, None),
        (Some("siblings"), Some("run.cancelled.sibling"), None),
        (Some("session"), Some("run.cancelled.parent"), Some("run.cancelled.child")),
    ] {
        let shelf = Shelf::empty();
        let _swept = Swept(&shelf);
        let options = policy.map_or_else(Vec::new, |policy| vec!["--on-child-failure", policy]);
        let parent = start(&shelf, "parent", &options);
        let beside = start(&shelf, "beside", &["--parent", &parent]);
        let failing = detached(&shelf, &["--parent", &parent, "--title", "failing", "--", "false"]);
        until("its failure", || (state(&shelf, &failing) == "failed").then_some(()));
        // Whoever lets it spread does so before it goes.
        let keeper = supervisor(&view(&shelf, &failing));
        until("its supervisor to go", || {
            let name = std::fs::read_to_string(format!("/proc/{keeper}/comm")).unwrap_or_default();
            (!name.starts_with("callboard")).then_some(())
        });
        for (id, expected) in [(&beside, sibling), (&parent, parent_code)] {
            match expected {
                Some(code) => {
                    until("the end of it", || (state(&shelf, id) == "cancelled").then_some(()));
                    assert_eq!(reason(&view(&shelf, id)), code, "{policy:?}");
                }
                None => {
                    assert_eq!(state(&shelf, id), "running", "{policy:?}");
                    assert!(view(&shelf, id)["facts"]["stop_wish"].is_null(), "nobody was asked: {policy:?}");
                }
            }
        }
        shelf.run(&["stop", "--now", &beside, &parent]).well();
    }
}

#[test]
fn an_agent_aborts_only_what_its_own_run_started() {
    let shelf = Shelf::empty();
    let _swept = Swept(&shelf);
    let other = start(&shelf, "other", &[]);
    let (said, child) = (shelf.file("said"), token(&shelf, "child"));
    let script = format!(
        "own=$({CALLBOARD} run --detach -- env ABORTING={child} sleep 600); \
         for id in $own {other} $CALLBOARD_RUN; do \
           {CALLBOARD} abort $id --scope session --because mine >&2; echo $? >> {}; \
         done",
        text(&said)
    );
    let ran = shelf.run(&["run", "--quiet", "--", "sh", "-c", &script]);
    assert_eq!(std::fs::read_to_string(&said).unwrap(), "0\n3\n3\n", "{}", ran.stderr);
    assert!(carriers(&child).is_empty());
    assert_eq!(state(&shelf, &other), "running");
    shelf.well(&["stop", "--now", &other]);
}

#[test]
fn tasks_are_aborted_as_runs_are() {
    let shelf = Shelf::empty();
    let _swept = Swept(&shelf);
    let whole = shelf.well(&["task", "add", "whole"]).trim().to_owned();
    shelf.well(&["task", "claim", &whole]);
    shelf.well(&["task", "split", &whole, "--into", "left", "--into", "middle", "--into", "right"]);
    let story = shelf.json(&["task", "show", &whole, "--json"]);
    let parts: Vec<String> = serde_json::from_value(story["subtasks"].clone()).unwrap();
    shelf.well(&["abort", &parts[0], "--scope", "sibling", "--because", "another way"]);
    let code = |id: &str| reason(&view(&shelf, id)).to_owned();
    for part in &parts[1..] {
        assert_eq!(code(part), "task.cancelled.sibling");
        assert_eq!(view(&shelf, part)["facts"]["transition_reason"], "sibling_aborted");
    }
    assert_eq!(
        (state(&shelf, &parts[0]), state(&shelf, &whole)),
        (json!("open"), json!("waiting_for_subtasks"))
    );
    shelf.well(&["abort", &whole, "--scope", "session", "--because", "no more"]);
    assert_eq!(
        (code(&parts[0]), code(&whole)),
        ("task.cancelled.parent".into(), "task.cancelled.operator".into())
    );
    shelf.well(&["verify"]);
}
