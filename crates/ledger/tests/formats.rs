//! Stores of other programs: those of every format so far open for ever, and those that know fewer or more legal edges
//! are brought up to date or left alone.

#[path = "common/requests.rs"]
mod requests;

use std::path::{Path, PathBuf};

use callboard_ledger::{Ledger, Listing, Options, Page, RecordScope};
use callboard_lifecycle::session::SessionState;
use requests::{create, go, observe, request, session, whole_run};
use rusqlite::Connection;

fn open(path: &Path) -> Ledger {
    match Ledger::open(path, Options::default()) {
        Ok(ledger) => ledger,
        Err(error) => panic!("{error:?}"),
    }
}

/// Changes a store the way an older or a newer program would have made it.
fn change(path: &Path, sql: &str) {
    let done = Connection::open(path).and_then(|store| store.execute_batch(sql));
    if let Err(error) = done {
        panic!("{sql}: {error}");
    }
}

fn ask(path: &Path, sql: &str) -> i64 {
    let answer = Connection::open(path).and_then(|store| store.query_row(sql, [], |row| row.get(0)));
    match answer {
        Ok(answer) => answer,
        Err(error) => panic!("{sql}: {error}"),
    }
}

/// As a program left it that did not know how a session starts.
const OLDER: &str = "DROP TRIGGER legal_is_not_deleted;
    DELETE FROM legal WHERE kind = 'session' AND via = 'spawned';
    CREATE TRIGGER legal_is_not_deleted BEFORE DELETE ON legal
    BEGIN SELECT RAISE(ABORT, 'callboard: legal edges are reserved for ever'); END;
    UPDATE meta SET edges = zeroblob(32);";

#[test]
fn a_store_of_every_format_opens_and_goes_on() {
    let stores = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stores");
    let mut formats: Vec<PathBuf> =
        std::fs::read_dir(stores).unwrap().map(|entry| entry.unwrap().path()).collect();
    formats.sort();
    assert!(!formats.is_empty());
    for format in formats {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store.db");
        std::fs::copy(&format, &path).unwrap();
        let ledger = open(&path);
        let report = ledger.verify().unwrap();
        assert!(
            report.ok && report.records == 264 && report.checkpoints == 2 && report.unsealed == 0,
            "{format:?}: {report:?}"
        );
        let everything = Listing { ended: true, ..Listing::default() };
        let stored = ledger.entities(everything).unwrap();
        assert_eq!((stored.len(), ledger.entities(Listing::default()).unwrap().len()), (9, 3), "{format:?}");
        ledger.rebuild().unwrap();
        assert_eq!(ledger.entities(everything).unwrap(), stored, "{format:?}");
        for order in whole_run() {
            ledger.append(request(session(1), 0, order)).unwrap();
        }
        let hour = std::time::Duration::from_hours(1);
        assert!(ledger.take_lease("services", "host/1", hour).unwrap().granted().is_some());
        assert!(ledger.verify().unwrap().ok, "{format:?}");
    }
}

#[test]
fn edges_that_a_newer_program_added_reach_a_store_that_is_there() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    open(&path).append(request(session(1), 0, create("a"))).unwrap();
    change(&path, OLDER);
    let ledger = open(&path);
    ledger.append(request(session(1), 1, go(SessionState::Running, "run.started.ok"))).unwrap();
    assert_eq!(ask(&path, "SELECT edges <> zeroblob(32) FROM meta"), 1);
}

#[test]
fn many_that_open_an_older_store_at_once_all_get_the_edges() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    drop(open(&path));
    let edges = ask(&path, "SELECT count(*) FROM legal");
    change(&path, OLDER);
    assert!(ask(&path, "SELECT count(*) FROM legal") < edges);
    std::thread::scope(|scope| {
        for number in 0..8 {
            let path = &path;
            scope.spawn(move || {
                let ledger = open(path);
                for order in whole_run() {
                    ledger.append(request(session(number), 0, order)).unwrap();
                }
            });
        }
    });
    assert_eq!(ask(&path, "SELECT count(*) FROM legal"), edges);
    assert_eq!(open(&path).records(Page { after: 0, limit: 99, scope: RecordScope::All }).unwrap().len(), 24);
}

#[test]
fn a_store_that_knows_more_edges_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    drop(open(&path));
    change(
        &path,
        "INSERT INTO legal VALUES ('session', 'running', 'evaporated', 'vapour');
         UPDATE meta SET edges = zeroblob(32)",
    );
    let ledger = open(&path);
    ledger.append(request(session(1), 0, create("a"))).unwrap();
    ledger.append(request(session(1), 1, observe("beats", 1))).unwrap();
    assert_eq!(ask(&path, "SELECT count(*) FROM legal WHERE to_state = 'vapour'"), 1);
    assert_eq!(ask(&path, "SELECT edges = zeroblob(32) FROM meta"), 1, "it is the newer program's digest");
}
