//! The list of worktrees: what is in each, and what becomes of it.

use callboard_kernel::EntityId;
use callboard_lifecycle::task::TaskState;
use serde_json::Value;

use crate::stage::Stage;

fn listed(stage: &Stage) -> Vec<Value> {
    let document: Value =
        serde_json::from_str(&stage.well(&["task", "worktrees", "--json"])).expect("a document");
    document["items"].as_array().expect("a list").clone()
}

fn of(stage: &Stage, id: EntityId) -> Value {
    let all = listed(stage);
    let found = all.iter().find(|item| item["task"] == id.to_string());
    found.unwrap_or_else(|| panic!("{id} is not in {all:?}")).clone()
}

#[test]
fn the_worktrees_of_tasks_are_listed_with_what_they_hold_and_what_becomes_of_them() {
    let stage = Stage::new();
    let merged = stage.add("merge it", |_| ());
    let parked = stage.add("park it", |task| task.max_retries = Some(0));
    let empty = stage.well(&["task", "worktrees"]);
    assert!(empty.starts_with("No task has a worktree here."), "{empty}");
    assert!(listed(&stage).is_empty());

    // One is merged, so its worktree is gone. One fails for good with its work on its branch.
    let script = "echo x > \"$CALLBOARD_TASK.txt\"; test \"$1\" = 'merge it'";
    assert!(stage.work("1", script).status.success());
    assert_eq!(stage.state(merged), TaskState::Closed, "{}", stage.why(merged));
    assert_eq!(stage.state(parked), TaskState::Failed, "{}", stage.why(parked));
    let item = of(&stage, parked);
    assert_eq!(listed(&stage).len(), 1, "{item}");
    assert_eq!(item["title"], "park it");
    assert_eq!(item["state"], "failed");
    assert_eq!(item["branch"], format!("callboard/{parked}"));
    assert_eq!(item["content"], "parked", "{item}");
    assert_eq!(item["fate"], "until_closed", "{item}");

    // What only the worktree holds is told, and stays though its task is over.
    let path = std::path::PathBuf::from(item["path"].as_str().expect("a path"));
    std::fs::write(path.join("new.txt"), "new\n").expect("a file");
    let item = of(&stage, parked);
    assert_eq!((&item["content"], &item["has_uncommitted"]), (&"unsaved".into(), &true.into()), "{item}");
    stage.well(&["task", "retry", &parked.to_string()]);
    stage.well(&["task", "cancel", &parked.to_string(), "--because", "not needed"]);
    assert_eq!(of(&stage, parked)["fate"], "stays");
    let text = stage.well(&["--width", "80", "task", "worktrees"]);
    assert!(text.contains("unsaved") && text.contains("stays; save its work"), "{text}");
    assert!(text.lines().take(2).all(|line| line.chars().count() <= 80), "{text}");
    std::fs::remove_file(path.join("new.txt")).expect("it is removed");
    assert_eq!(of(&stage, parked)["fate"], "removable");

    // One whose repository is gone is listed with the reason.
    std::fs::rename(stage.repo(), stage.path("elsewhere")).expect("it is moved");
    let item = of(&stage, parked);
    assert_eq!(item["fate"], "unknown");
    assert!(item["problem"].as_str().is_some_and(|told| told.contains("repository")), "{item}");
}

/// The janitor clears away what a crash between the end of a task and its clean-up would leave, and nothing else.
#[test]
fn a_worktree_that_was_left_behind_is_swept_unless_it_holds_unsaved_work_or_its_task_goes_on() {
    let stage = Stage::new();
    let fails = |title: &str| stage.add(title, |task| task.max_retries = Some(0));
    let (parked, unsaved, waiting) = (fails("park it"), fails("leave it"), fails("keep it"));
    let script = "echo x > \"$CALLBOARD_TASK.txt\"; test \"$1\" = 'merge it'";
    assert!(stage.work("1", script).status.success());
    for id in [parked, unsaved, waiting] {
        assert_eq!(stage.state(id), TaskState::Failed, "{}", stage.why(id));
    }
    for id in [parked, unsaved] {
        stage.well(&["task", "retry", &id.to_string()]);
        stage.well(&["task", "cancel", &id.to_string(), "--because", "not needed"]);
    }
    let left = std::path::PathBuf::from(of(&stage, unsaved)["path"].as_str().expect("a path"));
    std::fs::write(left.join("new.txt"), "new\n").expect("a file");
    let fates = [parked, unsaved, waiting].map(|id| of(&stage, id)["fate"].clone());
    assert_eq!(fates, ["removable", "stays", "until_closed"]);

    // The janitor of this crew looks before it merges.
    let merged = stage.add("merge it", |_| ());
    assert!(stage.work("1", script).status.success());
    assert_eq!(stage.state(merged), TaskState::Closed, "{}", stage.why(merged));
    let there: Vec<Value> = listed(&stage).iter().map(|item| item["task"].clone()).collect();
    assert_eq!(there, [unsaved.to_string(), waiting.to_string()], "by the age of their tasks");
    assert_eq!(std::fs::read_to_string(left.join("new.txt")).expect("it is there"), "new\n");
    let branch = stage.git(&["show", &format!("callboard/{parked}:{parked}.txt")]);
    assert_eq!(branch, "x\n", "its branch holds the work");
}
