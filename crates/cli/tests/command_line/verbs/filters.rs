//! Filters: the same for every list, and for stopping; watching a list.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use callboard_kernel::{Facts, Value};
use callboard_lifecycle::session::SessionState;
use serde_json::Value as Json;

use crate::harness::shelf::{Shelf, begin, go, record, session};

/// Three runs of two projects: alive in batch 7, alive in batch 8, failed in batch 7 below the first.
fn shelf() -> Shelf {
    let shelf = Shelf::empty();
    let ledger = shelf.ledger();
    let facts = |title: &str, batch: &str, project: &str| {
        let labels = Facts::none().with("batch", batch).with("urgent", "");
        Facts::none().with("title", title).with("labels", Value::Map(labels)).with("project", project)
    };
    record(&ledger, session(1), 0, begin(SessionState::Pending, facts("one", "7", "shop")));
    record(&ledger, session(2), 100, begin(SessionState::Pending, facts("two", "8", "board")));
    let third = facts("three", "7", "shop").with("parent", session(1).to_string());
    record(&ledger, session(3), 200, begin(SessionState::Pending, third));
    let failed = go(SessionState::Failed, "run.failed.not_found", "no such program", "ENOENT", Facts::none());
    record(&ledger, session(3), 210, failed);
    shelf
}

const AT: [&str; 2] = ["--at", "2025-03-01T12:05:00Z"];

fn titles(shelf: &Shelf, arguments: &[&str]) -> Vec<String> {
    let document = shelf.json(&[arguments, &["--json"], &AT].concat());
    let title = |item: &Json| {
        let title = if item["title"].is_null() { &item["entity"]["title"] } else { &item["title"] };
        title.as_str().unwrap_or("?").to_owned()
    };
    let mut titles: Vec<String> = document["items"].as_array().into_iter().flatten().map(title).collect();
    titles.sort();
    titles
}

#[test]
fn every_filter_narrows_the_list_and_all_must_hold() {
    let shelf = shelf();
    let first = session(1).to_string();
    let cases: &[(&[&str], &[&str])] = &[
        (&["ps"], &["one", "two"]),
        (&["ps", "--all"], &["one", "three", "two"]),
        (&["ps", "--label", "batch=7"], &["one"]),
        (&["ps", "--all", "--label", "batch=7"], &["one", "three"]),
        (&["ps", "--label", "urgent"], &["one", "two"]),
        (&["ps", "--label", "team"], &[]),
        (&["ps", "--project", "board"], &["two"]),
        (&["ps", "--project", "board", "--label", "batch=7"], &[]),
        (&["ps", "--state", "failed"], &["three"]),
        (&["ps", "session", "--state", "pending", "--label", "batch=8"], &["two"]),
        (&["ps", "--state", "stalled"], &["one", "two"]),
        (&["ps", "--all", "--parent", &first], &["three"]),
        (&["ps", "--older-than", "4m"], &["one"]),
        (&["ps", "--newer-than", "4m"], &["two"]),
        (&["attention", "--state", "critical", "--label", "batch=7"], &["one", "three"]),
        (&["attention", "--state", "failed"], &["three"]),
        (&["attention", "--project", "board"], &["two"]),
        (&["attention", "--kind", "task"], &[]),
        (&["attention", "--newer-than", "2m"], &["three"]),
    ];
    for (arguments, expected) in cases {
        assert_eq!(titles(&shelf, arguments), *expected, "{arguments:?}");
    }
    let limited = shelf.json(&["ps", "--limit", "1", "--json"]);
    assert_eq!((limited["items"].as_array().map(Vec::len), limited["total"].as_u64()), (Some(1), Some(2)));
    let text = shelf.well(&["ps", "--width", "80"]);
    assert!(text.contains("PROJECT") && text.contains("board"), "{text}");
    let one = shelf.well(&["ps", "--project", "shop", "--width", "80"]);
    assert!(!one.contains("PROJECT"), "one project needs no column: {one}");
}

#[test]
fn the_project_of_the_directory_is_a_dot() {
    let shelf = shelf();
    let inside = shelf.file("shop/src");
    std::fs::create_dir_all(shelf.file("shop/.git")).unwrap();
    std::fs::create_dir_all(&inside).unwrap();
    let ran = crate::harness::driver::finish(
        shelf.command(&["ps", "--project", ".", "--json"]).current_dir(&inside),
    );
    assert_eq!(ran.json()["items"].as_array().map(Vec::len), Some(1));
    let outside = crate::harness::driver::finish(shelf.command(&["ps", "--project", "."]).current_dir("/"));
    assert_eq!(outside.code, Some(2));
    assert!(outside.stderr.contains("is not under git"), "{}", outside.stderr);
}

