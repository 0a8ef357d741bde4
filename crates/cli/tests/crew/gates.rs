//! A task that waits for a command: nobody claims it before the command succeeds, and a closed gate asks for nobody.

use callboard_kernel::fact;
use callboard_ledger::Listing;
use callboard_lifecycle::Kind;
use callboard_lifecycle::task::TaskState;

use crate::stage::Stage;

#[test]
fn a_task_begins_once_the_command_of_its_gate_succeeds() {
    let stage = Stage::new();
    let key = stage.path("key");
    let id = stage.add("write it", |task| task.gates = vec![format!("command:test -f '{}'", key.display())]);
    let mut crew = stage.start_lasting_work("echo hello; echo x > it.txt");
    let asked = |stage: &Stage| {
        let runs =
            stage.ledger().entities(Listing { kind: Some(Kind::Session), ended: true, limit: 0 }).unwrap();
        runs.into_iter().any(|run| {
            run.entity.ended_at.is_some()
                && run.entity.facts.read(fact::TITLE).is_some_and(|title| title.starts_with("gate: "))
        })
    };
    stage.until("the first answer of the gate", asked);
    assert_eq!(stage.state(id), TaskState::Open, "{}", stage.why(id));
    let attention = stage.callboard(&["attention", "--json"]).output().unwrap();
    let attention: serde_json::Value = serde_json::from_slice(&attention.stdout).unwrap();
    assert_eq!(attention["total"], 0, "{attention}");
    std::fs::write(&key, "").unwrap();
    stage.until("the merge", |stage| stage.state(id) == TaskState::Closed);
    crew.kill().unwrap();
    crew.wait().unwrap();
    assert!(stage.git(&["ls-tree", "--name-only", "main"]).contains("it.txt"));
}
