//! A store that is a file, read where nothing can be written, and by nobody who writes.

#![cfg(test)]

#[path = "common/requests.rs"]
mod requests;

use std::path::{Path, PathBuf};

use callboard_ledger::{Ledger, OpenError, Options};
use requests::{create, observe, request, session, whole_run};
use rusqlite::Connection;
use tempfile::TempDir;

/// A database that was closed well, alone in its directory.
fn copied() -> (TempDir, PathBuf) {
    let place = tempfile::tempdir().unwrap();
    let (made, copied) = (place.path().join("made.db"), place.path().join("there"));
    let ledger = Ledger::open(&made, Options::default()).unwrap();
    for order in whole_run() {
        ledger.append(request(session(1), 0, order)).unwrap();
    }
    drop(ledger);
    std::fs::create_dir(&copied).unwrap();
    let path = copied.join("a board?#%41.db");
    std::fs::copy(made, &path).unwrap();
    (place, path)
}

fn read(path: &Path) -> Result<Ledger, OpenError> {
    Ledger::open_reader(path.to_str().unwrap(), &Options::default())
}

fn files(path: &Path) -> Vec<String> {
    let listed = std::fs::read_dir(path.parent().unwrap()).unwrap();
    let mut names: Vec<_> =
        listed.map(|file| file.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    PathBuf::from(format!("{}{suffix}", path.display()))
}

#[test]
fn a_reader_leaves_no_lock_no_key_and_no_wal() {
    let (_place, path) = copied();
    let before = std::fs::read(&path).unwrap();
    let reader = read(&path).unwrap();
    assert!(reader.head().unwrap() == 3 && reader.verify().unwrap().ok);
    drop(reader);
    assert_eq!(files(&path), ["a board?#%41.db"]);
    assert!(std::fs::read(&path).unwrap() == before, "not a byte is changed");
}

/// A directory in the place of a file that SQLite wants to make: nobody can make it, root neither.
#[test]
fn a_store_is_read_where_nothing_can_be_made_beside_it() {
    let (_place, path) = copied();
    std::fs::create_dir(beside(&path, "-wal")).unwrap();
    let reader = read(&path).unwrap();
    assert!(reader.head().unwrap() == 3 && reader.verify().unwrap().ok);
    // Somebody who can write does so: what is read next is not what was there, and is not answered wrongly.
    std::fs::remove_dir(beside(&path, "-wal")).unwrap();
    let ledger = Ledger::open(&path, Options::default()).unwrap();
    ledger.append(request(session(1), 0, observe("beats", 1))).unwrap();
    assert!(reader.head().is_err(), "the record is in the WAL, which this reader does not read");
    assert_eq!(read(&path).unwrap().head().unwrap(), 4);
}

#[test]
fn records_in_a_wal_that_cannot_be_read_are_not_passed_over() {
    let (_place, path) = copied();
    let ledger = Ledger::open(&path, Options::default()).unwrap();
    ledger.append(request(session(2), 0, create("b"))).unwrap();
    // As after a crash: the WAL is left with a record in it, and its index is gone.
    let other = path.with_file_name("crashed.db");
    std::fs::copy(&path, &other).unwrap();
    std::fs::copy(beside(&path, "-wal"), beside(&other, "-wal")).unwrap();
    drop(ledger);
    assert_eq!(read(&other).unwrap().head().unwrap(), 4, "it is read with its WAL");
    std::fs::remove_file(beside(&other, "-shm")).ok();
    std::os::unix::fs::symlink("nowhere", beside(&other, "-shm")).unwrap();
    let refused = read(&other).err();
    assert!(matches!(refused, Some(OpenError::WalOutOfReach { .. })), "{refused:?}");
}

#[test]
fn an_older_store_and_a_file_that_is_none_are_left_as_they_are() {
    let (_place, path) = copied();
    let number = |format: i64| {
        let connection = Connection::open(&path).unwrap();
        connection.pragma_update(None, "user_version", format).unwrap();
    };
    number(2);
    let older = read(&path).err();
    assert!(matches!(older, Some(OpenError::Older { found: 2, .. })), "{older:?}");
    number(99);
    assert!(matches!(read(&path).err(), Some(OpenError::Newer { found: 99, .. })));
    let empty = path.with_file_name("empty.db");
    std::fs::write(&empty, b"").unwrap();
    assert!(matches!(read(&empty).err(), Some(OpenError::Missing { .. })));
    assert_eq!(std::fs::read(&empty).unwrap(), b"");
    std::fs::write(&empty, [7; 4096]).unwrap();
    assert!(matches!(read(&empty).err(), Some(OpenError::Database { .. })));
}
