//! What people and programs of theirs do on the board by hand, and what the services of a server do about what they leave.

use serde_json::{Value, json};

use super::surfaces::{Act, Http, Mcp, Surface, Terminal};
use crate::stage::Stage;

/// Plays all of it; the stage it was played on.
pub(super) fn play() -> Stage {
    let stage = Stage::new();
    let http = Http::serve(&stage);
    plans_are_decided(&stage);
    for surface in [&Terminal(&stage) as &dyn Surface, &http, &Mcp(&stage)] {
        a_holder_ends_its_task_in_every_way(&stage, surface);
    }
    tasks_are_called_off(&stage, &http);
    people_bring_what_is_missing(&stage, &http);
    people_step_in(&stage, &http);
    leases_end(&stage);
    a_part_that_failed_blocks_the_whole(&stage);
    drop(http);
    stage
}

fn add(stage: &Stage, words: &[&str]) -> String {
    stage.well(&[&["task", "add"], words].concat()).trim().to_owned()
}

#[track_caller]
fn expect(stage: &Stage, task: &str, state: &str) {
    let shown: Value = serde_json::from_str(&stage.well(&["task", "show", task, "--json"])).unwrap();
    assert_eq!(shown["state"]["lifecycle"], state, "{shown}");
}

fn becomes(stage: &Stage, task: &str, state: &str) {
    let id = task.parse().unwrap();
    stage.until(&format!("{task} {state}"), |stage| {
        stage.task(id).entity.state.lifecycle.is_some_and(|now| now.name() == state)
    });
}

fn plans_are_decided(stage: &Stage) {
    let plan = "plan: two\ntasks:\n  - {name: a, title: wanted}\n  - {name: b, title: unwanted}\n";
    std::fs::write(stage.path("plan.yaml"), plan).unwrap();
    let told: Value = serde_json::from_str(&stage.well(&["task", "import", "plan.yaml", "--json"])).unwrap();
    let id = |nth: usize| told["tasks"][nth]["id"].as_str().unwrap();
    expect(stage, id(0), "planned");
    stage.well(&["task", "approve", id(0)]);
    expect(stage, id(0), "open");
    stage.well(&["task", "reject", id(1), "--because", "nobody needs it"]);
    expect(stage, id(1), "cancelled");
}

/// Each way once before the work has begun and once after.
fn a_holder_ends_its_task_in_every_way(stage: &Stage, surface: &dyn Surface) {
    let ways = [
        (Act::Done, "done"),
        (Act::Fail, "failed"),
        (Act::Release, "open"),
        (Act::Block, "blocked"),
        (Act::Split, "waiting_for_subtasks"),
    ];
    for (act, state) in ways {
        for begins in [false, true] {
            let task = add(stage, &["by hand"]);
            surface.claim(&task);
            expect(stage, &task, "claimed");
            if begins {
                surface.act(&task, Act::Start);
                expect(stage, &task, "in_progress");
            }
            surface.act(&task, act);
            expect(stage, &task, state);
        }
    }
}

fn tasks_are_called_off(stage: &Stage, http: &Http) {
    let terminal = Terminal(stage);
    let cancel = |task: &str| {
        http.post(task, "cancel", &json!({"because": "not needed"}));
        expect(stage, task, "cancelled");
    };
    let held = |acts: &[Act]| {
        let task = add(stage, &["called off"]);
        terminal.claim(&task);
        acts.iter().for_each(|act| terminal.act(&task, *act));
        task
    };
    cancel(&add(stage, &["called off"]));
    cancel(&held(&[]));
    cancel(&held(&[Act::Start]));
    cancel(&held(&[Act::Block]));
    let whole = add(stage, &["a whole"]);
    let part = add(stage, &["a part", "--parent", &whole]);
    expect(stage, &whole, "waiting_for_subtasks");
    cancel(&whole);
    expect(stage, &part, "cancelled");
}

fn people_bring_what_is_missing(stage: &Stage, http: &Http) {
    let blocked = add(stage, &["needs a key"]);
    http.claim(&blocked);
    http.act(&blocked, Act::Block);
    stage.well(&["task", "unblock", &blocked, "--because", "here it is"]);
    expect(stage, &blocked, "open");
    let failed = add(stage, &["needs another try"]);
    http.claim(&failed);
    http.act(&failed, Act::Fail);
    stage.well(&["task", "retry", &failed]);
    expect(stage, &failed, "open");
}

/// A person takes a task from its worker, and does not take a result.
fn people_step_in(stage: &Stage, http: &Http) {
    let task = add(stage, &["taken away"]);
    http.claim(&task);
    http.act(&task, Act::Start);
    stage.well(&["task", "release", &task, "--force"]);
    expect(stage, &task, "open");
    http.claim(&task);
    http.act(&task, Act::Done);
    http.post(&task, "reject", &json!({"because": "it is wrong"}));
    expect(stage, &task, "failed");
}

/// Whoever claimed them is not heard of again.
fn leases_end(stage: &Stage) {
    let (claimed, begun) = (add(stage, &["left before it began"]), add(stage, &["left at work"]));
    for task in [&claimed, &begun] {
        stage.well(&["task", "claim", task, "--as", "bob", "--lease", "2s"]);
    }
    // On a slow machine the lease is over before this, and a new claim is needed.
    while stage.callboard(&["task", "start", &begun]).output().unwrap().status.code() != Some(0) {
        becomes(stage, &begun, "open");
        stage.well(&["task", "claim", &begun, "--as", "bob", "--lease", "2s"]);
    }
    becomes(stage, &claimed, "open");
    becomes(stage, &begun, "orphaned");
    stage.well(&["task", "retry", &begun]);
    expect(stage, &begun, "open");
}

fn a_part_that_failed_blocks_the_whole(stage: &Stage) {
    let whole = add(stage, &["a whole"]);
    let part = add(stage, &["a part", "--parent", &whole]);
    let terminal = Terminal(stage);
    terminal.claim(&part);
    terminal.act(&part, Act::Fail);
    becomes(stage, &whole, "blocked");
}
