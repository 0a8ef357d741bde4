//! The PostgreSQL engine when the server or the way to it fails: crashes under load, answers and requests that are lost.
//!
//! What is acknowledged is there, what is said not to be written never appears, and the writer finds its way back.

#![cfg(test)]

#[path = "common/cluster.rs"]
mod cluster;
#[path = "common/requests.rs"]
mod requests;

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use callboard_kernel::EntityId;
use callboard_ledger::{
    AppendError, Fault, Hash, Ledger, OpenError, Options, Page, Receipt, RecordScope, Request,
};
use cluster::Cluster;
use requests::{create, observe, request, session, whole_run};

fn open(url: &str) -> Ledger {
    match Ledger::connect(url, Options::default()) {
        Ok(ledger) => ledger,
        Err(error) => panic!("{url}: {error:?}"),
    }
}

fn keyed(mut request: Request, key: &str) -> Request {
    request.command.key = Some(key.to_owned());
    request
}

/// Every record, by its place, after checking that the places have no gap and the log holds.
fn read_all(ledger: &Ledger) -> HashMap<u64, (Hash, EntityId)> {
    let records = match ledger.records(Page { after: 0, limit: usize::MAX, scope: RecordScope::All }) {
        Ok(records) => records,
        Err(error) => panic!("{error:?}"),
    };
    assert!(records.iter().enumerate().all(|(at, record)| record.seq == at as u64 + 1), "a gap");
    let report = ledger.verify();
    assert!(report.as_ref().is_ok_and(|report| report.ok), "{report:?}");
    let place = |record: &callboard_ledger::Record| match record.id() {
        Ok(id) => (record.seq, (record.hash, id)),
        Err(error) => panic!("{error:?}"),
    };
    records.iter().map(place).collect()
}

/// What the callers were told.
#[derive(Default)]
struct Told {
    acknowledged: Vec<Receipt>,
    not_written: Vec<EntityId>,
}

#[test]
fn crashes_of_the_server_lose_nothing_that_was_acknowledged() {
    let cluster = Cluster::start();
    let url = cluster.database("crashes");
    let told = Mutex::new(Told::default());
    let (callers, is_done) = (8, AtomicBool::new(false));
    let handles = [open(&url), open(&url)];
    std::thread::scope(|scope| {
        for caller in 0..callers {
            let (ledger, told, is_done) = (&handles[caller as usize % 2], &told, &is_done);
            scope.spawn(move || {
                for number in 0.. {
                    if is_done.load(Ordering::Relaxed) {
                        return;
                    }
                    call(ledger, told, session(caller * 1_000_000 + number), caller % 2 == 0);
                }
            });
        }
        for _ in 0..3 {
            let before = told.lock().unwrap().acknowledged.len();
            // Each crash comes while they write, and the next one after they found their way back.
            while told.lock().unwrap().acknowledged.len() < before + 100 {
                std::thread::yield_now();
            }
            cluster.crash_and_restart();
        }
        let before = told.lock().unwrap().acknowledged.len();
        while told.lock().unwrap().acknowledged.len() < before + 100 {
            std::thread::yield_now();
        }
        is_done.store(true, Ordering::Relaxed);
    });
    let told = told.into_inner().unwrap();
    let records = read_all(&handles[0]);
    for receipt in &told.acknowledged {
        let there = records.get(&receipt.record.seq).map(|(hash, _)| *hash);
        assert_eq!(there, Some(receipt.record.hash), "{receipt:?} was acknowledged");
    }
    for id in &told.not_written {
        assert!(records.values().all(|(_, there)| there != id), "{id} was said not to be written");
    }
    let before =
        handles[0].entities_at(callboard_ledger::Listing { ended: true, ..Default::default() }, u64::MAX);
    let now = handles[1].entities(callboard_ledger::Listing { ended: true, ..Default::default() });
    assert_eq!(before.unwrap(), now.unwrap(), "the stored views are what the log gives");
    for order in whole_run() {
        handles[1].append(request(session(u128::MAX), 0, order)).unwrap();
    }
}

