//! Export and import: the same log again, byte for byte, or a refusal with the number of the line.

use callboard_kernel::{Command, Facts, Moment, Observe, Order};
use callboard_ledger::{Page, Record, RecordScope, Request};
use callboard_lifecycle::ActorClass;
use serde_json::json;

use crate::harness::driver::finish;
use crate::harness::fleet::fleet;
use crate::harness::shelf::{Shelf, at, session, text};

/// A record of a type that this program does not know, which continues the first run of the fleet.
fn newer(shelf: &Shelf) -> Record {
    let page = Page { after: 0, limit: usize::MAX, scope: RecordScope::Entity(session(1)) };
    let Ok(Some(last)) = shelf.ledger().records(page).map(|mut records| records.pop()) else {
        panic!("the run has records")
    };
    let mut record = Record {
        seq: 11,
        version: last.version + 1,
        at: at(600),
        event_type: "weighed".to_owned(),
        via: "observed".to_owned(),
        from_state: last.to_state.clone(),
        body: r#"{"novel": {"x": [1,  2]}, "data": {"n": 1}}"#.to_owned(),
        ..last.clone()
    };
    record.hash = record.hash_after(last.hash, &mut Vec::new());
    record
}

fn put(shelf: &Shelf, name: &str, content: &str) -> String {
    let file = shelf.file(name);
    if let Err(error) = std::fs::write(&file, content) {
        panic!("{error}");
    }
    text(&file).to_owned()
}

/// The records of an export, without the seals over them: each store seals for itself.
fn exported(shelf: &Shelf, options: &[&str]) -> String {
    let lines = shelf.well(&[&["export"], options].concat());
    lines
        .lines()
        .filter(|line| !line.starts_with("{\"checkpoint\":"))
        .map(|line| format!("{line}\n"))
        .collect()
}

#[test]
fn export_import_export_is_the_same_bytes_with_a_newer_record_in_between() {
    let first = fleet();
    let newer = newer(&first);
    let sent = exported(&first, &[]);
    assert_eq!(sent, first.well(&["events", "--json"]), "an export is what the feed shows");
    let whole = sent
        + &newer.line().unwrap()
        + "\n"
        + r#"{"legacy":{"kind":"session","title":null,"data":{"b":1}}}"#
        + "\n";

    let second = Shelf::empty();
    let taken = second.json(&["import", &put(&second, "in.jsonl", &whole), "--json"]);
    assert_eq!(
        taken,
        json!({"records": 11, "legacy": 1, "legacy_known": 0, "head": 11, "sealed": 0, "keys": []})
    );
    assert_eq!(exported(&second, &[]), whole);
    let file = second.file("out.jsonl");
    assert_eq!(second.run(&["export", text(&file)]).stderr, "11 records and 1 legacy row\n");
    let written = std::fs::read_to_string(&file).unwrap();
    assert!(written.starts_with("{\"checkpoint\":") && written.ends_with(&whole), "the seal comes first");
    assert_eq!(second.run(&["export", text(&file)]).code, Some(1), "nothing is overwritten");

    let third = Shelf::empty();
    third.well(&["import", text(&file)]);
    assert_eq!(exported(&third, &[]), whole);
}

#[test]
fn a_newer_record_is_kept_told_and_built_upon() {
    let first = fleet();
    let whole = exported(&first, &[]) + &newer(&first).line().unwrap() + "\n";
    let shelf = Shelf::empty();
    shelf.well(&["import", &put(&shelf, "in.jsonl", &whole)]);
    let id = session(1).to_string();
    assert_eq!(shelf.json(&["verify", "--json"])["ok"], true);
    let why = shelf.well(&["why", &id]);
    assert!(why.contains("a \"weighed\" record of a newer callboard, kept unread"), "{why}");
    assert!(shelf.well(&["events"]).contains("weighed  written by a newer callboard, kept unread"));
    let view = shelf.json(&["inspect", &id, "--json"]);
    assert_eq!((&view["version"], &view["chain"]), (&json!(4), &json!("Completed")));

    let record = shelf.json(&["note", &id, "and on it goes", "--json"]);
    assert_eq!((&record["seq"], &record["version"]), (&json!(12), &json!(5)));
    shelf.well(&["store", "rebuild"]);
    assert_eq!(shelf.json(&["verify", "--json"])["ok"], true);
    assert_eq!(shelf.json(&["inspect", &id, "--json", "--as-of", "11"])["version"], 4);
    assert_eq!(
        shelf.json(&["ps", "--all", "--json", "--as-of", "11"])["items"].as_array().map(Vec::len),
        Some(5)
    );
}

