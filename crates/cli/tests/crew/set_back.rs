//! A branch that somebody set back after a merge: the task is closed, its work is gone, and somebody is told.

use callboard_kernel::fact;
use callboard_lifecycle::task::TaskState;

use crate::stage::Stage;

#[test]
fn a_closed_task_whose_work_is_gone_from_its_branch_needs_somebody() {
    let stage = Stage::new();
    let before = stage.git(&["rev-parse", "main"]);
    let id = stage.add("write it", |_| ());
    let kept = stage.add("write the other", |_| ());
    let script = "echo hello; echo x > \"$CALLBOARD_TASK.txt\"";
    assert!(stage.work("1", script).status.success());
    assert_eq!(stage.state(id), TaskState::Closed, "{}", stage.why(id));
    let attention = |stage: &Stage| {
        let output = stage.callboard(&["attention", "--json"]).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert!(!attention(&stage).contains("does not hold"), "{}", attention(&stage));

    // The work of one task is there in other commits; that of the other one is gone.
    let facts = stage.facts(kept);
    let tip = facts.read(fact::TIP).expect("a tip");
    assert_eq!(stage.git(&["branch", "--list", "callboard/*"]), "", "a merged task needs no branch");
    let held = stage.git(&["rev-parse", &format!("refs/callboard/{kept}/tip")]);
    assert_eq!(held.trim(), tip);
    stage.git(&["reset", "-q", "--hard", before.trim()]);
    stage.git(&["merge", "-q", "--squash", tip]);
    stage.git(&["commit", "-q", "-m", "squashed"]);
    let mut crew = stage.start_lasting_work("true");
    stage.until("the word about it", |stage| attention(stage).contains("does not hold"));
    crew.kill().unwrap();
    crew.wait().unwrap();
    let told = attention(&stage);
    assert!(told.contains(&id.to_string()) && !told.contains(&kept.to_string()), "{told}");
}
