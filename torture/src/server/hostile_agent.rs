//! `hostile-agent`: a supervised program with its own token, a shell and bad intentions tries every door.
//!
//! Invariant: it can say that it lives and what it likes about itself, as its own word; everything else it tries is
//! refused, and nothing false is recorded: its end is what its process did, another run is untouched, and what it says
//! steers no terminal. It runs under the real program, with the environment of a run. Deliberately absent: what the same
//! user may do to files without a sandbox, which the security page does not promise to prevent; what a sandbox makes of
//! that is a table of acts (`table.rs`), each tried without one and with one.

mod acts;
mod calls;
mod page;
mod passes;
mod place;
mod table;

use std::path::Path;
use std::process::{ExitCode, Output};

use anyhow::{Context, Result, ensure};
use serde_json::{Map, Value, json};

use crate::harness::driver::{Plan, Tally, Torture};
use crate::harness::http;
use crate::harness::program::{self, Board, PATIENCE, TOKEN, holders, until};
use crate::harness::scene::Scene;
use crate::harness::service::Service;

pub(crate) const TORTURE: Torture = Torture {
    name: "hostile-agent",
    about: "a supervised program with its token and a shell tries every door; nothing false is recorded",
    mutants: &["agents_own_run", "notices_of_its_own", "refused_calls"],
    run,
    child: Some(child),
};

/// What another run keeps to itself.
const MARK: &str = "Alienum-83c0d1";
/// What it writes down in order to steer a terminal or a page.
const STEERS: &str = "\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}31m\r\u{8}<script>alert(1)</script>\u{202e}";

fn run(plan: &Plan) -> Tally {
    let marker = format!("hostile-{}", std::process::id());
    let mut tally = program::play(plan, |board, scene, tally| play(board, scene, &marker, tally));
    if let Err(error) = passes::play(plan, &mut tally) {
        tally.failures.push(format!("{error:#}"));
    }
    tally
}

