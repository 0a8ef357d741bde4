//! Workers as `callboard workers` shows them: the real program at work, stopped, merging and killed.

#![expect(clippy::disallowed_methods, reason = "a test starts the program as a user does")]

use std::process::{Command, Stdio};

use callboard_lifecycle::task::TaskState;
use serde_json::Value;

use crate::stage::Stage;

/// The workers, for programs.
fn workers(stage: &Stage, more: &[&str]) -> Vec<Value> {
    let said = stage.well(&[&["workers", "--json"], more].concat());
    let answer: Value = serde_json::from_str(&said).expect("a document");
    answer["items"].as_array().expect("a list").clone()
}

/// Waits until the only worker is shown so.
fn shown(stage: &Stage, visual: &str) -> Value {
    stage.until(visual, |stage| {
        let all = workers(stage, &[]);
        all.len() == 1 && all[0]["visual"] == visual
    });
    workers(stage, &[]).remove(0)
}

fn signal(pid: u32, name: &str) {
    assert!(Command::new("kill").args([name, &pid.to_string()]).status().expect("kill").success());
}

#[test]
fn a_worker_is_running_stalled_merging_and_dead_as_it_really_is() {
    let stage = Stage::new();
    // The agent and the check wait until they are told to go on, and not for ever.
    let wait = |file: &str| {
        let path = stage.path("tries").join(file);
        let path = path.display();
        format!("n=0; while [ ! -e {path} ] && [ $n -lt 6000 ]; do sleep 0.05; n=$((n + 1)); done")
    };
    let check = wait("checked");
    let first = stage.add("first", |task| task.verify = vec![check]);
    let agent = format!("echo begun; {}; date > file.txt", wait("done"));
    let mut command = stage.callboard(&["work", "--lease", "600s", "--", "/bin/sh", "-c", &agent]);
    let mut work =
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");

    let running = shown(&stage, "running");
    assert_eq!((&running["pid"], &running["task_title"]), (&work.id().into(), &"first".into()), "{running}");
    assert_eq!((&running["state"], &running["indicator"]), (&"working".into(), &"●".into()), "{running}");
    let table = stage.well(&["workers", "--width", "80"]);
    assert!(table.contains("● Running") && table.lines().all(|line| line.chars().count() <= 80), "{table}");

    signal(work.id(), "-STOP");
    let stalled = shown(&stage, "stalled");
    assert!(stalled["why"].as_str().expect("why").contains("stop signal"), "{stalled}");
    signal(work.id(), "-CONT");
    shown(&stage, "running");

    std::fs::write(stage.path("tries/done"), "").expect("a file");
    let merging = shown(&stage, "merging");
    assert_eq!(
        (&merging["state"], &merging["turn_state"]),
        (&"idle".into(), &"verifying".into()),
        "{merging}"
    );
    std::fs::write(stage.path("tries/checked"), "").expect("a file");
    stage.until("the merge", |stage| stage.state(first) == TaskState::Closed);
    shown(&stage, "idle");

    std::fs::remove_file(stage.path("tries/done")).expect("a file");
    stage.add("second", |_| ());
    shown(&stage, "running");
    work.kill().expect("it is killed");
    work.wait().expect("it is reaped");
    // Its lease is in force for ten minutes more, and nobody has recorded its end.
    let dead = workers(&stage, &[]).remove(0);
    assert_eq!((&dead["visual"], &dead["state"]), (&"dead".into(), &"working".into()), "{dead}");
    std::fs::write(stage.path("tries/done"), "").expect("a file");
    // The next crew records the end of the first.
    let mut next = stage.start_lasting_work("true");
    let is_there = |stage: &Stage| workers(stage, &[]).iter().any(|one| one["id"] == dead["id"]);
    stage.until("the end in the log", |stage| !is_there(stage));
    let ended = workers(&stage, &["--all"]);
    let ended = ended.iter().find(|one| one["id"] == dead["id"]).expect("it is listed");
    assert_eq!((&ended["visual"], &ended["why"]), (&"dead".into(), &"its process is gone".into()), "{ended}");
    signal(next.id(), "-TERM");
    next.wait().expect("it is reaped");
}