fn call(ledger: &Ledger, told: &Mutex<Told>, id: EntityId, has_key: bool) {
    let request = request(id, 0, create("a"));
    let answer = ledger.append(if has_key { keyed(request, "once") } else { request });
    let Ok(mut told) = told.lock() else { panic!("another caller failed") };
    match answer {
        Ok(receipt) => told.acknowledged.push(receipt),
        Err(AppendError::Fault(Fault::NotWritten(_))) if !has_key => told.not_written.push(id),
        Err(error) => panic!("with a key: {has_key}, {error:?}"),
    }
}

/// What the way to the server does with the next request that bears the mark.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    /// Nothing special.
    Open,
    /// The request arrives and is carried out; the answer is lost.
    LosesTheAnswer,
    /// The request is lost.
    LosesTheRequest,
    /// The client hears nothing more; the request arrives when it has given up.
    DeliversLate,
}

/// The mark, as a title.
const MARK: &str = "this one goes astray";
/// The server says so when no transaction is open any more.
const READY: &[u8] = b"Z\0\0\0\x05I";

#[test]
fn a_commit_whose_answer_never_came_is_looked_up() {
    let cluster = Cluster::start();
    cluster.database("astray");
    let way = Arc::new(Mutex::new(Way::Open));
    let proxy = tempfile::tempdir().unwrap();
    let late = start_proxy(&cluster, proxy.path(), &way);
    let url = format!("postgres:///astray?user=postgres&host={}", proxy.path().display());
    let ledger = open(&url);
    let mut number = 0;
    let mut send = |bad: Way, key: Option<&str>| {
        number += 1;
        ledger.append(request(session(1000 + number), 0, create("in order"))).unwrap();
        *way.lock().unwrap() = bad;
        let request = request(session(number), 0, create(MARK));
        let answer = ledger.append(key.map_or(request.clone(), |key| keyed(request, key)));
        assert_eq!(*way.lock().unwrap(), Way::Open, "it went astray");
        let is_there = ledger.entity(session(number)).unwrap().is_some();
        (answer, is_there)
    };
    for key in [None, Some("once")] {
        let (answer, is_there) = send(Way::LosesTheAnswer, key);
        assert!(
            answer.is_ok_and(|receipt| !receipt.repeated) && is_there,
            "it was there, and that is found out"
        );
    }
    for bad in [Way::LosesTheRequest, Way::DeliversLate] {
        let (answer, is_there) = send(bad, None);
        assert!(matches!(answer, Err(AppendError::Fault(Fault::NotWritten(_)))), "{bad:?}: {answer:?}");
        assert!(!is_there, "{bad:?}");
        let (answer, is_there) = send(bad, Some("once"));
        assert!(
            answer.is_ok_and(|receipt| !receipt.repeated) && is_there,
            "{bad:?}: with a key it is sent again"
        );
    }
    // What was held back is delivered at last, to a session that has been ended.
    for held in late.lock().unwrap().drain(..) {
        held();
    }
    let records = read_all(&ledger);
    assert_eq!(records.len(), 6 + 4, "six in order and four that went astray");
    ledger.append(request(session(1), 9, observe("beats", 1))).unwrap();
}

type Held = Arc<Mutex<Vec<Box<dyn FnOnce() + Send>>>>;

/// A socket beside the server's that can lose what passes through it.
fn start_proxy(cluster: &Cluster, place: &Path, way: &Arc<Mutex<Way>>) -> Held {
    let server = cluster.path().join(".s.PGSQL.5432");
    let Ok(listener) = UnixListener::bind(place.join(".s.PGSQL.5432")) else { panic!("no socket") };
    let held = Held::default();
    let (way, late) = (Arc::clone(way), Arc::clone(&held));
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let Ok(server) = UnixStream::connect(&server) else { continue };
            let (way, late) = (Arc::clone(&way), Arc::clone(&late));
            std::thread::spawn(move || carry(client, server, &way, &late));
        }
    });
    held
}

