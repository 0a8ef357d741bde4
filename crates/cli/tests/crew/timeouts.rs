//! How long attempts may take: the bound follows what earlier attempts took, is recorded with its samples, and can be doubled.

use callboard_kernel::{EntityId, fact};
use callboard_lifecycle::task::TaskState;
use serde_json::{Value, json};

use crate::stage::Stage;

const SCRIPT: &str = "echo hello; case \"$1\" in slow*) exec sleep 600;; esac";

fn add(stage: &Stage, title: &str, timeout_s: Option<f64>) -> EntityId {
    stage.add(title, |request| {
        request.repo = None;
        request.role = Some("writer".to_owned());
        request.scope = Some("large".to_owned());
        request.timeout_s = timeout_s;
        request.max_retries = Some(0);
    })
}

/// The newest turn of a task, as the program prints it.
fn turn(stage: &Stage, id: EntityId) -> Value {
    let story: Value =
        serde_json::from_str(&stage.well(&["task", "show", &id.to_string(), "--json"])).unwrap();
    story["turns"].as_array().unwrap().last().unwrap().clone()
}

/// The bound that the supervisor of an attempt was given.
fn enforced(stage: &Stage, turn: &Value) -> Option<f64> {
    let run: EntityId = turn["run"].as_str().unwrap().parse().unwrap();
    stage.task(run).entity.facts.read(fact::TIMEOUT_S)
}

#[test]
fn a_bound_follows_eight_attempts_and_names_them() {
    let stage = Stage::new();
    let first: Vec<EntityId> = (0..8).map(|nth| add(&stage, &format!("quick {nth}"), None)).collect();
    assert!(stage.work("1", SCRIPT).status.success());
    for id in &first {
        let turn = turn(&stage, *id);
        assert_eq!(turn["bound"]["rule"], "default", "{turn}");
        assert_eq!(enforced(&stage, &turn), Some(3600.0));
    }
    let (ninth, own) = (add(&stage, "quick 9", None), add(&stage, "quick 10", Some(77.0)));
    let other = stage.add("of another scope", |request| request.role = Some("writer".to_owned()));
    assert!(stage.work("1", SCRIPT).status.success());

    let adapted = turn(&stage, ninth);
    assert_eq!(
        (&adapted["bound"]["rule"], &adapted["bound"]["sample_count"]),
        (&json!("adaptive"), &json!(8))
    );
    assert_eq!(enforced(&stage, &adapted), Some(1800.0), "half the default at least");
    let mut samples: Vec<String> = serde_json::from_value(adapted["samples"].clone()).unwrap();
    samples.reverse();
    let turns: Vec<String> =
        first.iter().map(|id| turn(&stage, *id)["id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(samples, turns, "the samples are the turns of the attempts before");
    assert_eq!(turn(&stage, own)["bound"]["rule"], "explicit");
    assert_eq!(enforced(&stage, &turn(&stage, own)), Some(77.0));
    assert_eq!(turn(&stage, other)["bound"]["rule"], "default", "nothing is known of its scope");

    let why = stage.well(&["why", &ninth.to_string()]);
    assert!(why.contains("may take 30m 0s (adaptive: p95"), "{why}");
    let table: Value = serde_json::from_str(&stage.well(&["timeouts", "--json"])).unwrap();
    let rows = table["items"].as_array().unwrap();
    let row = rows.iter().find(|row| row["scope"] == "large").unwrap();
    assert_eq!(
        (&row["role"], &row["samples"], &row["bound_s"]),
        (&json!("writer"), &json!(10), &json!(1800.0))
    );
    assert_eq!(row["rule"], "adaptive");
    assert!(stage.well(&["timeouts"]).contains("adaptive"));
}

#[test]
fn more_time_doubles_the_bound_that_was_reached() {
    let stage = Stage::new();
    let id = add(&stage, "slow", Some(1.0));
    assert!(stage.work("1", SCRIPT).status.success());
    assert_eq!(stage.state(id), TaskState::Failed, "{}", stage.why(id));
    let table: Value = serde_json::from_str(&stage.well(&["timeouts", "--json"])).unwrap();
    assert_eq!(
        table["items"][0]["p95_s"], 1.0,
        "a timeout counts with its bound, not with what it took: {table}"
    );

    let id_text = id.to_string();
    stage.well(&["task", "retry", &id_text, "--more-time"]);
    assert_eq!(stage.facts(id).read(fact::TIMEOUT_S), Some(2.0));
    let why = stage.well(&["why", &id_text]);
    assert!(why.contains("with more time: 2.0s"), "{why}");
    assert!(stage.work("1", SCRIPT).status.success());
    assert_eq!(enforced(&stage, &turn(&stage, id)), Some(2.0));

    // Four times the default is the most.
    assert_eq!(stage.state(id), TaskState::Failed, "{}", stage.why(id));
    stage.well(&["task", "edit", &id_text, "--timeout", "5h"]);
    let refused = stage.callboard(&["task", "retry", &id_text, "--more-time"]).output().unwrap();
    assert!(!refused.status.success());
    assert!(String::from_utf8_lossy(&refused.stderr).contains("is the most"), "{refused:?}");
}