/// The agent itself, and what tries the acts of the table.
fn child(arguments: &[String]) -> ExitCode {
    let Some((first, rest)) = arguments.split_first() else { return ExitCode::from(2) };
    let outcome = match first.as_str() {
        "tries" => passes::tries(rest),
        "call" => calls::call(rest),
        "send" => calls::send(rest),
        "ask" => calls::ask(rest),
        _ => return acts::child(arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn play(board: &Board, scene: &Scene, marker: &str, tally: &mut Tally) -> Result<()> {
    let service = Service::start(board, scene.path(), &["--rate", "100"])?;
    let start = |words: &[&str]| -> Result<String> {
        let mut command = board.command(&[&["run", "--detach"], words].concat());
        let output = command.env(TOKEN, marker).current_dir(scene.path()).output()?;
        ensure!(output.status.success(), "a run did not start: {}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    };
    let other = start(&["--title", MARK, "--", "sh", "-c", &format!("echo {MARK}; exec sleep 600")])?;
    let driver = std::env::current_exe()?.display().to_string();
    let orders = scene.path().join("orders.json");
    let own = start(&[
        "--title",
        STEERS,
        "--grace",
        "200ms",
        "--",
        &driver,
        "child",
        "hostile-agent",
        &orders.display().to_string(),
    ])?;
    let token = board.ask(&["token", "create", "--scope", "agent", "--run", &own])?;
    let told = json!({
        "address": service.address.to_string(), "token": token.trim(), "own": own, "other": other,
        "runs": scene.path().join("runs"), "report": scene.path().join("report.jsonl"),
    });
    std::fs::write(scene.path().join("orders.part"), told.to_string())?;
    std::fs::rename(scene.path().join("orders.part"), &orders)?;
    let ended = until(PATIENCE, || {
        let view = board.json(&["inspect", &own, "--json"]).unwrap_or_default();
        (!view["ended_at"].is_null()).then_some(view)
    })?;
    let acts = report(&scene.path().join("report.jsonl"), tally)?;
    tally.check(acts >= acts::COUNT, || format!("it tried only {acts} acts"));
    let state = ended.as_ref().map(|view| view["state"]["lifecycle"].clone());
    tally.check(state == Some("failed".into()), || format!("its end was recorded as {state:?}"));
    let is_grouped = board.json(&["inspect", &other, "--json"])?["facts"]["containment"]["rung"] == "cgroup";
    records(board, &own, &other, is_grouped, tally)?;
    terminals(board, &own, tally)?;
    let view = service.get(&format!("/api/v1/entities/{other}"))?.ok()?;
    tally.check(view["state"]["lifecycle"] == "running", || format!("the other run is {}", view["state"]));
    let late = http::ask(
        service.address,
        "GET",
        &format!("/api/v1/entities/{own}"),
        &http::bearer(token.trim()),
        "",
    )?;
    tally.check(late.status == 401, || format!("its token outlived it: {}", late.status));
    let stolen = service.get(&format!("/api/v1/entities/{own}/artifacts/stolen"))?;
    tally.check(stolen.status == 404, || {
        format!("a link to the operator's token is served: {}", stolen.status)
    });
    let left = holders(&format!("{marker}-left"));
    tally.check(left.is_empty(), || format!("somebody outlived the run: {left:?}"));
    board.ask(&["verify"])?;
    tally.notes.push(format!("{acts} acts"));
    Ok(())
}

/// What it says came of each act: a status or a word, and which were right.
fn report(path: &Path, tally: &mut Tally) -> Result<usize> {
    let text = std::fs::read_to_string(path).context("it reported nothing")?;
    let mut acts = 0;
    for line in text.lines() {
        let act: Value = serde_json::from_str(line)?;
        let right = act["right"].as_array().is_some_and(|right| right.contains(&act["came"]));
        tally.check(right, || format!("it could {line}"));
        acts += 1;
    }
    Ok(acts)
}

/// Nothing is in the log but what it may say of itself, and what is so.
fn records(board: &Board, own: &str, other: &str, is_grouped: bool, tally: &mut Tally) -> Result<()> {
    let mut ends = 0;
    for line in board.events()? {
        let record: Value = serde_json::from_str(&line)?;
        let (id, by) = (&record["entity"]["id"], record["actor"]["type"].as_str().unwrap_or_default());
        let moved = record["from"] != record["to"];
        // A person made the token that it has, before it began.
        let is_token = record["data"]["grant"]["act"] == "created"
            && record["data"].as_object().map(Map::len) == Some(1);
        tally.check(by != "operator" || is_token, || format!("something is recorded as a person's: {line}"));
        tally.check(by != "agent" || (*id == own && !moved), || format!("an agent recorded {line}"));
        // Without a control group, whoever carries the marker of a run is of the run.
        let is_claimed = !is_grouped && line.contains("forged too");
        tally.check(*id != other || is_claimed || !line.contains("forged"), || {
            format!("another run has its word: {line}")
        });
        ends += usize::from(*id == own && moved && record["to"] == "failed");
    }
    tally.check(ends == 1, || format!("it ended {ends} times"));
    Ok(())
}

/// What people look at has nothing in it that steers.
fn terminals(board: &Board, own: &str, tally: &mut Tally) -> Result<()> {
    for words in [["ps", "--all"].as_slice(), &["inspect", own], &["why", own], &["events"], &["attention"]] {
        let Output { stdout, stderr, .. } = board.command(words).args(["--color", "never"]).output()?;
        let text = String::from_utf8_lossy(&[stdout, stderr].concat()).into_owned();
        let steers =
            text.chars().find(|c| (c.is_control() && *c != '\n') || ('\u{202a}'..='\u{202e}').contains(c));
        // What it printed is shown as it is by `logs` alone.
        tally.check(steers.is_none(), || format!("{steers:?} in {}", words.join(" ")));
    }
    Ok(())
}
