//! A store whose files are taken away or exchanged while it is open: nothing is acknowledged that went to another file than
//! the one at its path, and nothing that was acknowledged before is lost.

#![cfg(test)]

#[path = "common/requests.rs"]
mod requests;

use std::fs::{copy, metadata, read_dir, remove_file, rename};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use callboard_ledger::{AppendError, Fault, Ledger, NotReady, OpenError, Options, ReadError};
use requests::{create, observe, request, session, whole_run};

fn open(path: &Path) -> Ledger {
    Ledger::open(path, Options::default()).unwrap_or_else(|error| panic!("{error:?}"))
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn append(ledger: &Ledger, number: u128) -> Result<u64, AppendError> {
    ledger.append(request(session(number), 0, create("a"))).map(|receipt| receipt.record.seq)
}

/// A store with a run in it.
fn store() -> (tempfile::TempDir, PathBuf, Ledger) {
    let directory = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
    let path = directory.path().join("store.db");
    let ledger = open(&path);
    for order in whole_run() {
        ledger.append(request(session(1), 0, order)).unwrap_or_else(|error| panic!("{error:?}"));
    }
    (directory, path, ledger)
}

#[track_caller]
fn is_stopped(ledger: &Ledger) {
    for number in 100..103 {
        let answer = append(ledger, number);
        assert!(matches!(answer, Err(AppendError::Fault(Fault::Replaced(_)))), "{answer:?}");
    }
    let head = ledger.head();
    assert!(matches!(head, Err(ReadError::Replaced(_))), "{head:?}");
    let entity = ledger.entity(session(1));
    assert!(matches!(entity, Err(ReadError::Replaced(_))), "{entity:?}");
    let ready = ledger.ready().unwrap_err();
    assert!(matches!(ready, NotReady::Replaced(_)), "{ready}");
}

#[test]
fn a_store_whose_file_is_removed_takes_nothing_more_and_makes_no_other() {
    let (_directory, path, ledger) = store();
    ledger.ready().unwrap();
    remove_file(&path).unwrap();
    is_stopped(&ledger);
    assert!(!path.exists(), "a reader or the writer made an empty store");
    let other = Ledger::open(&path, Options::default()).err();
    assert!(matches!(other, Some(OpenError::Replaced { .. })), "{other:?}");
    assert!(!path.exists(), "another process made an empty store");
}

#[test]
fn a_backup_that_is_moved_in_the_place_of_an_open_store_is_neither_written_nor_read() {
    let (directory, path, ledger) = store();
    let backup = directory.path().join("backup.db");
    ledger.backup(&backup).unwrap();
    let acknowledged: Vec<u64> = (10..20).map(|number| append(&ledger, number).unwrap()).collect();
    let before = directory.path().join("before.db");
    rename(&path, &before).unwrap();
    rename(&backup, &path).unwrap();
    is_stopped(&ledger);
    // Whoever comes now would read the backup together with the WAL of the other file.
    let other = Ledger::open(&path, Options::default()).err();
    assert!(matches!(other, Some(OpenError::Replaced { .. })), "{other:?}");
    drop(ledger);
    let restored = open(&path);
    assert_eq!(restored.head().unwrap(), acknowledged[0] - 1, "it is the backup, untouched");
    let doubt = restored.doubt().unwrap_or_default();
    assert!(doubt.contains("it was sealed up to record"), "what is lost is told of: {doubt:?}");
    restored.accept().unwrap();
    assert!(restored.verify().unwrap().ok);
    let before = open(&before);
    assert_eq!(Some(&before.head().unwrap()), acknowledged.last(), "the file that was open has all of it");
    assert!(before.verify().unwrap().ok);
}

#[test]
fn a_store_that_comes_back_is_written_again_and_holds_all_that_was_acknowledged() {
    let (directory, path, ledger) = store();
    let before = append(&ledger, 10).unwrap();
    let away = directory.path().join("away");
    std::fs::create_dir(&away).unwrap();
    for suffix in ["", "-wal", "-shm"] {
        rename(beside(&path, suffix), away.join(beside(Path::new("store.db"), suffix))).unwrap();
    }
    is_stopped(&ledger);
    for suffix in ["-wal", "-shm", ""] {
        rename(away.join(beside(Path::new("store.db"), suffix)), beside(&path, suffix)).unwrap();
    }
    assert_eq!(append(&ledger, 11).unwrap(), before + 1);
    ledger.ready().unwrap();
    drop(ledger);
    let again = open(&path);
    assert_eq!(again.head().unwrap(), before + 1);
    assert!(again.verify().unwrap().ok);
}

#[test]
fn a_wal_that_is_removed_stops_the_store_and_loses_nothing_that_was_acknowledged() {
    for suffixes in [&["-wal"][..], &["-wal", "-shm"], &["-shm"]] {
        let (_directory, path, ledger) = store();
        for beat in 0..40 {
            ledger.append(request(session(1), 0, observe("beat", beat))).unwrap();
        }
        let head = append(&ledger, 10).unwrap();
        for suffix in suffixes {
            remove_file(beside(&path, suffix)).unwrap();
        }
        is_stopped(&ledger);
        drop(ledger);
        let again = open(&path);
        assert_eq!(again.head().unwrap(), head, "{suffixes:?}");
        assert!(again.verify().unwrap().ok);
        append(&again, 11).unwrap();
    }
}

#[test]
fn a_wal_that_a_killed_process_left_is_not_read_into_another_file() {
    let (directory, path, ledger) = store();
    let crashed = directory.path().join("crashed.db");
    // Copied while it is open, a store looks as a crash leaves it.
    for suffix in ["", "-wal"] {
        copy(beside(&path, suffix), beside(&crashed, suffix)).unwrap();
    }
    let number = |path: &Path| metadata(path).unwrap().ino();
    let note = |database: u64| {
        let text = format!("{database:020} {:020}\n", number(&beside(&crashed, "-wal")));
        std::fs::write(beside(&crashed, ".lock"), text).unwrap();
    };
    note(number(&crashed));
    let backup = directory.path().join("backup.db");
    ledger.backup(&backup).unwrap();
    rename(&backup, &crashed).unwrap();
    let refused = Ledger::open(&crashed, Options::default()).err();
    assert!(matches!(refused, Some(OpenError::Replaced { .. })), "{refused:?}");
    // The same file with its own WAL is what a crash leaves, and is opened.
    note(number(&crashed));
    assert!(open(&crashed).verify().unwrap().ok);
}

#[test]
fn a_store_that_must_be_there_is_not_made() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    let opened = Ledger::open(&path, Options { create: false, ..Options::default() }).err();
    assert!(matches!(opened, Some(OpenError::Missing { .. })), "{opened:?}");
    assert_eq!(read_dir(directory.path()).unwrap().count(), 0, "something was made");
}
