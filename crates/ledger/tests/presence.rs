//! Who has a store open: what a process left behind that did not close it is settled by the first one that comes, and
//! by nobody while others are there.

#[path = "common/requests.rs"]
mod requests;

use std::fs::{File, copy, metadata};
use std::path::{Path, PathBuf};
use std::time::Duration;

use callboard_ledger::{Ledger, OpenError, Options};
use requests::{observe, request, session, whole_run};

fn open(path: &Path) -> Ledger {
    match Ledger::open(path, Options::default()) {
        Ok(ledger) => ledger,
        Err(error) => panic!("{error:?}"),
    }
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn wal_bytes(path: &Path) -> u64 {
    metadata(beside(path, "-wal")).map_or(0, |file| file.len())
}

/// A store with many commits in its WAL.
fn busy(path: &Path) -> Ledger {
    let ledger = open(path);
    let beats = (0..48).map(|beat| observe("beat", beat));
    for order in whole_run().into_iter().chain(beats) {
        ledger.append(request(session(1), 0, order)).unwrap_or_else(|error| panic!("{error:?}"));
    }
    ledger
}

#[test]
fn what_a_crash_left_in_the_wal_is_settled_by_the_first_that_comes_and_only_by_it() {
    let directory = tempfile::tempdir().unwrap();
    let (alive, crashed) = (directory.path().join("alive.db"), directory.path().join("crashed.db"));
    let ledger = busy(&alive);
    // Copied while it is open, a store looks as a crash leaves it.
    for suffix in ["", "-wal"] {
        copy(beside(&alive, suffix), beside(&crashed, suffix)).unwrap();
    }
    let left = wal_bytes(&crashed);
    assert!(left > 100_000, "{left}");

    let first = open(&crashed);
    assert!(wal_bytes(&crashed) < left / 10, "what was there is in the database and the WAL begins anew");
    assert_eq!(first.head().unwrap(), 51);
    assert!(first.verify().unwrap().ok);

    let second = open(&alive);
    assert_eq!(wal_bytes(&alive), left, "a store that others have open is left alone");
    drop((ledger, second));
    assert_eq!(wal_bytes(&alive), 0);
}

#[test]
fn whoever_comes_while_another_settles_waits_and_not_for_ever() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    drop(open(&path));
    let lock = File::open(beside(&path, ".lock")).unwrap();
    lock.lock().unwrap();
    let impatient = Options { busy_wait: Duration::from_millis(50), ..Options::default() };
    match Ledger::open(&path, impatient) {
        Err(error @ OpenError::Database { .. }) => assert!(error.is_busy(), "{error:?}"),
        Err(error) => panic!("{error:?}"),
        Ok(_) => panic!("it did not wait"),
    }
    let waiting = std::thread::spawn(move || open(&path).head().unwrap());
    lock.unlock().unwrap();
    assert_eq!(waiting.join().unwrap(), 0);
}
