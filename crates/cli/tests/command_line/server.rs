//! The same verbs on a PostgreSQL store: what is followed there, and what is done by other programs.

#[path = "../../../ledger/tests/common/cluster.rs"]
mod cluster;

use std::io::{BufRead, BufReader};

use cluster::Cluster;
use serde_json::Value;

use crate::driver::{Ran, command, finish};
use crate::shelf::{Shelf, text};

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