#[test]
fn a_file_that_continues_a_store_is_taken_and_others_are_not() {
    let (shelf, behind) = (fleet(), Shelf::empty());
    behind.well(&["import", &put(&behind, "begin.jsonl", &exported(&shelf, &["--until", "7"]))]);
    let rest = put(&behind, "rest.jsonl", &exported(&shelf, &["--since", "7"]));
    let gap = put(&behind, "gap.jsonl", &exported(&shelf, &["--since", "8"]));
    let ran = behind.run(&["import", &gap]);
    let expected = format!(
        "error: {gap} is not imported\n  because: line 1 cannot be taken: it is record 9, and the log ends at 7\n  \
         try: nothing was changed; export it again where it comes from\n"
    );
    assert_eq!((ran.code, ran.stderr), (Some(1), expected));
    behind.well(&["import", &rest]);
    assert_eq!(exported(&behind, &[]), exported(&shelf, &[]));
    assert_eq!(behind.run(&["import", &rest]).code, Some(1), "twice is not a continuation");
    assert_eq!(behind.json(&["verify", "--json"])["ok"], true);
    let view = |shelf: &Shelf| shelf.json(&["ps", "--all", "--json", "--at", "2025-03-01T12:10:00Z"]);
    assert_eq!(view(&behind), view(&shelf));
}

#[test]
fn a_file_that_was_changed_is_refused_with_the_number_of_the_line() {
    let shelf = fleet();
    let lines: Vec<String> = exported(&shelf, &[]).lines().map(str::to_owned).collect();
    let with = |at: usize, line: &str| {
        let mut changed = lines.clone();
        changed[at] = line.to_owned();
        changed.join("\n") + "\n"
    };
    let mut swapped = lines.clone();
    swapped.swap(3, 4);
    for (content, number, problem) in [
        (with(5, &lines[5].replace("exited with 2", "exited with 0")), 6, "do not match its hash"),
        (
            with(2, &lines[2].replace("\"to\":\"completed\"", "\"to\":\"cancelled\"")),
            3,
            "do not match its hash",
        ),
        (
            with(2, &lines[2].replace("\"trigger\":\"exited_clean\"", "\"trigger\":\"reaped\"")),
            3,
            "do not match its hash",
        ),
        (with(6, "{\"seq\":7"), 7, "EOF while parsing an object, at column 8"),
        (with(6, "[]"), 7, "it is not an object"),
        (with(6, "{}"), 7, "missing field `seq`"),
        (with(1, ""), 3, "it is record 3, and the log ends at 1"),
        (swapped.join("\n"), 4, "it is record 5, and the log ends at 3"),
        (with(0, &lines[0].replace("ses_", "tsk_")), 1, "is not the id of a session"),
        (with(0, "{\"legacy\":{\"kind\":\"x\",\"data\":[1]}}"), 1, "not an object"),
    ] {
        let fresh = Shelf::empty();
        let ran = fresh.run(&["import", &put(&fresh, "bad.jsonl", &content)]);
        assert_eq!(ran.code, Some(1), "{problem}");
        assert!(ran.stderr.contains(&format!("because: line {number} cannot be taken: ")), "{}", ran.stderr);
        assert!(ran.stderr.contains(problem), "{problem}: {}", ran.stderr);
        assert_eq!(fresh.json(&["store", "info", "--json"])["records"], 0, "all or nothing");
        assert_eq!(fresh.json(&["store", "info", "--json"])["entities"], 0, "all or nothing");
    }
}

