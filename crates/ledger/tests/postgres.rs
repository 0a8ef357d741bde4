//! The PostgreSQL engine on a real server: what the database refuses by itself, and what holds while many write.
//!
//! One cluster serves many checks, each in a database of its own, because starting one costs more than a check.

#![cfg(test)]

#[path = "common/cluster.rs"]
mod cluster;
#[path = "common/requests.rs"]
mod requests;

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use callboard_kernel::RefusalCode;
use callboard_ledger::{
    AppendError, Fault, ImportError, Ledger, Listing, OpenError, Options, Page, Range, ReadError, Request,
    Scope,
};
use callboard_lifecycle::session::SessionState;
use cluster::Cluster;
use requests::{create, go, observe, request, session, whole_run};

const EVERYTHING: Listing = Listing { kind: None, ended: true, limit: 0 };

fn open(url: &str) -> Ledger {
    open_with(url, Options::default())
}

fn open_with(url: &str, options: Options) -> Ledger {
    match Ledger::connect(url, options) {
        Ok(ledger) => ledger,
        Err(error) => panic!("{url}: {error:?}"),
    }
}

fn after(after: u64) -> Page {
    Page { after, limit: usize::MAX, scope: Scope::All }
}

fn keyed(mut request: Request, key: &str) -> Request {
    request.command.key = Some(key.to_owned());
    request
}

#[test]
fn a_server_is_as_good_as_a_file() {
    let cluster = Cluster::start();
    the_database_refuses(&cluster);
    a_wake_up_is_sent(&cluster);
    keys_hold_across_handles_and_within_a_batch(&cluster);
    one_of_two_hosts_wins(&cluster);
    nobody_who_follows_misses_a_record(&cluster);
    the_views_can_be_rebuilt_while_others_write(&cluster);
    first_starts_do_not_collide(&cluster);
    a_newer_store_is_refused(&cluster);
    a_held_lock_is_waited_for_and_not_for_ever(&cluster);
    it_may_be_called_on_a_thread_of_another_runtime(&cluster);
    a_tampered_store_is_found_out(&cluster);
    what_was_exported_can_be_imported(&cluster);
}

/// A row as somebody would type it; the positive control shows that only what is wrong with it is refused.
fn insert(seq: u32, entity: u32, version: u32, edge: [&str; 3]) -> String {
    let [from, via, to] = edge;
    format!(
        "INSERT INTO ledger VALUES ({seq}, '00000000-0000-0000-0000-{entity:012}', {version}, 1, 'session', \
         'transitioned', 'audit', '{from}', '{via}', '{to}', 'person', 'ann', NULL, '', decode(repeat('00', 32), 'hex'))"
    )
}

fn the_database_refuses(cluster: &Cluster) {
    let ledger = open(&cluster.database("refuses"));
    for order in whole_run() {
        ledger.append(request(session(1), 0, order)).unwrap();
    }
    let refused = |sql: &str, why: &str| match cluster.psql("refuses", sql) {
        Ok(_) => panic!("{sql} was taken"),
        Err(error) => assert!(error.contains(why), "{sql}: {error}"),
    };
    let born = ["", "created", "pending"];
    refused(&insert(4, 2, 1, ["pending", "x", "nowhere"]), "ledger_kind_from_state_via_to_state_fkey");
    refused(&insert(4, 2, 1, ["", "created", "completed"]), "fkey");
    refused(&insert(5, 2, 1, born), "does not continue the log");
    refused(&insert(0, 2, 1, born), "does not continue the log");
    refused(&insert(3, 2, 1, born), "duplicate key");
    refused(&insert(4, 2, 2, born), "does not continue its entity");
    refused(&insert(4, 1, 4, ["pending", "observed", "pending"]), "does not continue its entity");
    refused(&insert(4, 1, 1, born), "duplicate key");
    refused(
        &format!("{}, {}", insert(4, 2, 1, born), &insert(6, 3, 1, born)[26..]),
        "does not continue the log",
    );
    refused("UPDATE ledger SET actor_id = 'eve' WHERE seq = 2", "append-only");
    refused("DELETE FROM ledger WHERE seq = 3", "append-only");
    refused("TRUNCATE ledger", "append-only");
    refused("TRUNCATE ledger CASCADE", "append-only");
    refused("UPDATE legal SET to_state = 'x'", "reserved for ever");
    refused("DELETE FROM legal", "reserved for ever");
    assert_eq!(ledger.records(after(0)).unwrap().len(), 3);
    // What a shell may write, it may: the refusals above are not for another reason.
    cluster.sql("refuses", &insert(4, 2, 1, born));
    let receipt = ledger.append(request(session(5), 0, create("a"))).unwrap();
    assert_eq!(receipt.record.seq, 5, "and the writer sees it");
}

