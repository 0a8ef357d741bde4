//! Lists and details: the shapes that programs rely on, and what people read at 80 columns.

use insta::{assert_snapshot, with_settings};
use serde_json::{Value, json};

use crate::harness::fleet::{LOOK, fleet};
use crate::harness::shelf::{Shelf, session};

fn looked(shelf: &Shelf, arguments: &[&str]) -> String {
    shelf.well(&[arguments, &["--at", LOOK, "--width", "80"]].concat())
}

#[test]
fn people_read_at_80_columns() {
    let shelf = fleet();
    let (failed, forgotten) = (session(2).to_string(), session(4).to_string());
    with_settings!({ snapshot_path => "../../snapshots", prepend_module_to_snapshot => false }, {
        assert_snapshot!("ps", looked(&shelf, &["ps"]));
        assert_snapshot!("ps-all", looked(&shelf, &["ps", "--all"]));
        assert_snapshot!("inspect", looked(&shelf, &["inspect", &failed]));
        assert_snapshot!("why", looked(&shelf, &["why", &failed]));
        assert_snapshot!("why-judged", looked(&shelf, &["why", &forgotten]));
        assert_snapshot!("attention", looked(&shelf, &["attention"]));
        assert_snapshot!("events", shelf.well(&["events", "--width", "80"]));
    });
    for arguments in [&["ps", "--all"][..], &["attention"], &["why", &failed], &["inspect", &failed]] {
        for line in looked(&shelf, arguments).lines() {
            assert!(line.chars().count() <= 80, "{arguments:?}: {line}");
        }
    }
}

#[test]
fn a_view_has_every_field_others_rely_on() {
    let shelf = fleet();
    let document = shelf.json(&["ps", "--all", "--json", "--at", LOOK]);
    assert_eq!(document["legacy"], 0);
    let items = document["items"].as_array().unwrap();
    assert_eq!(items.len(), 5);
    let fields = [
        "id",
        "kind",
        "title",
        "labels",
        "version",
        "state",
        "chain",
        "created_at",
        "started_at",
        "ended_at",
        "last_activity_at",
        "parent",
        "host",
        "pid",
        "exit",
        "timeout",
        "artifacts",
    ];
    let state = [
        "lifecycle",
        "outcome",
        "health",
        "delivery",
        "severity",
        "tone",
        "reasons",
        "evaluated_at",
        "policy_version",
        "source",
    ];
    for item in items {
        assert!(fields.iter().all(|field| item.get(field).is_some()), "{item}");
        assert!(state.iter().all(|field| item["state"].get(field).is_some()), "{item}");
        assert_eq!(shelf.json(&["inspect", item["id"].as_str().unwrap(), "--json", "--at", LOOK]), *item);
    }
    let failed = shelf.json(&["inspect", &session(2).to_string(), "--json"]);
    assert_eq!(failed["exit"], json!({"code": 2, "signal": null, "oom": null, "timed_out": false}));
    assert_eq!((&failed["host"], &failed["pid"]), (&json!("host-a"), &json!(null)));
}

#[test]
fn attention_sorts_by_severity_then_age_and_clusters_by_reason() {
    let shelf = fleet();
    let document = shelf.json(&["attention", "--json", "--at", LOOK]);
    assert_eq!(document["generated_at"], "2025-03-01T12:10:00.000000Z");
    assert_eq!(
        (&document["total"], &document["by_severity"]),
        (&json!(3), &json!({"critical": 2, "warning": 1}))
    );
    let items = document["items"].as_array().unwrap();
    let told: Vec<(&Value, &Value)> =
        items.iter().map(|item| (&item["severity"], &item["cluster"])).collect();
    assert_eq!(
        told,
        [
            (&json!("critical"), &json!("run.failed.exit_nonzero")),
            (&json!("critical"), &json!("run.health.stalled")),
            (&json!("warning"), &json!("planned")),
        ]
    );
    let first = &items[0];
    let id = session(2).to_string();
    assert_eq!(first["fingerprint"], format!("session:{id}:run.failed.exit_nonzero"));
    assert_eq!(first["entity"], json!({"kind": "session", "id": id, "title": "fix the login bug"}));
    assert_eq!(
        first["reason"],
        json!({"code": "run.failed.exit_nonzero", "message": "The command exited with 2"})
    );
    assert_eq!((&first["tone"], &first["cluster_size"]), (&json!("danger"), &json!(1)));
    assert_eq!(first["first_seen_at"], "2025-03-01T12:05:00.000000Z");
    assert!(first["actions"].is_array());
    let limited = shelf.json(&["attention", "--json", "--limit", "1", "--at", LOOK]);
    assert_eq!((&limited["total"], limited["items"].as_array().map(Vec::len)), (&json!(3), Some(1)));
    assert_eq!(items.iter().filter(|item| item["reason"].is_null()).count(), 1, "no reason was recorded");
}

