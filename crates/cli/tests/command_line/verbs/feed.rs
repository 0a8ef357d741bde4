//! `callboard events`: the log in order, from any place in it, and what is appended while somebody looks.

use std::io::{BufRead, BufReader};

use serde_json::Value;

use crate::harness::fleet::fleet;
use crate::harness::shelf::{Shelf, session};

fn numbers(text: &str) -> Vec<u64> {
    let number = |line: &str| serde_json::from_str::<Value>(line).ok()?["seq"].as_u64();
    text.lines().map(|line| number(line).unwrap_or_else(|| panic!("{line}"))).collect()
}

#[test]
fn records_come_in_order_from_where_one_left_off() {
    let shelf = fleet();
    let all = shelf.well(&["events", "--json"]);
    assert_eq!(numbers(&all), (1..=10).collect::<Vec<_>>());
    assert_eq!(numbers(&shelf.well(&["events", "--json", "--since", "8"])), [9, 10]);
    assert_eq!(numbers(&shelf.well(&["events", "--json", "--since", "3", "--limit", "2"])), [4, 5]);
    assert_eq!(numbers(&shelf.well(&["events", "--json", "--since", "10"])), [0; 0]);
    let own = shelf.well(&["events", &session(2).to_string(), "--json"]);
    assert_eq!(numbers(&own), [4, 5, 6]);
    assert!(own.lines().all(|line| all.contains(line)), "a record is the same wherever it is shown");
}

#[test]
fn a_record_has_what_other_programs_rely_on() {
    let shelf = fleet();
    let text = shelf.well(&["events", "--json", "--since", "5", "--limit", "1"]);
    let record: serde_json::Map<String, Value> = serde_json::from_str(&text).unwrap();
    let fields = [
        "seq", "at", "entity", "version", "type", "channel", "from", "to", "trigger", "actor", "reasons",
        "cause", "key", "data", "hash",
    ];
    assert!(fields.iter().all(|field| record.contains_key(*field)) && record.len() == fields.len(), "{text}");
    assert_eq!(record["reasons"][0]["evidence"][0]["detail"], "wait status: exit code 2, no signal");
}

#[test]
fn a_follower_sees_what_another_process_appends_and_ends_when_nobody_reads() {
    let shelf = Shelf::empty();
    let id = shelf.create(&["session"]);
    let (reader, writer) = std::io::pipe().unwrap();
    let mut program = shelf.command(&["events", "--json", "--follow"]);
    program.stdout(writer);
    let running = std::thread::spawn(move || program.status());
    let mut lines = BufReader::new(reader).lines();
    assert_eq!(numbers(&lines.next().unwrap().unwrap()), [1]);
    for seq in 2..=4 {
        shelf.well(&["note", &id, &format!("note {seq}")]);
        assert_eq!(numbers(&lines.next().unwrap().unwrap()), [seq]);
    }
    drop(lines);
    assert_eq!(running.join().unwrap().unwrap().code(), Some(0));
}

#[test]
fn a_follower_of_one_entity_with_a_limit_ends_by_itself() {
    let shelf = Shelf::empty();
    let (id, other) = (shelf.create(&["session"]), shelf.create(&["session"]));
    let (reader, writer) = std::io::pipe().unwrap();
    let mut program = shelf.command(&["events", &id, "--json", "--follow", "--limit", "2"]);
    program.stdout(writer);
    let running = std::thread::spawn(move || program.status());
    let mut lines = BufReader::new(reader).lines();
    assert_eq!(numbers(&lines.next().unwrap().unwrap()), [1]);
    shelf.well(&["note", &other, "not this one"]);
    shelf.well(&["note", &id, "this one"]);
    assert_eq!(numbers(&lines.next().unwrap().unwrap()), [4]);
    assert_eq!(running.join().unwrap().unwrap().code(), Some(0));
}