/// A runtime of the test, as a server would have one; the ledger is called on its threads.
fn runtime() -> tokio::runtime::Runtime {
    match tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => panic!("no runtime: {error}"),
    }
}

fn a_wake_up_is_sent(cluster: &Cluster) {
    let url = cluster.database("wakes");
    let ledger = open(&url);
    let (sender, heard) = std::sync::mpsc::channel();
    let runtime = runtime();
    let client = runtime.block_on(async {
        let (client, mut connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await.unwrap();
        drop(tokio::spawn(async move {
            while let Some(Ok(message)) =
                std::future::poll_fn(|context| connection.poll_message(context)).await
            {
                if let tokio_postgres::AsyncMessage::Notification(notification) = message {
                    drop(sender.send(notification));
                }
            }
        }));
        client.batch_execute("LISTEN callboard").await.unwrap();
        client
    });
    ledger.append(request(session(1), 0, create("a"))).unwrap();
    let heard = heard.recv_timeout(Duration::from_secs(20)).unwrap();
    drop(client);
    assert_eq!((heard.channel(), heard.payload()), ("callboard", "1"));
}

fn it_may_be_called_on_a_thread_of_another_runtime(cluster: &Cluster) {
    let url = cluster.database("nested");
    runtime().block_on(async {
        let ledger = open(&url);
        let receipt = ledger.submit(request(session(1), 0, create("a"))).await.unwrap();
        ledger.append(request(session(1), 1, observe("beats", 1))).unwrap();
        assert_eq!(ledger.records(after(receipt.record.seq)).unwrap().len(), 1);
        assert!(ledger.verify().unwrap().ok);
    });
}

fn keys_hold_across_handles_and_within_a_batch(cluster: &Cluster) {
    let url = cluster.database("keys");
    let handles = [open(&url), open(&url)];
    let first = handles[0].append(keyed(request(session(1), 0, create("a")), "start")).unwrap();
    let again = handles[1].append(keyed(request(session(1), 9, create("a")), "start")).unwrap();
    assert!(again.repeated && !first.repeated && again.record == first.record);
    let other = handles[1].append(keyed(request(session(1), 0, create("b")), "start"));
    let Err(AppendError::Refused(refusal)) = other else { panic!("{other:?}") };
    assert_eq!(refusal.code, RefusalCode::KeyReused);
    // Everything that is queued while the first one commits shares a batch.
    let same = || keyed(request(session(1), 0, observe("beats", 1)), "beat");
    let tickets: Vec<_> = (0..64).map(|at| handles[at % 2].submit(same())).collect();
    let receipts: Vec<_> = tickets.into_iter().map(|ticket| ticket.wait().unwrap()).collect();
    assert_eq!(receipts.iter().filter(|receipt| !receipt.repeated).count(), 1);
    assert!(receipts.iter().all(|receipt| receipt.record == receipts[0].record));
    assert_eq!(handles[0].head().unwrap(), 2);
}

fn one_of_two_hosts_wins(cluster: &Cluster) {
    let url = cluster.database("race");
    let handles = [open(&url), open(&url)];
    for round in 0..20 {
        handles[0].append(request(session(round), 0, create("a"))).unwrap();
        let race = |ledger: &Ledger| {
            let mut request = request(session(round), 1, go(SessionState::Running, "run.started.ok"));
            request.command.if_version = Some(1);
            match ledger.append(request) {
                Ok(_) => 1,
                Err(AppendError::Refused(refusal)) => {
                    assert_eq!(refusal.code, RefusalCode::VersionConflict);
                    0
                }
                Err(error) => panic!("{error:?}"),
            }
        };
        let wins: usize = std::thread::scope(|scope| {
            let racers: Vec<_> = (0..8)
                .map(|at| {
                    let (race, ledger) = (&race, &handles[at % 2]);
                    scope.spawn(move || race(ledger))
                })
                .collect();
            racers.into_iter().map(|racer| racer.join().unwrap()).sum()
        });
        assert_eq!(wins, 1);
    }
}

fn nobody_who_follows_misses_a_record(cluster: &Cluster) {
    let url = cluster.database("follow");
    let (writers, runs) = (8, 25);
    open(&url).append(request(session(u128::MAX), 0, create("first"))).unwrap();
    let is_done = AtomicBool::new(false);
    let seen = std::thread::scope(|scope| {
        let follower = scope.spawn(|| {
            let ledger = open(&url);
            let mut seen = Vec::new();
            loop {
                // Read before the page, so that an empty page afterwards means the end.
                let ended = is_done.load(Ordering::SeqCst);
                let page = ledger.records(after(seen.last().copied().unwrap_or(0))).unwrap();
                seen.extend(page.iter().map(|record| record.seq));
                if ended && page.is_empty() {
                    return seen;
                }
            }
        });
        std::thread::scope(|scope| {
            for writer in 0..writers {
                let ledger = open(&url);
                scope.spawn(move || {
                    for run in 0..runs {
                        for order in whole_run() {
                            ledger.append(request(session(writer * 1000 + run), 0, order)).unwrap();
                        }
                    }
                });
            }
        });
        is_done.store(true, Ordering::SeqCst);
        follower.join().unwrap()
    });
    let all = 1 + 3 * writers as u64 * runs as u64;
    assert_eq!(seen, (1..=all).collect::<Vec<_>>(), "each once, in order, without a gap");
    let report = open(&url).verify().unwrap();
    assert!(report.ok && report.records == all, "{report:?}");
}

fn the_views_can_be_rebuilt_while_others_write(cluster: &Cluster) {
    let url = cluster.database("views");
    let ledger = open(&url);
    for number in 0..30 {
        for order in whole_run().into_iter().take(1 + number as usize % 3) {
            ledger.append(request(session(number), number as i64, order)).unwrap();
        }
        ledger.append(request(session(number), 60, observe("beats", number as i64))).unwrap();
    }
    let before = ledger.entities(EVERYTHING).unwrap();
    assert_eq!(before.len(), 30);
    cluster.sql(
        "views",
        "DELETE FROM entity WHERE state = 'running'; UPDATE entity SET facts = '', urgency = 7",
    );
    ledger.rebuild().unwrap();
    assert_eq!(ledger.entities(EVERYTHING).unwrap(), before);
    assert_eq!(ledger.entities_at(EVERYTHING, u64::MAX).unwrap(), before);
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| {
            let other = open(&url);
            for number in 100..200 {
                other.append(request(session(number), 99, create("a"))).unwrap();
            }
        });
        while !writing.is_finished() {
            ledger.rebuild().unwrap();
        }
    });
    assert_eq!(ledger.entities(EVERYTHING).unwrap().len(), 130);
    let report = ledger.verify().unwrap();
    assert!(report.ok, "{report:?}");
}

