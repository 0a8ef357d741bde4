//! `callboard store archive`: old records move to a file, everything that needs them reads it there, and a file that is
//! missing or changed is named.

use callboard_kernel::{Facts, Observe, Order};
use serde_json::json;

use crate::harness::fleet::fleet;
use crate::harness::shelf::{Shelf, record, session, text};

/// Ten records of the fleet, then a beat for each that makes more than two checkpoints.
fn long() -> Shelf {
    let shelf = fleet();
    let ledger = shelf.ledger();
    for beat in 0..600 {
        let seen = Observe { reasons: vec![], data: Facts::none().with("beat", beat) };
        record(&ledger, session(3), 700 + beat, Order::Observe(seen));
    }
    drop(ledger);
    shelf
}

fn archive(shelf: &Shelf, until: &str) -> serde_json::Value {
    let directory = shelf.file("old");
    if let Err(error) = std::fs::create_dir_all(&directory) {
        panic!("{error}");
    }
    shelf.json(&["store", "archive", "--until", until, "--to", text(&directory), "--json"])
}

/// Everything that can be asked for, of every moment.
fn answers(shelf: &Shelf) -> Vec<String> {
    let id = session(2).to_string();
    [
        &["events", "--json"][..],
        &["events", &id, "--json"],
        &["events", "--json", "--since", "200", "--limit", "100"],
        &["ps", "--all", "--json", "--as-of", "9"],
        &["ps", "--all", "--json", "--at", "2025-03-01T12:03:00Z"],
        &["inspect", &id, "--json", "--as-of", "5"],
        &["why", &id],
        &["export", "--since", "100", "--until", "400"],
        &["export"],
    ]
    .iter()
    .map(|arguments| shelf.well(arguments))
    // The newest seal is another one after every commit.
    .map(|text| {
        text.lines().filter(|line| !line.starts_with("{\"checkpoint\":")).collect::<Vec<_>>().join("\n")
    })
    .collect()
}

#[test]
fn what_is_archived_leaves_the_store_and_everything_reads_as_before() {
    let shelf = long();
    let before = answers(&shelf);
    let lists = shelf.json(&["ps", "--all", "--json", "--at", "2025-03-01T13:00:00Z"]);
    for (until, last) in [("300", 256), ("600", 512)] {
        let archived = archive(&shelf, until);
        assert_eq!(archived["until"], last);
        assert!(archived["taken_out"].as_u64() > Some(200), "{archived}");
        assert_eq!(answers(&shelf), before);
        assert_eq!(shelf.json(&["ps", "--all", "--json", "--at", "2025-03-01T13:00:00Z"]), lists);
        let report = shelf.json(&["verify", "--json"]);
        assert_eq!((&report["ok"], &report["records"]), (&json!(true), &json!(610)), "{report}");
        shelf.well(&["store", "rebuild"]);
        assert_eq!(shelf.json(&["verify", "--json"])["ok"], true);
        assert_eq!(answers(&shelf), before);
    }
    let kept = "SELECT count(*) FROM ledger WHERE seq <= 512";
    let kept: i64 =
        rusqlite::Connection::open(shelf.path()).unwrap().query_row(kept, [], |row| row.get(0)).unwrap();
    assert!(kept < 12, "{kept} records of five entities are kept");
    let info = shelf.well(&["store", "info"]);
    assert!(info.contains("archived     records 1 to 256 in "), "{info}");
    assert_eq!(shelf.json(&["store", "info", "--json"])["segments"][1]["after"], 256);
    shelf.well(&["note", &session(1).to_string(), "and on it goes"]);

    let fresh = Shelf::empty();
    let whole = fresh.file("whole.jsonl");
    assert_eq!(shelf.run(&["export", text(&whole)]).code, Some(0));
    fresh.well(&["import", text(&whole)]);
    assert_eq!(fresh.json(&["verify", "--json"])["records"], 611);
}

