//! The file defends itself: what any program that opens it with SQL may not do.

#[path = "common/requests.rs"]
mod requests;

use callboard_ledger::{Ledger, Options};
use requests::{create, observe, request, session, whole_run};
use rusqlite::Connection;

/// Columns and the SQL of what stands in them instead.
type Changes<'a> = &'a [(&'a str, &'a str)];

/// Copies the newest record as the next one, with some columns changed.
fn forge(connection: &Connection, changes: Changes<'_>) -> Result<usize, rusqlite::Error> {
    let columns = [
        "seq",
        "entity",
        "version",
        "at",
        "kind",
        "type",
        "channel",
        "from_state",
        "via",
        "to_state",
        "actor_type",
        "actor_id",
        "key",
        "body",
        "hash",
    ];
    let values: Vec<&str> = columns
        .iter()
        .map(|column| match (changes.iter().find(|(name, _)| name == column), *column) {
            (Some((_, value)), _) => *value,
            (None, "seq") => "seq + 1",
            (None, "version") => "version + 1",
            (None, "from_state") => "to_state",
            (None, column) => column,
        })
        .collect();
    let sql = format!(
        "INSERT INTO ledger ({}) SELECT {} FROM ledger ORDER BY seq DESC LIMIT 1",
        columns.join(", "),
        values.join(", ")
    );
    connection.execute(&sql, [])
}

#[test]
fn an_illegal_edge_an_edit_a_deletion_and_a_gap_are_refused_for_every_client() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    let ledger = Ledger::open(&path, Options::default()).unwrap();
    for (second, order) in whole_run().into_iter().take(2).enumerate() {
        ledger.append(request(session(1), second as i64, order)).unwrap();
    }
    // A shell's connection: no pragma set, foreign keys not checked.
    let shell = Connection::open(&path).unwrap();
    let observed = ("type", "'observed'");
    let stays = ("via", "'observed'");
    let refused: [(&str, Changes<'_>, &str); 5] = [
        ("an illegal edge", &[("via", "'spawned'"), ("to_state", "'pending'")], "legal edges"),
        ("a state that does not exist", &[("to_state", "'finished'")], "legal edges"),
        ("a gap in the log", &[observed, stays, ("seq", "seq + 2")], "continue the log"),
        ("a gap in the versions", &[observed, stays, ("version", "version + 2")], "continue its entity"),
        ("another entity's past", &[observed, stays, ("entity", "zeroblob(16)")], "continue its entity"),
    ];
    for (what, changes, why) in refused {
        let error = forge(&shell, changes).unwrap_err().to_string();
        assert!(error.contains(why), "{what}: {error}");
    }
    for sql in [
        "UPDATE ledger SET body = ''",
        "DELETE FROM ledger",
        "UPDATE legal SET to_state = 'x'",
        "DELETE FROM legal",
    ] {
        assert!(shell.execute(sql, []).is_err(), "{sql}");
    }
    assert_eq!(
        forge(&shell, &[observed, stays]).unwrap(),
        1,
        "the forger's own honest record is let through"
    );
    let report = ledger.verify().unwrap();
    assert!(!report.ok && report.problems[0].seq == Some(3), "and found by its hash: {report:?}");
}

#[test]
fn a_record_written_beside_the_writer_is_seen_before_the_next_decision() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    let (one, other) =
        (Ledger::open(&path, Options::default()).unwrap(), Ledger::open(&path, Options::default()).unwrap());
    one.append(request(session(1), 0, create("a"))).unwrap();
    for beat in 0..50 {
        let ledger = if beat % 2 == 0 { &one } else { &other };
        assert_eq!(
            ledger.append(request(session(1), beat, observe("beat", beat))).unwrap().record.version,
            beat as u64 + 2
        );
    }
    assert!(one.verify().unwrap().ok);
}

#[test]
fn a_guard_that_was_taken_away_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("board.db");
    let ledger = Ledger::open(&path, Options::default()).unwrap();
    ledger.append(request(session(1), 0, create("a"))).unwrap();
    assert!(ledger.verify().unwrap().ok);
    let deeds = [
        ("DROP TRIGGER ledger_is_not_updated", "ledger_is_not_updated"),
        ("DROP TRIGGER legal_is_not_deleted; DELETE FROM legal WHERE via = 'spawned'", "pending -> running"),
        ("DROP INDEX ledger_key", "ledger_key"),
    ];
    for (deed, named) in deeds {
        Connection::open(&path).unwrap().execute_batch(deed).unwrap();
        let report = ledger.verify().unwrap();
        assert!(report.problems.iter().any(|found| found.problem.contains(named)), "{deed}: {report:?}");
    }
}

#[test]
fn a_reason_that_only_a_newer_program_knows_does_not_end_a_list() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("board.db");
    let ledger = Ledger::open(&path, Options::default()).unwrap();
    for order in whole_run() {
        ledger.append(request(session(1), 0, order)).unwrap();
    }
    ledger.append(request(session(2), 0, create("b"))).unwrap();
    let newer = "DROP TRIGGER ledger_is_not_updated; \
                 UPDATE ledger SET body = replace(body, 'run.completed.ok', 'run.completed.splendidly')";
    Connection::open(&path).unwrap().execute_batch(newer).unwrap();
    let listing = callboard_ledger::Listing { kind: None, ended: true, limit: 0 };
    let listed = Ledger::open(&path, Options::default()).unwrap().entities(listing).unwrap();
    assert_eq!(listed.len(), 2);
    assert!(listed.iter().any(|stored| stored.entity.reasons.is_empty() && stored.entity.ended_at.is_some()));
}