fn first_starts_do_not_collide(cluster: &Cluster) {
    let url = cluster.database("starts");
    let seqs: HashSet<u64> = std::thread::scope(|scope| {
        let starts: Vec<_> = (0..6)
            .map(|number| {
                let url = &url;
                scope.spawn(move || {
                    open(url).append(request(session(number), 0, create("a"))).unwrap().record.seq
                })
            })
            .collect();
        starts.into_iter().map(|start| start.join().unwrap()).collect()
    });
    assert_eq!(seqs, (1..=6).collect());
}

fn a_newer_store_is_refused(cluster: &Cluster) {
    let url = cluster.database("newer");
    let ledger = open(&url);
    ledger.append(request(session(1), 0, create("a"))).unwrap();
    cluster.sql("newer", "UPDATE meta SET format = 99");
    let refused = Ledger::connect(&url, Options::default()).map(|_| ());
    assert!(matches!(refused, Err(OpenError::Newer { found: 99, .. })), "{refused:?}");
    // A handle that was open before meets the new format when it has to connect anew.
    let end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
               WHERE datname = 'newer' AND pid <> pg_backend_pid()";
    cluster.sql("newer", end);
    let refused = ledger.append(request(session(2), 0, create("b")));
    assert!(matches!(refused, Err(AppendError::Fault(Fault::ReadOnly(_)))), "{refused:?}");
}

fn a_held_lock_is_waited_for_and_not_for_ever(cluster: &Cluster) {
    let url = cluster.database("held");
    let options = Options { busy_wait: Duration::from_millis(200), ..Options::default() };
    let ledger = open_with(&url, options);
    ledger.append(request(session(1), 0, create("a"))).unwrap();
    let hold = "BEGIN; SELECT pg_advisory_xact_lock(7161124095259533682); SELECT pg_sleep(2); COMMIT";
    std::thread::scope(|scope| {
        let holding = scope.spawn(|| cluster.sql("held", hold));
        let is_held = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted";
        while cluster.sql("held", is_held) != "1" {}
        let begun = Instant::now();
        let refused = ledger.append(request(session(2), 0, create("b")));
        assert!(matches!(refused, Err(AppendError::Fault(Fault::Busy))), "{refused:?}");
        assert!(begun.elapsed() < Duration::from_millis(1800), "it waited {:?}", begun.elapsed());
        holding.join().unwrap();
    });
    ledger.append(request(session(2), 0, create("b"))).unwrap();
}

