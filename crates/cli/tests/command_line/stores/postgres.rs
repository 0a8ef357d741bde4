//! The same verbs on a PostgreSQL store: what is followed there, and what is done by other programs.

#[path = "../../../../ledger/tests/common/cluster.rs"]
mod cluster;

use std::io::{BufRead, BufReader};

use callboard_kernel::{Actor, Facts, Observe, Order, fact};
use callboard_ledger::{Ledger, Options, Request};
use callboard_lifecycle::ActorClass;
use cluster::Cluster;
use serde_json::Value;

use crate::harness::driver::{Ran, command, finish};
use crate::harness::runs::carriers;
use crate::harness::shelf::{Shelf, at, text};

/// The binary on a store on a server; its key lies on the shelf.
fn on(shelf: &Shelf, url: &str, arguments: &[&str]) -> std::process::Command {
    let mut program = command(arguments);
    program.env("CALLBOARD_STORE", url).env("XDG_STATE_HOME", shelf.file("state")).env("USER", "ann");
    program
}

fn run(shelf: &Shelf, url: &str, arguments: &[&str]) -> Ran {
    finish(&mut on(shelf, url, arguments))
}

#[test]
fn a_store_on_a_server_is_followed_through_a_restart_and_backed_up_by_its_own_program() {
    let (cluster, shelf) = (Cluster::start(), Shelf::empty());
    let url = cluster.database("board");
    let id = run(&shelf, &url, &["create", "session"]).well().trim_end().to_owned();
    let (reader, writer) = std::io::pipe().unwrap();
    let mut program = on(&shelf, &url, &["events", "--json", "--follow"]);
    program.stdout(writer);
    let running = std::thread::spawn(move || program.status());
    let mut lines = BufReader::new(reader).lines();
    let mut next = || -> Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    assert_eq!(next()["seq"], 1);
    for seq in 2..=5 {
        if seq == 4 {
            cluster.crash_and_restart();
        }
        run(&shelf, &url, &["note", &id, &format!("note {seq}")]).well();
        assert_eq!(next()["seq"], seq);
    }
    drop(lines);
    assert_eq!(running.join().unwrap().unwrap().code(), Some(0));

    let copy = shelf.file("copy.db");
    let ran = run(&shelf, &url, &["store", "backup", text(&copy)]);
    assert_eq!((ran.code, copy.exists()), (Some(1), false));
    assert!(ran.stderr.contains("\n  try: pg_dump copies the whole database"), "{}", ran.stderr);
    assert_eq!(run(&shelf, &url, &["verify", "--json"]).json()["ok"], true);
    let info = run(&shelf, &url, &["store", "info", "--json"]).json();
    assert_eq!(info["keys"].as_array().unwrap().len(), 1);
}

/// Everybody can read a command line, and a run inherits an environment.
#[test]
fn the_password_of_a_store_is_in_no_command_line_and_in_no_environment() {
    const PASSWORD: &str = "hunter2hunter2";
    let (cluster, shelf) = (Cluster::start(), Shelf::empty());
    let public = cluster.database("board");
    let url = public.replace("user=postgres", &format!("user=postgres&password={PASSWORD}"));
    let script = "echo \"store=$CALLBOARD_STORE\"; exec sleep 600";
    let mut program = on(&shelf, &url, &["run", "--detach", "--", "sh", "-c", script]);
    program
        .env("CALLBOARD_WEBHOOK_URL", "http://127.0.0.1:9/")
        .env("CALLBOARD_WEBHOOK_SECRET", "whsec_czNjcjN0");
    let id = finish(&mut program).well().trim_end().to_owned();
    let view = run(&shelf, &url, &["inspect", &id, "--json"]).json();
    let said = crate::harness::runs::until("its output", || {
        Some(run(&shelf, &url, &["logs", &id]).stdout).filter(|said| said.ends_with('\n'))
    });
    let secrets = [PASSWORD, "whsec_czNjcjN0"];
    let mut leaks = Vec::new();
    for (process, pid) in [("supervisor", &view["facts"]["supervisor"]["pid"]), ("command", &view["pid"])] {
        let pid = pid.as_u64().unwrap();
        for file in ["cmdline", "environ"] {
            // Of a supervisor that lets nobody look, there is nothing to see.
            let bytes = std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let shown = secrets.iter().filter(|secret| text.contains(**secret));
            leaks.extend(shown.map(|secret| format!("{secret} in {file} of the {process}")));
        }
    }
    run(&shelf, &url, &["stop", "--now", &id]);
    assert_eq!(leaks, Vec::<String>::new());
    // Where the store is, a run may know.
    assert_eq!(said, format!("store={public}\n"));
}

/// Nobody can send a signal to a supervisor on another host.
#[test]
fn a_wish_that_came_without_a_signal_is_found_in_a_shared_store() {
    let (cluster, shelf) = (Cluster::start(), Shelf::empty());
    let url = cluster.database("board");
    let run = |shelf: &Shelf, url: &str, arguments: &[&str]| {
        finish(on(shelf, url, arguments).env("CALLBOARD_KEY", shelf.file("key")))
    };
    let token = format!("ABORTING={}", text(&shelf.file("wish")));
    let command = ["run", "--detach", "--", "env", &token, "sh", "-c", "setsid sleep 600 & exec sleep 600"];
    let id = run(&shelf, &url, &command).well().trim_end().to_owned();
    let key_path = Some(shelf.file("key"));
    let ledger = Ledger::connect(&url, Options { key_path, ..Options::default() }).unwrap();
    let wish = Facts::none().and(fact::CAUSE, "sibling").and(fact::BY, "bob").and(fact::MESSAGE, "elsewhere");
    let data = Facts::none().and(fact::STOP_WISH, wish);
    let order = Order::Observe(Observe { reasons: Vec::new(), data });
    let actor = Actor::new(ActorClass::Operator, "bob");
    let command = callboard_kernel::Command::new(id.parse().unwrap(), order);
    ledger.append(Request { command, actor, now: at(0), cause: None }).unwrap();
    run(&shelf, &url, &["wait", &id, "--timeout", "120s"]);
    let view = run(&shelf, &url, &["inspect", &id, "--json"]).json();
    assert_eq!(view["state"]["reasons"][0]["code"], "run.cancelled.sibling", "{view}");
    assert!(carriers(&token).is_empty());
}
