//! What a supervisor leaves that dies before its first record, and who removes it.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use callboard_supervisor::containment;
use serde_json::json;

use crate::harness::runs::{begin, detached, supervisor, until, view};
use crate::harness::shelf::Shelf;

const HOUR: u64 = 3600;

fn sure<T, E: std::fmt::Display>(done: Result<T, E>) -> T {
    done.unwrap_or_else(|error| panic!("{error}"))
}

/// The directories of runs that a store has.
fn directories(shelf: &Shelf) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(shelf.file("runs")).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

fn groups_of(id: &str) -> usize {
    containment::group_markers().iter().filter(|marker| marker.starts_with(id)).count()
}

/// Makes a directory look as if it had been changed so long ago.
#[expect(clippy::disallowed_methods, reason = "the age of a file is told by the real time")]
fn age(dir: &Path, seconds: u64) {
    let then = SystemTime::now() - Duration::from_secs(seconds);
    sure(File::open(dir).and_then(|dir| dir.set_modified(then)));
}

/// A run whose supervisor was killed while the store kept it waiting for its first record; its id and its directory.
fn stillborn(shelf: &Shelf, meanwhile: impl FnOnce(&Path)) -> (String, PathBuf) {
    let store = sure(rusqlite::Connection::open(shelf.path()));
    sure(store.execute_batch("BEGIN IMMEDIATE"));
    let before = directories(shelf);
    let mut child = begin(&mut shelf.command(&["run", "--", "sleep", "600"]));
    let dir = until("everything that is made before the record", || {
        directories(shelf).into_iter().find(|dir| !before.contains(dir) && dir.join("notify").exists())
    });
    meanwhile(&dir);
    sure(child.kill().and_then(|()| child.wait()));
    sure(store.execute_batch("ROLLBACK"));
    let id = dir.file_name().map(|name| name.to_string_lossy().into_owned());
    (id.unwrap_or_default(), dir)
}

#[test]
fn what_a_supervisor_left_that_died_before_its_first_record_is_removed_and_not_before_it_is_old() {
    let shelf = Shelf::empty();
    shelf.create(&["schedule"]);
    let (id, dir) = stillborn(&shelf, |dir| {
        age(dir, HOUR);
        let alive = shelf.json(&["reap", "--json"]);
        assert_eq!(alive["swept"], json!({"directories": 0, "groups": 0}), "its supervisor lives");
    });
    let has_group = groups_of(&id) > 0;
    age(&dir, 0);
    let young = shelf.json(&["reap", "--json"]);
    assert_eq!((&young["swept"]["directories"], dir.exists()), (&json!(0), true));
    age(&dir, HOUR);
    let swept = json!({"directories": 1, "groups": u32::from(has_group)});
    assert_eq!(shelf.json(&["reap", "--dry-run", "--json"])["swept"], swept);
    assert!(dir.exists());
    assert_eq!(shelf.json(&["reap", "--json"])["swept"], swept);
    assert!(!dir.exists() && groups_of(&id) == 0);
}

#[test]
fn output_without_a_record_and_directories_of_nobody_stay() {
    let shelf = Shelf::empty();
    shelf.create(&["schedule"]);
    let (_, with_output) = stillborn(&shelf, |dir| std::fs::write(dir.join("0.stdout"), "a result").unwrap());
    let (_, unsigned) = stillborn(&shelf, |dir| std::fs::remove_file(dir.join("supervisor")).unwrap());
    let (_, empty) = stillborn(&shelf, |_| ());
    for name in ["supervisor", "recipe.json", "notify"] {
        std::fs::remove_file(empty.join(name)).unwrap();
    }
    let (_, unwritten) = stillborn(&shelf, |_| ());
    for name in ["recipe.json", "notify"] {
        std::fs::remove_file(unwritten.join(name)).unwrap();
    }
    std::fs::write(unwritten.join("supervisor"), "").unwrap();
    let (_, foreign) = stillborn(&shelf, |_| ());
    let signature = std::fs::read_to_string(foreign.join("supervisor")).unwrap();
    let mut signature: serde_json::Value = serde_json::from_str(&signature).unwrap();
    for name in ["host", "machine", "boot"] {
        signature[name] = json!("elsewhere");
    }
    std::fs::write(foreign.join("supervisor"), signature.to_string()).unwrap();
    [&with_output, &unsigned, &empty, &unwritten, &foreign].into_iter().for_each(|dir| age(dir, HOUR));
    let swept = &shelf.json(&["reap", "--json"])["swept"]["directories"];
    assert_eq!(swept, 2, "the empty one, and the one with an empty signature");
    assert!(with_output.exists() && unsigned.exists() && foreign.exists());
    assert!(!empty.exists() && !unwritten.exists());
}

#[test]
fn a_run_that_could_not_begin_leaves_no_directory() {
    let shelf = Shelf::empty();
    shelf.create(&["schedule"]);
    let ran = shelf.run(&["run", "--contract", "/nonexistent/contract.yaml", "--", "true"]);
    assert_ne!(ran.code, Some(0));
    assert_eq!(directories(&shelf), [] as [PathBuf; 0]);
}

#[test]
fn the_empty_group_of_an_ended_run_is_removed_when_its_supervisor_is_gone_and_no_other_is() {
    let shelf = Shelf::empty();
    let alive = detached(&shelf, &["--", "sleep", "600"]);
    let ended = detached(&shelf, &["--", "true"]);
    until("its end", || (view(&shelf, &ended)["state"]["lifecycle"] == "completed").then_some(()));
    until("its supervisor to go", || {
        let pid = supervisor(&view(&shelf, &ended));
        (!Path::new(&format!("/proc/{pid}")).exists()).then_some(())
    });
    let containment = &view(&shelf, &alive)["facts"]["containment"];
    if containment["rung"] != "cgroup" {
        // Without control groups there is none to leave.
        shelf.well(&["stop", "--now", &alive]);
        return;
    }
    let group = Path::new(containment["detail"].as_str().unwrap()).to_owned();
    let beside = |id: &str| group.with_file_name(format!("callboard-{id}"));
    let foreign = beside("ses_01k7c3h2f4x8w6t5r3q1n0m9bz");
    for left in [&beside(&ended), &beside(&format!("{ended}-check")), &foreign] {
        std::fs::create_dir(left).unwrap();
    }
    let swept = shelf.json(&["reap", "--json"]);
    std::fs::remove_dir(&foreign).unwrap();
    assert_eq!(swept["swept"], json!({"directories": 0, "groups": 2}));
    assert!(group.exists() && !beside(&ended).exists());
    shelf.well(&["stop", "--now", &alive]);
}