/// Everything the server's own guards do not stop: somebody with the right to switch them off.
fn a_tampered_store_is_found_out(cluster: &Cluster) {
    let url = cluster.database("tampered");
    let key = PathBuf::from(cluster.path()).join("keys").join("board.key");
    let ledger = open_with(&url, Options { key_path: Some(key.clone()), ..Options::default() });
    let tickets: Vec<_> = (0..600).map(|at| ledger.submit(request(session(at), 0, create("a")))).collect();
    for ticket in tickets {
        ticket.wait().unwrap();
    }
    let report = ledger.verify().unwrap();
    assert!(report.ok && report.checkpoints >= 1, "{report:?}");
    assert!(key.exists());
    let unguarded =
        |sql: &str| cluster.sql("tampered", &format!("SET session_replication_role = replica; {sql}"));
    let is_found = |tamper: &str, mend: &str| {
        unguarded(tamper);
        let report = ledger.verify().unwrap();
        assert!(!report.ok, "{tamper}");
        unguarded(mend);
        assert!(ledger.verify().unwrap().ok, "{mend}");
    };
    is_found(
        "UPDATE ledger SET actor_id = 'eve' WHERE seq = 9",
        "UPDATE ledger SET actor_id = 'host/1' WHERE seq = 9",
    );
    is_found(
        "UPDATE entity SET state = 'running' WHERE last_seq = 9",
        "UPDATE entity SET state = 'pending' WHERE last_seq = 9",
    );
    is_found(
        "CREATE TABLE newest AS SELECT max(seq) AS seq FROM checkpoint; \
         CREATE TABLE kept AS SELECT * FROM ledger WHERE seq >= (SELECT seq FROM newest); \
         CREATE TABLE kept_views AS SELECT * FROM entity WHERE last_seq >= (SELECT seq FROM newest); \
         DELETE FROM ledger WHERE seq >= (SELECT seq FROM newest); \
         DELETE FROM entity WHERE last_seq >= (SELECT seq FROM newest)",
        "INSERT INTO ledger SELECT * FROM kept; INSERT INTO entity SELECT * FROM kept_views",
    );
    let info = ledger.info().unwrap();
    assert!(
        info.engine.starts_with("PostgreSQL ") && info.records == 600 && info.bytes > 100_000,
        "{info:?}"
    );
    let unsupported = ledger.backup(&key);
    assert!(matches!(unsupported, Err(ReadError::Unsupported(_))), "{unsupported:?}");
}

fn what_was_exported_can_be_imported(cluster: &Cluster) {
    let from = open(&cluster.database("exported"));
    let tickets: Vec<_> = (0..300)
        .flat_map(|at| whole_run().map(|order| (at, order)))
        .map(|(at, order)| from.submit(request(session(at), 0, order)))
        .collect();
    assert!(tickets.into_iter().all(|ticket| ticket.wait().is_ok()));
    let mut lines = String::new();
    let exported = from.export(Range::ALL, &mut |line| {
        lines.push_str(line);
        lines.push('\n');
        Ok(())
    });
    assert_eq!(exported.unwrap().records, 900);
    let legacy = "{\"legacy\":{\"kind\":\"session\",\"title\":\"old\",\"data\":{\"a\":1}}}\n";
    let to = open(&cluster.database("imported"));
    let taken = to.import(&mut (lines.clone() + legacy).as_bytes()).unwrap();
    assert_eq!((taken.records, taken.legacy, taken.head), (900, 1, 900));
    assert_eq!(to.records(after(0)).unwrap(), from.records(after(0)).unwrap());
    assert_eq!(to.entities(EVERYTHING).unwrap(), from.entities(EVERYTHING).unwrap());
    assert!(to.verify().unwrap().ok && to.legacy().unwrap() == 1);
    // A line that was changed, and one that the database refuses, are named and nothing is taken.
    let other = open(&cluster.database("refused"));
    let changed = lines.replacen("host/1", "host/2", 1);
    let Err(ImportError::Line { number: 1, .. }) = other.import(&mut changed.as_bytes()) else {
        panic!("taken")
    };
    let twice = other.import(&mut (lines.clone() + &lines).as_bytes());
    let Err(ImportError::Line { number: 901, .. }) = twice else { panic!("{twice:?}") };
    assert_eq!(other.head().unwrap(), 0);
}
