//! A server whose store is taken away, exchanged or not writable: it says that it is not ready, and no transition that it
//! acknowledged from then on is missing.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use callboard_ledger::{Ledger, Options, Page, RecordScope};
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use serde_json::json;

use crate::faults::storm;
use crate::feed::born;
use crate::host::Host;

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Asks until the server says this about itself.
#[track_caller]
fn until_ready_says(host: &Host, wanted: &str) {
    let until = Instant::now() + Duration::from_secs(30);
    loop {
        let reply = host.send("GET", "/readyz", "", "");
        let is_ok = wanted == "ok";
        if reply.text().trim() == wanted {
            assert_eq!(reply.status, if is_ok { 200 } else { 503 });
            return;
        }
        assert!(Instant::now() < until, "it says {:?}, not {wanted:?}", reply.text());
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Writes as fast as it can while something is done to the store, until the server says that it is not ready; the records
/// that were acknowledged.
fn storm_until(host: &Host, ids: &[String], deed: impl FnOnce(), wanted: &str) -> Vec<(u64, String)> {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writers: Vec<_> = ids.iter().map(|id| scope.spawn(|| storm(host, id, &is_over))).collect();
        let head = || host.get("/api/v1/admin/info").ok()["records"].as_u64().unwrap_or(0);
        let (before, until) = (head(), Instant::now() + Duration::from_secs(30));
        while head() < before + 40 {
            assert!(Instant::now() < until, "nothing is recorded");
        }
        deed();
        until_ready_says(host, wanted);
        is_over.store(true, Ordering::Release);
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
    })
}

/// Waits until nothing that belongs to the store before is left in the WAL: the last of the server's connections has let go of it.
#[track_caller]
fn until_settled(store: &Path) {
    let until = Instant::now() + Duration::from_secs(30);
    while std::fs::metadata(beside(store, "-wal")).is_ok_and(|wal| wal.len() > 0) {
        assert!(Instant::now() < until, "the WAL of the store before is still there");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[track_caller]
fn holds(store: &Path, acknowledged: &[(u64, String)]) {
    let ledger = Ledger::open(store, Options::default()).unwrap_or_else(|error| panic!("{error:?}"));
    let page = Page { after: 0, limit: usize::MAX, scope: RecordScope::All };
    let records: HashMap<u64, String> =
        ledger.records(page).unwrap().iter().map(|record| (record.seq, record.hash.to_string())).collect();
    assert!(acknowledged.len() > 20, "only {} were acknowledged", acknowledged.len());
    for (seq, hash) in acknowledged {
        assert_eq!(records.get(seq), Some(hash), "record {seq} was acknowledged");
    }
    assert!(ledger.verify().unwrap().ok);
}

fn schedules(host: &Host) -> Vec<String> {
    let ledger = host.ledger();
    (1..=3).map(|number| born(&ledger, number).to_string()).collect()
}

const REPLACED: &str = "the store is not the one that was opened";

#[test]
fn a_store_that_is_moved_away_in_a_storm_and_back_has_every_transition_that_was_acknowledged() {
    let host = Host::start();
    let (ids, store) = (schedules(&host), host.store());
    until_ready_says(&host, "ok");
    let away = host.dir.path().join("away.db");
    let mut told = storm_until(&host, &ids, || std::fs::rename(&store, &away).unwrap(), REPLACED);
    let refused = host.post(&format!("/api/v1/entities/{}/notes", ids[0]), &json!({"text": "lost?"}));
    assert_eq!(refused.status, 503, "{}", refused.text());
    assert!(refused.text().contains("store_replaced"), "{}", refused.text());
    assert_eq!(host.get(&format!("/api/v1/entities/{}", ids[0])).status, 503, "a stale answer");
    assert!(!store.exists(), "the server made another store");
    std::fs::rename(&away, &store).unwrap();
    until_ready_says(&host, "ok");
    told.extend(storm_until(&host, &ids, || (), "ok"));
    holds(&store, &told);
}

#[test]
fn a_backup_that_is_moved_over_the_store_of_a_server_gets_no_record_and_the_file_before_has_all() {
    let mut host = Host::start();
    let (ids, store) = (schedules(&host), host.store());
    let (backup, kept) = (host.dir.path().join("backup.db"), host.dir.path().join("kept.db"));
    host.callboard(&["store", "backup", backup.to_str().unwrap()]);
    let inode = std::fs::hard_link(&store, &kept);
    inode.unwrap();
    let told = storm_until(&host, &ids, || std::fs::rename(&backup, &store).unwrap(), REPLACED);
    let listed = crate::host::callboard(&store, &["ps"]).output().unwrap();
    assert!(!listed.status.success(), "the backup was read together with the WAL of the store");
    until_settled(&store);
    host.server.kill().unwrap();
    host.server.wait().unwrap();
    holds(&kept, &told);
    // What was moved in is what it was, and a server goes on with it.
    host.restart();
    until_ready_says(&host, "ok");
    // It ends before what was sealed, which is told of until somebody accepts it.
    let ledger = host.ledger();
    ledger.accept().unwrap();
    assert!(ledger.verify().unwrap().ok);
}

#[test]
fn a_store_whose_files_are_removed_under_a_server_takes_nothing_more() {
    let host = Host::start();
    let (ids, store) = (schedules(&host), host.store());
    let remove = || {
        for suffix in ["", "-wal", "-shm"] {
            std::fs::remove_file(beside(&store, suffix)).unwrap();
        }
    };
    storm_until(&host, &ids, remove, REPLACED);
    let refused = host.post(&format!("/api/v1/entities/{}/notes", ids[0]), &json!({"text": "lost?"}));
    assert_eq!(refused.status, 503, "{}", refused.text());
    assert!(!store.exists(), "somebody made another store");
}

#[test]
fn a_disk_that_refuses_every_write_is_told_and_what_was_acknowledged_is_there() {
    // A write beyond the limit of a file is an error for a process that does not take the signal.
    let host = Host::start_without_signal("XFSZ");
    let (ids, store) = (schedules(&host), host.store());
    let pid = Pid::from_raw(i32::try_from(host.server.id()).unwrap());
    let before = getrlimit(Resource::Fsize);
    let limit =
        |bytes| prlimit(pid, Resource::Fsize, Rlimit { current: bytes, ..before }).map(|_| ()).unwrap();
    let mut told = storm_until(&host, &ids, || limit(Some(1024)), "the store cannot be written");
    assert_eq!(host.get(&format!("/api/v1/entities/{}", ids[0])).status, 200, "it still answers questions");
    limit(before.current);
    until_ready_says(&host, "ok");
    told.extend(storm_until(&host, &ids, || (), "ok"));
    drop(host.callboard(&["store", "check"]));
    holds(&store, &told);
}