#[test]
fn keys_of_archived_records_are_still_found() {
    let shelf = Shelf::empty();
    let id = shelf.create(&["session"]);
    let note = ["note", &id, "once", "--key", "k1", "--json"];
    let first = shelf.json(&note);
    let ledger = shelf.ledger();
    for beat in 0..300 {
        let seen = Observe { reasons: vec![], data: Facts::none().with("beat", beat) };
        record(&ledger, id.parse().unwrap(), 700 + beat, Order::Observe(seen));
    }
    drop(ledger);
    archive(&shelf, "300");
    assert_eq!(shelf.json(&note), first, "the record that is repeated comes from the segment");
    let other = shelf.run(&["note", &id, "twice", "--key", "k1"]);
    assert_eq!(other.code, Some(3), "{}", other.stderr);
    assert_eq!(shelf.json(&["verify", "--json"])["records"], 302);
}

#[test]
fn a_segment_that_is_missing_or_changed_is_named_and_can_be_brought_back() {
    let shelf = long();
    let path = archive(&shelf, "300")["path"].as_str().unwrap().to_owned();
    let moved = shelf.file("moved.jsonl");
    std::fs::rename(&path, &moved).unwrap();
    for arguments in [&["events"][..], &["ps", "--as-of", "5"], &["store", "rebuild"]] {
        let ran = shelf.run(arguments);
        assert_eq!(ran.code, Some(1), "{arguments:?}");
        assert!(ran.stderr.contains(&format!("records 1 to 256 are archived in {path}")), "{}", ran.stderr);
        assert!(ran.stderr.contains("\n  try: bring the file back"), "{}", ran.stderr);
    }
    shelf.well(&["ps"]);
    shelf.well(&["events", "--since", "256"]);
    let ran = shelf.run(&["verify", "--json"]);
    assert!(ran.code == Some(1) && ran.stdout.contains(&path), "{}", ran.stdout);

    shelf.well(&["store", "restore", text(&moved)]);
    assert_eq!(shelf.json(&["verify", "--json"])["ok"], true);
    let content = std::fs::read_to_string(&moved).unwrap();
    std::fs::write(&moved, content.replacen("exited with 2", "exited with 0", 1)).unwrap();
    let ran = shelf.run(&["verify", "--json"]);
    assert!(ran.stdout.contains("it was changed since it was written"), "{}", ran.stdout);
    assert_eq!(
        shelf.run(&["store", "restore", text(&moved)]).code,
        Some(1),
        "it is no segment of this store"
    );
}

#[test]
fn only_a_signed_part_of_a_sound_log_is_archived_and_a_shell_cannot_take_the_rest() {
    let shelf = long();
    let directory = shelf.file("");
    let to = text(&directory);
    for (arguments, code, problem) in [
        (&["--until", "200"][..], 1, "no checkpoint lies between record 0 and record 200"),
        (&["--before", "2025-03-01T12:00:00Z"], 1, "no checkpoint lies between record 0 and record 0"),
        (&[], 2, "required"),
        (&["--until", "300", "--before", "1d"], 2, "cannot be used with"),
    ] {
        let ran = shelf.run(&[&["store", "archive", "--to", to], arguments].concat());
        assert_eq!(ran.code, Some(code), "{}", ran.stderr);
        assert!(ran.stderr.contains(problem), "{}", ran.stderr);
    }
    archive(&shelf, "300");
    let store = rusqlite::Connection::open(shelf.path()).unwrap();
    for sql in [
        "DELETE FROM ledger",
        "DELETE FROM ledger WHERE seq > 256",
        "DELETE FROM ledger WHERE seq <= 256",
        "DELETE FROM segment",
        "UPDATE segment SET digest = zeroblob(32)",
        "DELETE FROM archived_key WHERE true",
        "INSERT INTO segment VALUES (600, 256, 0, zeroblob(32), 'x')",
    ] {
        let done = store.execute(sql, []);
        assert!(done.is_err() || sql.contains("archived_key") && done == Ok(0), "{sql}: {done:?}");
    }
    assert_eq!(shelf.json(&["verify", "--json"])["ok"], true);
    shelf.tamper("DROP TRIGGER ledger_is_not_updated; UPDATE ledger SET actor_id = 'eve' WHERE seq = 300");
    let ran = shelf.run(&["store", "archive", "--until", "600", "--to", to]);
    assert!(ran.code == Some(1) && ran.stderr.contains("the log does not hold"), "{}", ran.stderr);
}

