//! Two terminals of one home: neither ends the other's work, and a stop reaches the tools of the run that it is for.

use serde_json::{Value, json};

use crate::model::Act;
use crate::program::Program;
use crate::screen::Screen;
use crate::stage::{Stage, processes, until};

const TOOL: &str = "tail -f /dev/null";

/// Opens a terminal of Codex that runs the tool, and waits for the tool; its view and the pid of the tool.
fn open(stage: &Stage, title: &str) -> (Screen, Value, u64) {
    let words = ["--dangerously-bypass-approvals-and-sandbox", "Do it."].map(Into::into);
    let line: Vec<_> = stage.command_line().into_iter().take(1).chain(words).collect();
    let options = ["--timeout", "200s", "--title", title];
    let mut command = stage.run(&["setsid", "--ctty"], &options, &line);
    let screen = Screen::start(&mut command).unwrap_or_else(|error| panic!("no terminal: {error}"));
    let view = until("a run", || stage.views().into_iter().find(|view| view["title"] == title));
    let id = view["id"].as_str().unwrap_or_default().to_owned();
    let tool = until("its tool", || tool_of(&id));
    (screen, view, tool)
}

fn tool_of(id: &str) -> Option<u64> {
    processes(id).into_iter().find(|(_, line)| line.trim_end() == TOOL).map(|(pid, _)| pid)
}

fn is_alive(pid: u64) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.starts_with("tail"))
}

#[test]
fn two_terminals_of_codex_share_no_daemon() {
    let Some(stage) = Stage::set(Program::Codex, Act::Calls(TOOL)) else { return };
    // By itself, the first of a home would start a daemon, and the second would work in it.
    let (mut first, first_view, first_tool) = open(&stage, "first");
    let (mut second, second_view, second_tool) = open(&stage, "second");
    assert_eq!(stage.views().len(), 2);
    let id = |view: &Value| view["id"].as_str().unwrap_or_default().to_owned();
    for view in [&first_view, &second_view] {
        let added = &view["facts"]["added_arguments"];
        assert_eq!(*added, json!(["-c", "features.daemon_auto_start=false"]), "{view}");
        let daemons = processes(&id(view)).into_iter().filter(|(_, line)| line.contains("app-server"));
        assert_eq!(daemons.collect::<Vec<_>>(), []);
    }
    assert!(is_alive(first_tool) && is_alive(second_tool));

    stage.ask(&["stop", &id(&first_view)]);
    let ended = first.child.wait().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(ended.code(), Some(143), "{}", first.said());
    assert!(!is_alive(first_tool) && is_alive(second_tool), "{}", second.said());

    stage.ask(&["stop", &id(&second_view)]);
    let ended = second.child.wait().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(ended.code(), Some(143), "{}", second.said());
    until("nobody", || (processes(&id(&first_view)).is_empty() && !is_alive(second_tool)).then_some(()));
}