#[test]
fn what_is_not_understood_is_refused_with_what_is_near() {
    let shelf = shelf();
    let cases: &[(&[&str], &str, &str)] = &[
        (&["ps", "--state", "faild"], "unknown state \"faild\"", "failed"),
        (&["ps", "task", "--state", "timed_out"], "unknown state \"timed_out\" of a task", "try: "),
        (&["attention", "--state", "criticl"], "unknown state", "critical"),
        (&["ps", "--label", "=7"], "names no label", "NAME or NAME=VALUE"),
        (&["ps", "--older-than", "long"], "is no span", "15m"),
        (&["ps", "--parent", "ses_zzzz"], "no id begins like this", "callboard ps --all"),
        (&["stop"], "neither an id nor a filter", "--label batch=7"),
        (&["stop", "--limit", "3"], "neither an id nor a filter", "--label batch=7"),
        (&["stop", "ses_0", "--label", "x"], "ids and filters are both given", "alone"),
        (&["ps", "--watch", "--at", "5m"], "cannot be used with", "callboard"),
        (&["attention", "--notify"], "--watch", "callboard"),
    ];
    for (arguments, because, instead) in cases {
        let ran = shelf.run(arguments);
        assert!(ran.code == Some(2) || ran.code == Some(4), "{arguments:?}: {:?} {}", ran.code, ran.stderr);
        assert!(
            ran.stderr.contains(because) && ran.stderr.contains(instead),
            "{arguments:?}: {}",
            ran.stderr
        );
        assert_eq!(ran.stdout, "", "{arguments:?}");
    }
}

#[test]
fn stopping_by_filter_reaches_those_and_no_others() {
    let shelf = Shelf::empty();
    let start = |batch: &str| {
        let label = format!("batch={batch}");
        shelf
            .well(&["run", "--detach", "--label", &label, "--grace", "1s", "--", "sleep", "60"])
            .trim()
            .to_owned()
    };
    let (first, second, other) = (start("7"), start("7"), start("8"));
    let listed = shelf.well(&["stop", "--label", "batch=7", "--dry-run", "--json"]);
    assert_eq!(listed.lines().count(), 2, "{listed}");
    let alive = shelf.json(&["ps", "--json"]);
    assert_eq!(alive["items"].as_array().map(Vec::len), Some(3), "nobody was asked");
    let stopped = shelf.run(&["stop", "--label", "batch=7", "--json"]);
    assert_eq!((stopped.code, stopped.stdout.lines().count()), (Some(0), 2), "{}", stopped.stderr);
    let state = |id: &str| shelf.json(&["inspect", id, "--json"])["state"]["lifecycle"].clone();
    assert_eq!([state(&first), state(&second)], ["cancelled", "cancelled"]);
    assert_eq!(state(&other), "running");
    assert!(shelf.well(&["stop", "--label", "batch=7"]).contains("nobody was asked"));
    shelf.well(&["stop", &other]);
}

struct Watched {
    child: Child,
    lines: BufReader<std::process::ChildStdout>,
}

fn watched(shelf: &Shelf, arguments: &[&str]) -> Watched {
    let mut command = shelf.command(arguments);
    #[expect(clippy::disallowed_methods, reason = "the test looks at the program while it goes on")]
    let mut child = match command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn() {
        Ok(child) => child,
        Err(error) => panic!("{error}"),
    };
    let Some(stdout) = child.stdout.take() else { panic!("no pipe") };
    Watched { child, lines: BufReader::new(stdout) }
}

impl Watched {
    fn line(&mut self) -> String {
        let mut line = String::new();
        match self.lines.read_line(&mut line) {
            Ok(count) if count > 0 => line,
            Ok(_) => panic!("it ended"),
            Err(error) => panic!("{error}"),
        }
    }

    /// Presses Ctrl-C and gives what came after, once it ended.
    fn end(mut self) -> (Option<i32>, String) {
        let pid = self.child.id().to_string();
        assert!(
            std::process::Command::new("kill")
                .args(["-INT", &pid])
                .status()
                .is_ok_and(|ended| ended.success())
        );
        let deadline = Instant::now() + Duration::from_secs(20);
        let code = loop {
            match self.child.try_wait() {
                Ok(Some(ended)) => break ended.code(),
                Ok(None) if Instant::now() < deadline => std::thread::yield_now(),
                Ok(None) => panic!("Ctrl-C did not end it"),
                Err(error) => panic!("{error}"),
            }
        };
        let mut rest = String::new();
        match self.lines.read_to_string(&mut rest) {
            Ok(_) => (code, rest),
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn a_watched_list_is_written_again_only_when_it_changes() {
    let shelf = Shelf::empty();
    shelf.create(&["task", "--state", "planned", "--title", "first"]);
    let mut json = watched(&shelf, &["ps", "--watch", "--json"]);
    let count = |line: String| match serde_json::from_str::<Json>(&line) {
        Ok(document) => document["items"].as_array().map(Vec::len),
        Err(error) => panic!("{error}: {line}"),
    };
    assert_eq!(count(json.line()), Some(1));
    shelf.create(&["task", "--state", "planned", "--title", "second"]);
    assert_eq!(count(json.line()), Some(2));
    assert_eq!(json.end(), (Some(0), String::new()), "nothing but the two");

    let mut text = watched(&shelf, &["attention", "--watch"]);
    assert!(text.line().contains("TITLE"));
    let rows = [text.line(), text.line()].concat();
    assert!(rows.contains("first") && rows.contains("second"), "{rows}");
    shelf.create(&["task", "--state", "planned", "--title", "third"]);
    assert_eq!(text.line(), "\n", "a blank line is between two");
    assert!(text.line().contains("TITLE"));
    let (code, rest) = text.end();
    assert_eq!((code, rest.lines().count()), (Some(0), 3), "{rest}");
}