#[test]
fn an_illegal_edge_is_refused_though_its_hash_is_right() {
    let shelf = fleet();
    let sent = exported(&shelf, &[]);
    let mut forged = newer(&shelf);
    forged.event_type = "transitioned".to_owned();
    forged.via = "spawned".to_owned();
    forged.to_state = "running".to_owned();
    forged.body = String::new();
    let before = shelf.ledger().entity(session(1)).unwrap().unwrap().head;
    forged.hash = forged.hash_after(before, &mut Vec::new());
    let fresh = Shelf::empty();
    let ran = fresh.run(&["import", &put(&fresh, "f.jsonl", &(sent + &forged.line().unwrap()))]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr.contains("line 11 cannot be taken: ") && ran.stderr.contains("ends are final"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_reason_of_a_newer_program_is_refused_and_named() {
    let shelf = fleet();
    let sent = exported(&shelf, &[]);
    let mut forged = newer(&shelf);
    forged.event_type = "observed".to_owned();
    forged.body = r#"{"reasons":[{"code":"run.failed.by_moonlight","message":"m"}]}"#.to_owned();
    let before = shelf.ledger().entity(session(1)).unwrap().unwrap().head;
    forged.hash = forged.hash_after(before, &mut Vec::new());
    let fresh = Shelf::empty();
    let ran = fresh.run(&["import", &put(&fresh, "f.jsonl", &(sent + &forged.line().unwrap()))]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr.contains("line 11 cannot be taken: ") && ran.stderr.contains("by_moonlight"),
        "{}",
        ran.stderr
    );
}

#[test]
fn rows_without_a_status_are_counted_beside_the_list_and_nowhere_else() {
    let shelf = fleet();
    let row = r#"{"legacy":{"kind":"session","title":"before the flood","data":{"old_id":7}}}"#;
    let rows = format!("{row}\n\n{row}\n{}\n", r#"{"legacy":{"kind":"galley"}}"#);
    let file = put(&shelf, "rows.jsonl", &rows);
    let taken = shelf.json(&["import", &file, "--json"]);
    assert_eq!(
        taken,
        json!({"records": 0, "legacy": 3, "legacy_known": 0, "head": 10, "sealed": 0, "keys": []})
    );
    assert_eq!(
        shelf.json(&["import", &file, "--json"])["legacy_known"],
        3,
        "the same file twice is one import"
    );
    let document = shelf.json(&["ps", "--all", "--json"]);
    assert_eq!((&document["legacy"], document["items"].as_array().map(Vec::len)), (&json!(3), Some(5)));
    let told = shelf.well(&["ps", "--width", "80"]);
    assert!(told.ends_with("and 3 rows from before there were states, counted nowhere\n"), "{told}");
    let info = shelf.json(&["store", "info", "--json"]);
    assert_eq!((&info["legacy"], &info["entities"], &info["records"]), (&json!(3), &json!(5), &json!(10)));
    let sent = exported(&shelf, &[]);
    assert!(
        sent.ends_with(&format!(
            "{row}\n{row}\n{}\n",
            r#"{"legacy":{"kind":"galley","title":null,"data":{}}}"#
        ))
    );
    assert_eq!(exported(&shelf, &["--since", "0", "--until", "10"]).lines().count(), 10, "a part has none");
}

#[test]
fn a_large_import_is_signed_and_read_from_a_pipe() {
    let shelf = fleet();
    let ledger = shelf.ledger();
    let tickets: Vec<_> = (0..300_i64)
        .map(|number| {
            let data = Facts::none().with("beat", number).with("odd", "quote \" line\nbreak \u{1f3ad}");
            let order = Order::Observe(Observe { reasons: vec![], data });
            let actor = callboard_kernel::Actor::new(ActorClass::Supervisor, "host-a/1");
            let now = Moment::from_micros(at(700).as_micros() + number);
            ledger.submit(Request {
                command: Command::new(session(3), order),
                actor,
                now,
                cause: Some("c\u{7f}".to_owned()),
            })
        })
        .collect();
    for ticket in tickets {
        ticket.wait().unwrap();
    }
    let exported = shelf.well(&["export"]);
    let seals = exported.lines().take_while(|line| line.starts_with("{\"checkpoint\":")).count();
    assert_eq!(exported.lines().count(), 310 + seals, "the seals come before the records");
    let fresh = Shelf::empty();
    let file = std::fs::File::open(put(&fresh, "in.jsonl", &exported)).unwrap();
    finish(fresh.command(&["import", "-"]).stdin(file)).well();
    let records = |text: &str| {
        text.lines()
            .filter(|line| !line.starts_with("{\"checkpoint\":"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(records(&fresh.well(&["export"])), records(&exported), "the next store signs for itself");
    let cut: Vec<&str> = exported.lines().take(200).collect();
    let signed = exported.replacen("\"signature\":\"", "\"signature\":\"00", 1).replacen("0000", "00", 1);
    for (content, problem) in [
        (cut.join("\n"), "the export was cut off: it ends at record "),
        (exported.replacen("\"root\":\"", "\"root\":\"f", 1), "a checkpoint has bad digits"),
        (signed, "checkpoint"),
    ] {
        let other = Shelf::empty();
        let ran = other.run(&["import", &put(&other, "bad.jsonl", &content)]);
        assert_eq!(ran.code, Some(1), "{problem}");
        assert!(ran.stderr.contains(problem), "{}", ran.stderr);
        assert_eq!(other.json(&["store", "info", "--json"])["records"], 0, "all or nothing");
    }
    let report = fresh.json(&["verify", "--json"]);
    assert_eq!(
        (&report["ok"], &report["records"], &report["checkpoints"]),
        (&json!(true), &json!(310), &json!(1))
    );
}

#[test]
fn a_file_that_is_not_there_is_exit_4() {
    let shelf = Shelf::empty();
    let ran = shelf.run(&["import", "no-such-file.jsonl"]);
    assert_eq!(ran.code, Some(4));
    assert!(
        ran.stderr.starts_with("error: no-such-file.jsonl cannot be read\n  because: No such file"),
        "{}",
        ran.stderr
    );
    assert!(!shelf.path().exists());
}
