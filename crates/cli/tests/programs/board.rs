//! Real agent programs under `callboard work`: each does one task through the tools of the board that the worker handed it.
//!
//! Invariant: the model on loopback asks for the tools by the names that the program offers, so a program that was not told of the board
//! fails the test. What is asserted is what is recorded, and what main holds.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::model::{Act, Step};
use crate::program::Program;
use crate::stage::{CALLBOARD, Stage};

const STEPS: &[Step] = &[
    Step::Board("show_task", "{}"),
    Step::Board("report_progress", r#"{"text": "half way"}"#),
    Step::Shell("echo written > result.txt"),
    Step::Board("complete_task", r#"{"summary": "the file is there"}"#),
];

const ASKS: &[Step] = &[Step::Board("ask", r#"{"question": "which colour?"}"#)];

fn git(work: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "init.defaultBranch=main"])
        .args(arguments)
        .current_dir(work)
        .env("HOME", work)
        .output()
        .unwrap_or_else(|error| panic!("git: {error}"));
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A repository and a task in it; the id of the task.
fn prepare(stage: &Stage) -> String {
    // The settings of one program lie in the directory that it works in, and belong to the repository then.
    drop(stage.surrounded(Command::new("true")));
    let work = stage.work();
    git(&work, &["init", "-q"]);
    std::fs::write(work.join("README.md"), "begin\n").unwrap_or_else(|error| panic!("{error}"));
    git(&work, &["add", "-A"]);
    git(&work, &["commit", "-qm", "begin"]);
    let repo = work.to_string_lossy().into_owned();
    let words = ["task", "add", "write the result", "--repo", &repo, "--expect", "result.txt"];
    stage.ask(&words).trim().to_owned()
}

/// Works until nothing is left to do, with the program as a person would name it.
fn work(stage: &Stage, options: &[&str]) -> Output {
    let mut command = Command::new(CALLBOARD);
    command
        .arg("--store")
        .arg(stage.store())
        .args(["work", "--once", "--retry-pause", "100ms"])
        .args(options);
    command.arg("--").args(stage.command_line().into_iter().map(|word| {
        match word.to_str() {
            Some("Do it.") => "{prompt}".into(),
            // Nobody skips permissions here: the tools of the board are allowed by what the worker says.
            Some("--dangerously-skip-permissions") => "--allowedTools=Bash".into(),
            _ => word,
        }
    }));
    let mut command = stage.surrounded(command);
    command.stdin(Stdio::null()).output().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

fn records(stage: &Stage, id: &str) -> Vec<Value> {
    let told = stage.ask(&["events", id, "--json"]);
    told.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Can root alone change what lies there?
fn is_roots(path: &Path) -> bool {
    path.ancestors()
        .all(|above| std::fs::metadata(above).is_ok_and(|seen| seen.uid() == 0 && seen.mode() & 0o022 == 0))
}

#[track_caller]
fn by_agent(records: &[Value], run: &str, found: impl Fn(&Value) -> bool) {
    let count = records.iter().filter(|record| found(record)).count();
    let own = records
        .iter()
        .filter(|record| found(record) && record["actor"]["type"] == "agent" && record["actor"]["id"] == run);
    assert_eq!((count, own.count()), (1, 1), "{records:#?}");
}

fn completes(program: Program) {
    // Gemini CLI reads its defaults only from a file that root alone can change.
    let above = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let Some(stage) = Stage::set_in(program, Act::Follows(STEPS), above) else { return };
    let id = prepare(&stage);
    let output = work(&stage, &[]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if program == Program::Gemini && !is_roots(above) {
        assert!(said.contains("the agent gets no MCP tools: Gemini CLI"), "{said}");
        return;
    }
    let results = stage.model.tool_results();
    let told = format!(
        "{said}\nresults: {results:#?}\nnot offered: {:?}\n{}\n{}",
        stage.model.unoffered(),
        stage.ask(&["task", "show", &id]),
        stage.ask(&["logs", stage.view()["id"].as_str().unwrap_or_default()]),
    );
    assert!(output.status.success(), "{told}");
    let shown: Value = serde_json::from_str(&stage.ask(&["task", "show", &id, "--json"])).unwrap_or_default();
    assert_eq!(shown["state"]["lifecycle"], "closed", "{told}");
    assert_eq!(shown["facts"]["summary"], "the file is there", "{told}");

    // The model was told what the tools answered, and the first of them told the task.
    assert_eq!(results.len(), STEPS.len(), "{told}");
    assert!(results[0].contains("write the result") && results[0].contains(&id), "{told}");

    // The agent of the run did it, once, and its worker did not report a second time.
    let run = stage.views().into_iter().find(|view| view["title"] == "write the result");
    let run = run.unwrap_or_else(|| panic!("{told}"))["id"].as_str().unwrap_or_default().to_owned();
    let records = records(&stage, &id);
    by_agent(&records, &run, |record| record["data"]["progress"] == "half way");
    by_agent(&records, &run, |record| record["to"] == "done" && record["from"] != "done");
    assert!(!said.contains("refused") && !said.contains("lost") && !said.contains("no MCP tools"), "{said}");

    // Main holds what was asked for and nothing of the settings; the private directory of the attempt is gone.
    let files = git(&stage.work(), &["ls-tree", "--name-only", "main"]);
    let files: Vec<&str> = files.lines().filter(|name| *name != "opencode.json").collect();
    assert_eq!(files, ["README.md", "result.txt"], "{told}");
    let left = std::fs::read_dir(stage.store().with_file_name("attempts")).map_or(0, Iterator::count);
    assert_eq!(left, 0, "{told}");
}

#[test]
fn claude_completes_a_task_with_the_tools_of_the_board() {
    completes(Program::Claude);
}

#[test]
fn codex_completes_a_task_with_the_tools_of_the_board() {
    completes(Program::Codex);
}

#[test]
fn gemini_completes_a_task_with_the_tools_of_the_board() {
    completes(Program::Gemini);
}

#[test]
fn opencode_completes_a_task_with_the_tools_of_the_board() {
    completes(Program::Opencode);
}

/// A question of the agent is what a person is asked, and nothing is tried again before it is answered.
#[test]
fn a_question_of_claude_reaches_a_person() {
    let Some(stage) = Stage::set(Program::Claude, Act::Follows(ASKS)) else { return };
    let id = prepare(&stage);
    let output = work(&stage, &[]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let shown: Value = serde_json::from_str(&stage.ask(&["task", "show", &id, "--json"])).unwrap_or_default();
    assert_eq!(shown["state"]["lifecycle"], "blocked", "{said} {shown}");
    let attention = stage.ask(&["attention"]);
    assert!(attention.contains("which colour?"), "{attention}");
    assert_eq!(stage.views().len(), 1, "{said}");
}

/// Without the tools the program works as it did, and its worker reports.
#[test]
fn a_program_that_is_told_nothing_is_reported_by_its_worker() {
    let Some(stage) = Stage::set(Program::Claude, Act::Calls("echo written > result.txt")) else { return };
    let id = prepare(&stage);
    let output = work(&stage, &["--mcp", "none"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let records = records(&stage, &id);
    let done = records.iter().find(|record| record["to"] == "done");
    assert_eq!(
        done.map(|record| &record["actor"]["type"]),
        Some(&Value::from("worker")),
        "{said} {records:#?}"
    );
    let run: Value = stage.view();
    assert!(!run["facts"]["argv"].to_string().contains("mcp"), "{run}");
}