fn carry(mut client: UnixStream, mut server: UnixStream, way: &Mutex<Way>, late: &Held) {
    let (Ok(mut back_from), Ok(mut back_to)) = (server.try_clone(), client.try_clone()) else { return };
    let is_deaf = Arc::new(AtomicBool::new(false));
    let deaf = Arc::clone(&is_deaf);
    let answers = std::thread::spawn(move || {
        let (mut bytes, mut tail) = ([0; 65536], Vec::new());
        while let Ok(length @ 1..) = back_from.read(&mut bytes) {
            if !deaf.load(Ordering::SeqCst) {
                if back_to.write_all(&bytes[..length]).is_err() {
                    return;
                }
                continue;
            }
            tail.extend_from_slice(&bytes[..length]);
            if tail.windows(READY.len()).any(|window| window == READY) {
                return;
            }
        }
    });
    let mut bytes = [0; 65536];
    while let Ok(length @ 1..) = client.read(&mut bytes) {
        let is_marked = bytes[..length].windows(MARK.len()).any(|window| window == MARK.as_bytes());
        let way = match way.lock() {
            Ok(mut way) if is_marked => std::mem::replace(&mut *way, Way::Open),
            Ok(_) | Err(_) => Way::Open,
        };
        is_deaf.store(way != Way::Open, Ordering::SeqCst);
        match way {
            Way::Open => {}
            Way::LosesTheAnswer => {
                drop(server.write_all(&bytes[..length]));
                drop(answers.join());
                break;
            }
            Way::LosesTheRequest => break,
            Way::DeliversLate => {
                let (Ok(mut late_server), Ok(mut late)) = (server.try_clone(), late.lock()) else { return };
                let request = bytes[..length].to_vec();
                late.push(Box::new(move || drop(late_server.write_all(&request))));
                drop(client.shutdown(std::net::Shutdown::Both));
                return;
            }
        }
        if server.write_all(&bytes[..length]).is_err() {
            break;
        }
    }
    drop(client.shutdown(std::net::Shutdown::Both));
    drop(server.shutdown(std::net::Shutdown::Both));
}

