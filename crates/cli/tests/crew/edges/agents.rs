//! What agents do under `callboard work`, and what becomes of it: their streams, their ends, checks, approvals, crashes.

#![expect(clippy::disallowed_methods, reason = "a test starts the program as a user does")]

use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Stdio};

use callboard_kernel::{EntityId, fact, turn_state};
use callboard_lifecycle::task::TaskState;
use callboard_lifecycle::task_turn::TaskTurnState;

use crate::stage::{Stage, finish};

/// An agent that speaks as Claude Code does, and does what the title of its task says. Where a step must be seen before the next one,
/// it waits for a file of that name.
const AGENT: &str = r#"#!/bin/sh
while [ $# -gt 1 ]; do [ "$1" = -p ] && title="$2"; shift; done
say() { printf '%s\n' "$1"; }
seen() {
  n=0
  while [ ! -e "$TRIES/$CALLBOARD_TASK.$1" ] && [ $n -lt 6000 ]; do n=$((n + 1)); sleep 0.05; done
}
tool='{"type":"assistant","message":{"id":"m2","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"make"}}]}}'
returned='{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"ok"}]}}'
compacting='{"type":"system","subtype":"status","status":"compacting"}'
compacted='{"type":"system","subtype":"compact_boundary"}'
tries=$(cat "$TRIES/$CALLBOARD_TASK" 2>/dev/null || echo 0); tries=$((tries + 1)); echo $tries > "$TRIES/$CALLBOARD_TASK"
say '{"type":"system","subtype":"init","session_id":"s1","model":"m","cwd":"/","tools":["Bash"]}'
say '{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"I begin."}]}}'
case "$title" in
  "use a tool and compact")
    say "$tool"; seen tool_use; say "$returned"; seen running
    say "$compacting"; seen compacting; say "$compacted"; seen compacted ;;
  "die in a tool") say "$tool"; seen tool_use; kill -SEGV $$ ;;
  "die while compacting") say "$compacting"; seen compacting; exit 1 ;;
  "report, then compact")
    echo x > reported.txt
    "$CALLBOARD" task done "$CALLBOARD_TASK" --summary "it is there" >&2 || exit 9
    say "$compacting"; seen compacting; say "$compacted" ;;
  "exit with 3") exit 3 ;;
  "divide") "$CALLBOARD" task split "$CALLBOARD_TASK" --into "write part1" --into "write part2" >&2 || exit 9 ;;
  "leave enough") echo x > enough.txt; touch "$TRIES/left"; seen never ;;
  "leave nothing") seen never ;;
  "be killed once") [ $tries -eq 1 ] && seen never; echo x > second.txt ;;
  "write "*) echo x > "${title#write }.txt" ;;
esac
say '{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"It is done."}'
"#;

/// A stage with the agent on it.
fn stage_with_agent() -> Stage {
    let stage = Stage::new();
    std::fs::create_dir_all(stage.path("bin")).unwrap();
    let agent = stage.path("bin/claude");
    std::fs::write(&agent, AGENT).unwrap();
    std::fs::set_permissions(&agent, std::fs::Permissions::from_mode(0o755)).unwrap();
    stage
}

