//! What a task changed: its merge alone, one turn, and what is said when there is nothing to show.

use callboard_engine::tasks::story;
use callboard_lifecycle::task::TaskState;

use crate::edges::surfaces::Http;
use crate::stage::Stage;

#[test]
fn the_diff_of_a_task_is_its_own_work_and_that_of_a_turn_its_files() {
    let stage = Stage::new();
    // A driver that the repository names is not run.
    std::fs::write(stage.repo().join(".gitattributes"), "*.txt diff=evil\n").expect("a file");
    stage.git(&["add", "."]);
    stage.git(&["commit", "-q", "-m", "attributes"]);
    let ran = stage.path("ran");
    for kind in ["command", "textconv"] {
        stage.git(&["config", &format!("diff.evil.{kind}"), &format!("touch {}", ran.display())]);
    }
    let unworked = stage.add("wait", |task| task.gates = vec!["person:the design".to_owned()]);
    let first = stage.add("one", |_| ());
    let second = stage.add("two", |_| ());
    let script = "echo \"work of $1\" > \"$1.txt\"";
    assert!(stage.work("2", script).status.success());
    assert_eq!(stage.state(first), TaskState::Closed, "{}", stage.why(first));
    assert_eq!(stage.state(second), TaskState::Closed, "{}", stage.why(second));

    let (id, of_first) = (first.to_string(), "+work of one");
    for task in [first, second] {
        let patch = stage.well(&["task", "diff", &task.to_string()]);
        assert_eq!(patch.contains(of_first), task == first, "{patch}");
        assert_eq!(patch.matches("diff --git").count(), 1, "{patch}");
    }
    assert!(stage.well(&["task", "diff", &id, "--stat"]).contains("1 file changed"));
    let http = Http::serve(&stage);
    let shown = |task: &str| http.get(&format!("/tasks/{task}/diff"));
    let diff = shown(&id).ok();
    let file = &diff["files"][0];
    assert_eq!(diff["files_total"], 1, "{diff}");
    assert_eq!((&file["path"], &file["status"]), (&"one.txt".into(), &"added".into()), "{diff}");
    assert_eq!((&file["added"], &file["removed"], &file["is_cut"]), (&1.into(), &0.into(), &false.into()));
    assert!(file["patch"].as_str().expect("a patch").contains(of_first), "{diff}");
    assert_eq!((&diff["is_merged"], &diff["is_cut"]), (&true.into(), &false.into()), "{diff}");
    let problem = shown(&unworked.to_string()).problem(404);
    assert!(problem.to_string().contains("nobody has worked on it"), "{problem}");
    let ledger = stage.ledger();
    let turn = story(&ledger, &stage.task(first)).expect("a story").turns.remove(0);
    let (turn_id, began) = (turn.id.to_string(), turn.created_at.expect("a beginning").to_string());
    for at in [&turn_id, &began] {
        let patch = stage.well(&["task", "diff", &id, "--at", at]);
        assert!(patch.contains(of_first), "{at}: {patch}");
    }
    assert!(!ran.exists(), "a driver of the repository was run");

    // Nothing to show is exit code 4, and says why.
    let said = |args: &[&str]| {
        let output = stage.callboard(args).output().expect("it runs");
        assert_eq!(output.status.code(), Some(4), "{output:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let told = said(&["task", "diff", &unworked.to_string()]);
    assert!(told.contains("nobody has worked on it"), "{told}");
    let told = said(&["task", "diff", &id, "--at", "2020-01-01T00:00:00Z"]);
    assert!(told.contains("no turn of it was under way"), "{told}");
    stage.git(&["update-ref", "-d", turn.start_ref.as_deref().expect("a ref")]);
    let told = said(&["task", "diff", &id, "--at", &turn_id]);
    assert!(told.contains("is not in the repository any more"), "{told}");
    std::fs::rename(stage.repo(), stage.path("elsewhere")).expect("it is moved");
    let told = said(&["task", "diff", &id]);
    assert!(told.contains("there is no repository"), "{told}");
    let problem = shown(&id).problem(404);
    assert!(problem["detail"].as_str().expect("why").contains("on this host"), "{problem}");
}