#[test]
fn a_server_that_lets_in_and_says_nothing_is_not_waited_for_for_ever() {
    let cluster = Cluster::start();
    let proxy = tempfile::tempdir().unwrap();
    let listener = UnixListener::bind(proxy.path().join(".s.PGSQL.5432")).unwrap();
    cluster.database("silent");
    let url = format!("postgres:///silent?user=postgres&host={}", proxy.path().display());
    let silence = Arc::new(AtomicBool::new(false));
    let is_silent = Arc::clone(&silence);
    let (server, carried) = (cluster.path().join(".s.PGSQL.5432"), Arc::new(Mutex::new(Vec::new())));
    let carrying = Arc::clone(&carried);
    std::thread::spawn(move || {
        let mut held = Vec::new();
        for client in listener.incoming().flatten() {
            if is_silent.load(Ordering::SeqCst) {
                held.push(client);
                continue;
            }
            let server = UnixStream::connect(&server).unwrap();
            for stream in [&client, &server] {
                carrying.lock().unwrap().push(stream.try_clone().unwrap());
            }
            let (mut requests, mut to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            std::thread::spawn(move || std::io::copy(&mut requests, &mut to));
            let (mut answers, mut to) = (server, client);
            std::thread::spawn(move || std::io::copy(&mut answers, &mut to));
        }
    });
    let options = Options { busy_wait: Duration::from_millis(100), ..Options::default() };
    let ledger = Ledger::connect(&url, options).unwrap();
    ledger.append(request(session(1), 0, create("a"))).unwrap();
    silence.store(true, Ordering::SeqCst);
    for stream in carried.lock().unwrap().drain(..) {
        drop(stream.shutdown(std::net::Shutdown::Both));
    }
    let (sender, told) = std::sync::mpsc::channel();
    let asking = ledger.clone();
    std::thread::spawn(move || {
        let written = asking.append(request(session(2), 0, create("b")));
        let is_told = matches!(written, Err(AppendError::Fault(Fault::ReadOnly(_))));
        sender.send((is_told, asking.head().is_err())).unwrap();
    });
    assert_eq!(
        told.recv_timeout(Duration::from_secs(40)),
        Ok((true, true)),
        "both are told that it is not there"
    );
    silence.store(false, Ordering::SeqCst);
    ledger.append(request(session(2), 0, create("b"))).unwrap();
    assert_eq!(ledger.head().unwrap(), 2);
}

#[test]
fn an_encrypted_connection_is_made_only_to_the_server_it_means() {
    let port = match TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()) {
        Ok(address) => address.port(),
        Err(error) => panic!("no free port: {error}"),
    };
    let settings = "ssl = on\nssl_cert_file = '{}/server.crt'\nssl_key_file = '{}/server.key'\n";
    let cluster = Cluster::listen(port, settings, certify);
    cluster.database("secret");
    let root = cluster.path().join("server.crt").display().to_string();
    let url = |host: &str, options: &str| format!("postgres://postgres@{host}:{port}/secret?{options}");
    let ledger = open(&url("localhost", &format!("sslmode=verify-full&sslrootcert={root}")));
    ledger.append(request(session(1), 0, create("a"))).unwrap();
    assert_eq!(ledger.head().unwrap(), 1);
    let plain = "SELECT count(*) FILTER (WHERE NOT ssl), count(*) > 1 FROM pg_stat_ssl JOIN pg_stat_activity \
                 USING (pid) WHERE application_name = 'callboard'";
    assert_eq!(cluster.sql("secret", plain), "0|t");
    let refused = |url: &str| {
        let options = Options { busy_wait: Duration::from_millis(100), ..Options::default() };
        match Ledger::connect(url, options) {
            Err(OpenError::Server { .. }) => {}
            Err(error) => panic!("{url}: {error:?}"),
            Ok(_) => panic!("{url} was taken"),
        }
    };
    // The name is not in the certificate; and nobody the system trusts has signed it.
    refused(&url("127.0.0.1", &format!("sslmode=require&sslrootcert={root}")));
    refused(&url("localhost", "sslmode=require"));
}

/// A certificate for `localhost` that nobody knows.
fn certify(cluster: &Cluster) {
    let place = |name: &str| cluster.path().join(name);
    let (key, certificate) =
        (place("server.key").display().to_string(), place("server.crt").display().to_string());
    let subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];
    let leaf = ["-addext", "basicConstraints=critical,CA:FALSE"];
    let made = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-days",
            "1",
        ])
        .args(subject)
        .args(leaf)
        .args(["-keyout", &key, "-out", &certificate])
        .output();
    assert!(
        made.as_ref().is_ok_and(|output| output.status.success()),
        "openssl makes no certificate: {made:?}"
    );
    for name in ["server.key", "server.crt"] {
        cluster.own(&place(name));
    }
}

#[test]
fn a_server_that_comes_back_with_an_older_database_is_noticed_and_takes_nothing() {
    let cluster = Cluster::start();
    let url = cluster.database("live");
    let ledger = open(&url);
    ledger.append(request(session(1), 0, create("a"))).unwrap();
    // The copy needs the database to itself, as a restore does.
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'live'";
    cluster.sql("postgres", end);
    cluster.copy("live", "older");
    let newest = ledger.append(request(session(2), 0, create("b"))).unwrap().record.seq;
    ledger.ready().unwrap();
    cluster.sql("postgres", "DROP DATABASE live WITH (FORCE)");
    cluster.sql("postgres", "ALTER DATABASE older RENAME TO live");
    for number in 3..6 {
        let answer = ledger.append(request(session(number), 0, create("c")));
        assert!(matches!(answer, Err(AppendError::Fault(Fault::Replaced(_)))), "{answer:?}");
    }
    assert!(ledger.ready().is_err(), "it is not the store that was opened");
    let fresh = open(&url);
    assert_eq!(fresh.head().unwrap(), newest - 1, "nothing was written to it");
    fresh.append(request(session(7), 0, create("d"))).unwrap();
}