#[test]
fn a_limit_on_everything_reads_the_newest_and_counts_no_others() {
    let shelf = fleet();
    let all = shelf.json(&["ps", "--all", "--json"]);
    let ids = |document: &Value| -> Vec<String> {
        document["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| item["id"].as_str().unwrap().to_owned())
            .collect()
    };
    let mut newest = ids(&all);
    let bits = |id: &String| id.split_once('_').map(|(_, bits)| bits.to_owned());
    newest.sort_by_key(|id| std::cmp::Reverse(bits(id)));
    let count = newest.len();
    assert!(count > 3 && all["total"] == count, "{all}");
    for at in [&[][..], &["--at", "0s"]] {
        let ask = |limit: usize| {
            shelf.json(&[&["ps", "--all", "--json", "--limit", &limit.to_string()], at].concat())
        };
        let two = ask(2);
        let mut shown = ids(&two);
        shown.sort_by_key(|id| std::cmp::Reverse(bits(id)));
        assert_eq!((&shown[..], &two["total"]), (&newest[..2], &Value::Null), "{two}");
        let every = ask(count);
        assert_eq!(
            (ids(&every), &every["total"]),
            (ids(&all), &json!(count)),
            "all of them, in the same order"
        );
    }
    let text = shelf.well(&["ps", "--all", "--limit", "2", "--width", "80"]);
    assert!(text.contains("and more: --limit 0"), "{text}");
}

#[test]
fn the_present_and_its_fold_agree() {
    let shelf = fleet();
    let present = shelf.json(&["attention", "--json", "--limit", "0"]);
    let folded = shelf.json(&["attention", "--json", "--limit", "0", "--at", "0s"]);
    let prints = |document: &Value| -> Vec<Value> {
        document["items"].as_array().unwrap().iter().map(|item| item["fingerprint"].clone()).collect()
    };
    assert_eq!(prints(&present), prints(&folded));
    assert!(prints(&present).len() >= 3);
}

#[test]
fn quiet_lists_say_why_they_are_empty() {
    let shelf = Shelf::empty();
    let id = shelf.create(&["session"]);
    assert_eq!(shelf.well(&["attention"]), "Nothing needs you.\n");
    shelf.well(&["transition", &id, "aborted", "--reason", "run.aborted.operator", "--message", "m"]);
    assert_eq!(shelf.well(&["ps"]), "Nothing is alive. What has ended: callboard ps --all\n");
    assert_eq!(shelf.well(&["ps", "task"]), "No task is alive. What has ended: callboard ps task --all\n");
    assert_eq!(shelf.well(&["ps", "task", "--all"]), "No task is recorded.\n");
    assert_eq!(shelf.well(&["attention"]), "Nothing needs you.\n", "a person chose it");
}

#[test]
fn text_of_others_cannot_steer_the_terminal() {
    let shelf = Shelf::empty();
    let id = shelf.create(&["session", "--title", "evil \u{1b}]0;owned\u{7}\ntitle"]);
    shelf.well(&["note", &id, "a\u{1b}[2Jb\nc"]);
    for arguments in [&["ps"][..], &["inspect", &id], &["why", &id], &["events"], &["attention"]] {
        let text = shelf.well(arguments);
        assert!(!text.contains(['\u{1b}', '\u{7}']) && !text.contains("\ntitle"), "{arguments:?}: {text:?}");
    }
    assert_eq!(shelf.json(&["inspect", &id, "--json"])["title"], "evil ]0;owned title");
}