fn crew(stage: &Stage, program: &str, concurrency: &str) -> Child {
    let words = ["work", "--once", "--lease", "3s", "--retry-pause", "200ms", "--concurrency", concurrency];
    let agent = ["--", program, "-p", "{title}", "--output-format", "stream-json", "--verbose"];
    let mut command = stage.callboard(&[&words[..], &agent[..]].concat());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn claude(stage: &Stage) -> String {
    stage.path("bin/claude").to_str().unwrap().to_owned()
}

fn add(stage: &Stage, title: &str, words: &[&str]) -> EntityId {
    add_in(stage, "repo", title, words)
}

fn add_in(stage: &Stage, repo: &str, title: &str, words: &[&str]) -> EntityId {
    let all = [&["task", "add", title, "--repo", repo], words].concat();
    stage.well(&all).trim().parse().unwrap()
}

#[track_caller]
fn expect(stage: &Stage, task: EntityId, state: TaskState, said: &str) {
    assert_eq!(stage.state(task), state, "{}\n{said}", stage.why(task));
}

/// Waits until the turn of a task is seen in a state, and lets its agent go on.
fn see(stage: &Stage, task: EntityId, state: TaskTurnState, step: &str) {
    stage.until(&format!("{state} of {task}"), |stage| {
        let turn = stage.facts(task).read(fact::TASK_TURN).and_then(|text| text.parse::<EntityId>().ok());
        let turn = turn.and_then(|turn| stage.ledger().entity(turn).unwrap());
        turn.and_then(|turn| turn_state(&turn.entity)) == Some(state)
    });
    std::fs::write(stage.path("tries").join(format!("{task}.{step}")), "").unwrap();
}

/// Agents at work; the stage it was played on.
pub(super) fn play() -> Stage {
    let stage = stage_with_agent();
    let once = &["--max-retries", "0"][..];
    let steps = add(&stage, "use a tool and compact", &[]);
    let in_tool = add(&stage, "die in a tool", once);
    let compacting = add(&stage, "die while compacting", once);
    let reported = add(&stage, "report, then compact", &["--expect", "reported.txt"]);
    let exited = add(&stage, "exit with 3", once);
    let rejected = add(&stage, "write rejected", &["--verify", "false", "--max-retries", "0"]);
    let divided = add(&stage, "divide", &[]);
    let held: Vec<EntityId> =
        (1..=4).map(|n| add(&stage, &format!("write held{n}"), &["--approval"])).collect();
    // Somebody moves the repository of this one away before its turn comes.
    let status =
        std::process::Command::new("cp").args(["-r", "repo", "moved"]).current_dir(stage.path("")).status();
    assert!(status.unwrap().success());
    let homeless = add_in(&stage, "moved", "write homeless", once);
    std::fs::rename(stage.path("moved"), stage.path("away")).unwrap();

    let crew_at_work = crew(&stage, &claude(&stage), "4");
    see(&stage, steps, TaskTurnState::ToolUse, "tool_use");
    see(&stage, steps, TaskTurnState::Running, "running");
    see(&stage, steps, TaskTurnState::Compacting, "compacting");
    see(&stage, steps, TaskTurnState::Running, "compacted");
    see(&stage, in_tool, TaskTurnState::ToolUse, "tool_use");
    see(&stage, compacting, TaskTurnState::Compacting, "compacting");
    see(&stage, reported, TaskTurnState::Compacting, "compacting");
    let output = finish(crew_at_work);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    for task in [steps, reported, divided] {
        expect(&stage, task, TaskState::Closed, &said);
    }
    for task in [in_tool, compacting, exited, rejected, homeless] {
        expect(&stage, task, TaskState::Failed, &said);
    }
    people_judge(&stage, &held, &said);
    an_agent_that_is_not_there(&stage);
    stage
}

/// A person judges results that wait for it, each in another way.
fn people_judge(stage: &Stage, held: &[EntityId], said: &str) {
    let judge = |task: EntityId, words: &[&str], state: TaskState| {
        expect(stage, task, TaskState::PendingApproval, said);
        let id = task.to_string();
        stage.well(&[&["task", words[0], &id], &words[1..]].concat());
        expect(stage, task, state, said);
    };
    judge(held[0], &["approve"], TaskState::Closed);
    judge(held[1], &["reject", "--because", "it is wrong"], TaskState::Failed);
    judge(held[2], &["reject", "--because", "once more", "--send-back"], TaskState::Open);
    judge(held[3], &["cancel", "--because", "not needed"], TaskState::Cancelled);
    stage.well(&["task", "cancel", &held[2].to_string(), "--because", "enough"]);
    assert!(stage.git(&["ls-tree", "--name-only", "main"]).contains("held1.txt"));
}

fn an_agent_that_is_not_there(stage: &Stage) {
    let task = add(stage, "write nothing", &[]);
    let output = finish(crew(stage, "/nowhere/claude", "1"));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    expect(stage, task, TaskState::Failed, &said);
    assert!(stage.why(task).contains("task.failed.spawn"), "{}", stage.why(task));
}

/// A crew that is killed at work, and the next one; the stage it was played on.
pub(super) fn play_crash() -> Stage {
    let stage = stage_with_agent();
    let enough = add(&stage, "leave enough", &["--expect", "enough.txt", "--max-retries", "0"]);
    let nothing = add(&stage, "leave nothing", &["--max-retries", "0"]);
    let again = add(&stage, "be killed once", &["--expect", "second.txt"]);
    let mut first = crew(&stage, &claude(&stage), "3");
    stage.until("everything at work", |stage| {
        stage.path("tries/left").exists()
            && [enough, nothing, again].iter().all(|task| stage.state(*task) == TaskState::InProgress)
    });
    first.kill().unwrap();
    first.wait().unwrap();
    let output = finish(crew(&stage, &claude(&stage), "3"));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    expect(&stage, enough, TaskState::Closed, &said);
    expect(&stage, nothing, TaskState::Failed, &said);
    expect(&stage, again, TaskState::Closed, &said);
    stage
}
