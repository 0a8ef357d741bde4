//! A repository with twenty small tasks, four workers and a scripted agent: everything ends as planned, and main holds exactly the merges.

use callboard_kernel::{EntityId, fact, task};
use callboard_lifecycle::task::TaskState;

use crate::stage::{Stage, names};

/// The agent: what it does follows from the title of its task. `$TRIES` counts attempts beside the repository.
const AGENT: &str = r#"
title="$1"
echo "working on $title"
n=$(cat "$TRIES/$CALLBOARD_TASK" 2>/dev/null || echo 0); n=$((n + 1)); echo $n > "$TRIES/$CALLBOARD_TASK"
case "$title" in
  "write "*) echo "$title" > "${title#write }.txt" ;;
  "edit "*) sleep 0.3; echo "$title" > shared.txt ;;
  "divide") "$CALLBOARD" task split "$CALLBOARD_TASK" --into "write part1" --into "write part2" || exit 9; sleep 600 ;;
  "crash") [ $n -eq 1 ] && kill -SEGV $$; echo ok > crash.txt ;;
  "stall") sleep 600 ;;
  "reject") echo no > reject.txt ;;
  "nothing") ;;
  "slow") [ $n -eq 1 ] && { echo begun > slow.txt; sleep 600; }; echo done > slow.txt ;;
  "committed") echo c > committed.txt; git add committed.txt; git -c user.name=A -c user.email=a@b commit -qm "own commit" ;;
  *) echo "what is $title?"; exit 3 ;;
esac
"#;

#[test]
fn twenty_tasks_end_as_planned_though_a_worker_is_killed() {
    let stage = Stage::new();
    let mut closed: Vec<EntityId> = (1..=10)
        .map(|number| {
            stage.add(&format!("write f{number}"), |task| {
                task.verify = vec![format!("test -f f{number}.txt")];
                task.expect_diff = true;
            })
        })
        .collect();
    closed.push(stage.add("write after", |task| task.after = vec![closed[0].to_string()]));
    closed.push(stage.add("crash", |task| task.expect = vec!["crash.txt".into()]));
    closed.push(stage.add("committed", |task| task.contains = vec!["committed.txt=c".into()]));
    closed.push(stage.add("nothing", |_| ()));
    let divided = stage.add("divide", |_| ());
    closed.push(divided);
    let edits = [stage.add("edit left", |_| ()), stage.add("edit right", |_| ())];
    let slow = stage.add("slow", |task| task.contains = vec!["slow.txt=done".into()]);
    closed.extend(edits);
    closed.push(slow);
    // These two wait for the slow one, so that the kill does not use up their attempts.
    let after_slow = |retries| (vec![slow.to_string()], Some(retries));
    let stalled = stage.add("stall", |task| {
        (task.timeout_s, (task.after, task.max_retries)) = (Some(1.0), after_slow(1));
    });
    let rejected = stage.add("reject", |task| {
        (task.verify, (task.after, task.max_retries)) = (vec!["false".into()], after_slow(0));
    });
    let before = stage.git(&["rev-parse", "main"]);

    // The first crew is killed while it works on the slow task; the second one finishes.
    let mut first = stage.start_work("4", AGENT);
    stage.until("the slow task in progress", |stage| stage.state(slow) == TaskState::InProgress);
    first.kill().unwrap();
    first.wait().unwrap();
    let output = stage.work("4", AGENT);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");

    for id in &closed {
        assert_eq!(stage.state(*id), TaskState::Closed, "{}\n{said}", stage.why(*id));
    }
    for id in [stalled, rejected] {
        assert_eq!(stage.state(id), TaskState::Failed, "{}\n{said}", stage.why(id));
    }
    assert!(stage.why(stalled).contains("task.failed.timeout"), "{}", stage.why(stalled));
    assert!(stage.why(rejected).contains("task.failed.verification"), "{}", stage.why(rejected));
    // The agent split its task, and the parts were done before the whole.
    let parts = task::subtasks(&stage.facts(divided));
    assert_eq!(parts.len(), 2);
    closed.extend(&parts);
    for part in &parts {
        assert_eq!(stage.state(*part), TaskState::Closed, "{}\n{said}", stage.why(*part));
    }
    assert_eq!(stage.tasks().len(), 22);

    main_holds_each_merge_once(&stage, before.trim(), &closed);
    let files = stage.git(&["ls-tree", "--name-only", "main"]);
    assert!(
        files.contains("crash.txt") && files.contains("committed.txt") && !files.contains("reject.txt"),
        "{files}"
    );
    assert!(stage.git(&["show", "main:slow.txt"]).starts_with("done"));
    // The checkout of the user came along, and nothing in it is changed.
    assert_eq!(stage.git(&["status", "--porcelain"]), "");
    // No worktree is left of what was merged; what failed is kept.
    let left = names(&stage.path("state/worktrees"));
    assert!(left.iter().all(|name| [stalled, rejected].iter().any(|id| id.to_string() == *name)), "{left:?}");
    assert!(stage.ledger().verify().unwrap().ok);
}

/// Main holds the merge of each task once, and nothing else.
fn main_holds_each_merge_once(stage: &Stage, before: &str, closed: &[EntityId]) {
    let range = format!("{before}..main");
    let merges = stage.git(&["log", "--first-parent", "--format=%H", &range]);
    let recorded: Vec<String> =
        closed.iter().filter_map(|id| stage.facts(*id).read(fact::COMMIT).map(str::to_owned)).collect();
    let mut on_main: Vec<&str> = merges.lines().collect();
    let mut expected: Vec<&str> = recorded.iter().map(String::as_str).collect();
    on_main.sort_unstable();
    expected.sort_unstable();
    assert_eq!(on_main, expected);
    assert_eq!(on_main.len(), 18, "everything but the two tasks that changed nothing themselves");
}