#[test]
fn a_run_that_was_alive_in_a_backup_is_not_called_dead_in_the_store_that_is_made_of_it() {
    let shelf = Shelf::empty();
    let id = shelf.well(&["run", "--detach", "--", "sleep", "600"]).trim().to_owned();
    let backup = shelf.file("backup.db");
    shelf.well(&["store", "backup", text(&backup)]);
    shelf.well(&["stop", "--now", &id]);
    shelf.run(&["wait", &id]);
    assert_eq!(shelf.json(&["inspect", &id, "--json"])["state"]["lifecycle"], "cancelled");

    let fresh = Shelf::empty();
    let told = fresh.well(&["store", "restore", text(&backup)]);
    assert!(told.contains("1 run had not ended when the backup was made"), "{told}");
    let state = fresh.json(&["inspect", &id, "--json"])["state"].clone();
    assert_eq!((&state["lifecycle"], &state["health"]), (&json!("running"), &json!("unknown")), "{state}");
    fresh.well(&["reap"]);
    assert_eq!(fresh.json(&["inspect", &id, "--json"])["state"]["lifecycle"], "running");
    let by_hand =
        ["transition", &id, "aborted", "--reason", "run.aborted.operator", "--message", "it is over"];
    fresh.well(&by_hand);
}

#[test]
fn a_backup_holds_the_key_and_the_segments_and_becomes_a_store_again_only_where_none_is() {
    let shelf = long();
    archive(&shelf, "300");
    let (before, key) = (answers(&shelf), std::fs::read(shelf.file("store.db.key")).unwrap());
    let backup = shelf.file("backup.db");
    shelf.well(&["store", "backup", text(&backup)]);
    assert!(!shelf.file("backup.db.lock").exists(), "a backup looks as if it were open");
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&backup).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600, "others can read a backup");

    let fresh = Shelf::empty();
    let restore = ["store", "restore", text(&backup)];
    std::fs::write(fresh.file("store.db-wal"), "records").unwrap();
    let ran = fresh.run(&restore);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stderr.contains("holds records that are not in its database"), "{}", ran.stderr);
    std::fs::remove_file(fresh.file("store.db-wal")).unwrap();

    // What it was made from may be gone.
    std::fs::remove_dir_all(shelf.file("old")).unwrap();
    let told = fresh.well(&restore);
    assert!(told.contains("is restored from"), "{told}");
    // Behind what the backup holds, runs that had not ended are marked.
    let restored = answers(&fresh);
    for (after, before) in restored.iter().zip(&before) {
        assert!(after.starts_with(before.trim_end()), "{before}\n---\n{after}");
    }
    assert_eq!(fresh.json(&["verify", "--json"])["ok"], true);
    assert_eq!(std::fs::read(fresh.file("store.db.key")).unwrap(), key);
    assert_eq!(fresh.json(&["store", "info", "--json"])["keys"].as_array().map(Vec::len), Some(1));

    let ran = fresh.run(&restore);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("store.db is there already"), "{}", ran.stderr);
    let ledger = fresh.ledger();
    let ran = fresh.run(&restore);
    assert_eq!(ran.code, Some(5), "{}", ran.stderr);
    assert!(ran.stderr.contains("another process has the store"), "{}", ran.stderr);
    drop(ledger);
    assert_eq!(answers(&fresh), restored);
}
