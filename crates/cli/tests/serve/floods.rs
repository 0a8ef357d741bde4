//! Floods by somebody who holds no more than the token of one run: others are answered all the same.
//!
//! Invariant: nothing here is measured in time. It is counted who is answered and who is turned away, and how much memory
//! the server has used at the most.

use std::io::{BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use callboard_kernel::{Facts, Observe, Order};
use serde_json::json;

use crate::feed::append;
use crate::host::Host;
use crate::wire::{connect, reply};

/// The most memory that the server may use under a flood, in kB.
const MEMORY_MAX_KB: u64 = 100 * 1024;
/// The longest that anything is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// A run that goes on, and a token of its agent.
fn agent(host: &Host, script: &str) -> (String, String) {
    let run = host.callboard(&["run", "--detach", "--", "sh", "-c", script]);
    let token = host.callboard(&["token", "create", "--scope", "agent", "--run", &run]);
    (run, token)
}

/// Somebody else asks, and is answered.
#[track_caller]
fn others_are_answered(host: &Host) {
    for _ in 0..20 {
        assert!(host.get("/api/v1/attention").ok()["items"].is_array());
    }
    let status = std::fs::read_to_string(format!("/proc/{}/status", host.server.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let used: u64 = line.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(used < MEMORY_MAX_KB, "{used} kB");
}

/// Sends the beginning of a request and leaves the connection open.
fn begin(host: &Host, text: &str) -> TcpStream {
    let mut stream = connect(host.address).unwrap();
    stream.write_all(text.as_bytes()).unwrap();
    stream
}

/// What each was answered; 0 for those that nothing was said to yet.
fn answered(streams: Vec<TcpStream>, enough: usize) -> Vec<u16> {
    let until = Instant::now() + PATIENCE;
    let mut readers: Vec<(BufReader<TcpStream>, u16)> = Vec::new();
    for stream in streams {
        stream.set_nonblocking(true).unwrap();
        readers.push((BufReader::new(stream), 0));
    }
    loop {
        for (reader, status) in readers.iter_mut().filter(|(_, status)| *status == 0) {
            let mut byte = [0; 1];
            if matches!(reader.get_ref().peek(&mut byte), Ok(1)) {
                reader.get_ref().set_nonblocking(false).unwrap();
                *status = reply(reader).map_or(1, |reply| reply.status);
            }
        }
        let done = readers.iter().filter(|(_, status)| *status != 0).count();
        if done >= enough || Instant::now() > until {
            return readers.into_iter().map(|(_, status)| status).collect();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn count(statuses: &[u16], wanted: u16) -> usize {
    statuses.iter().filter(|status| **status == wanted).count()
}

#[test]
fn half_sent_heads_make_room_for_whoever_sends_a_whole_one() {
    let host = Host::start_with_files(96);
    // Far more than the server can have open, so that those who come later wait behind many who say nothing.
    let half: Vec<TcpStream> = (0..600)
        .map(|_| begin(&host, &format!("GET /livez HTTP/1.1\r\nHost: {}\r\n", host.address)))
        .collect();
    others_are_answered(&host);
    drop(half);
}

#[test]
fn slow_bodies_of_one_run_are_few_and_end() {
    let host = Host::start();
    let (run, token) = agent(&host, "sleep 600");
    let head = format!(
        "POST /api/v1/entities/{run}/notes HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{{",
        host.address
    );
    let slow: Vec<TcpStream> = (0..100).map(|_| begin(&host, &head)).collect();
    others_are_answered(&host);
    let statuses = answered(slow, 100);
    assert_eq!((count(&statuses, 429), count(&statuses, 408)), (92, 8), "{statuses:?}");
    host.post_as(&token, &format!("/api/v1/entities/{run}/notes"), &json!({"text": "here"}), None).ok();
}

#[test]
fn streams_of_one_run_are_few() {
    let host = Host::start();
    let (run, token) = agent(&host, "sleep 600");
    let other = host.callboard(&["token", "create", "--scope", "agent", "--run", &run]);
    let head = |token: &str| {
        let address = host.address;
        format!(
            "GET /api/v1/entities/{run}/events HTTP/1.0\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\r\n"
        )
    };
    let mut open = Vec::new();
    let mut refused = 0;
    for number in 0..40 {
        let mut stream = begin(&host, &head(if number % 2 == 0 { &token } else { &other }));
        let mut line = [0; 12];
        stream.read_exact(&mut line).unwrap();
        match &line {
            b"HTTP/1.0 200" => open.push(stream),
            b"HTTP/1.0 429" => refused += 1,
            odd => panic!("{}", String::from_utf8_lossy(odd)),
        }
    }
    assert_eq!((open.len(), refused), (4, 36));
    others_are_answered(&host);
    // Whoever lets go of one may open another one.
    open.pop();
    let until = Instant::now() + PATIENCE;
    loop {
        let mut line = [0; 12];
        begin(&host, &head(&token)).read_exact(&mut line).unwrap();
        if &line == b"HTTP/1.0 200" {
            break;
        }
        assert!(Instant::now() < until, "none was let in");
    }
}

#[test]
fn one_byte_of_a_large_output_costs_one_byte() {
    let host = Host::start();
    let (run, token) = agent(&host, "head -c 33554432 /dev/zero; echo x; exec sleep 600");
    let path = format!("/api/v1/entities/{run}/output/stdout");
    let last = || host.send("GET", &path, &format!("{}Range: bytes=-1\r\n", host.bearer(&host.token)), "");
    let until = Instant::now() + PATIENCE;
    while last().body != b"\n" {
        assert!(Instant::now() < until, "the output did not come");
        std::thread::sleep(Duration::from_millis(20));
    }
    let (address, mut partial) = (host.address, 0);
    let head = format!(
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nRange: bytes=33554431-33554431\r\n\
         Connection: close\r\n\r\n"
    );
    for _ in 0..4 {
        let asked: Vec<TcpStream> = (0..64).map(|_| begin(&host, &head)).collect();
        let statuses = answered(asked, 64);
        assert_eq!(count(&statuses, 206) + count(&statuses, 429), 64, "{statuses:?}");
        partial += count(&statuses, 206);
    }
    assert!(partial > 0, "nobody was answered");
    // Nobody reads these.
    let whole = head.replace("Range: bytes=33554431-33554431\r\n", "");
    let unread: Vec<TcpStream> = (0..64).map(|_| begin(&host, &whole)).collect();
    others_are_answered(&host);
    drop(unread);
}

#[test]
fn the_notes_of_one_run_are_bounded() {
    let host = Host::start();
    let (run, token) = agent(&host, "sleep 600");
    let note = json!({"text": "n".repeat(15_000)});
    let path = format!("/api/v1/entities/{run}/notes");
    let (mut bytes, begun) = (0, Instant::now());
    let refused = (0..10_000).find_map(|_| {
        let reply = host.post_as(&token, &path, &note, None);
        bytes += 15_000;
        (reply.status != 200).then_some(reply)
    });
    let allowed = 1_100_000.0 + begun.elapsed().as_secs_f64() * 33_000.0;
    assert!(f64::from(bytes) <= allowed, "{bytes} bytes, {allowed} are allowed");
    refused.unwrap().problem(429);
    others_are_answered(&host);
    // What people write down is not bounded by it.
    host.post(&path, &note).ok();
}

/// Is nothing said to this request for a while?
fn is_kept_waiting(stream: &TcpStream) -> bool {
    stream.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    stream.peek(&mut [0]).is_err()
}

#[test]
fn what_nobody_waits_for_any_more_counts_until_it_is_done() {
    let host = Host::start();
    let (run, token) = agent(&host, "sleep 600");
    let request = |method: &str, path: &str, body: &str| {
        format!(
            "{method} /api/v1/entities/{run}{path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            host.address,
            body.len()
        )
    };
    let lock = rusqlite::Connection::open(host.store()).unwrap();
    let mut has_waited = false;
    // The server gives up waiting for the store after ten seconds; then it has to be staged again.
    for _ in 0..5 {
        lock.execute_batch("BEGIN IMMEDIATE").unwrap();
        let begun = Instant::now();
        let notes = [(); 2].map(|()| begin(&host, &request("POST", "/notes", "{\"text\":\"n\"}")));
        // Both turns of the run are taken once nothing else of it is answered.
        let first = (0..100).map(|_| begin(&host, &request("GET", "", ""))).find(is_kept_waiting).unwrap();
        drop(notes);
        let second = begin(&host, &request("GET", "", ""));
        has_waited = is_kept_waiting(&second);
        let is_over = begun.elapsed() > Duration::from_secs(8);
        others_are_answered(&host);
        lock.execute_batch("ROLLBACK").unwrap();
        assert_eq!(count(&answered(vec![first, second], 2), 200), 2);
        if has_waited || !is_over {
            break;
        }
    }
    assert!(has_waited, "a note that nobody waits for makes room before it is recorded");
}

#[test]
fn an_answer_ends_before_large_records_fill_the_memory() {
    let host = Host::start();
    let (run, token) = agent(&host, "sleep 600");
    let (ledger, id) = (host.ledger(), run.parse().unwrap());
    for _ in 0..30 {
        let data = Facts::none().with("said", "x".repeat(60_000));
        append(&ledger, id, Order::Observe(Observe { reasons: vec![], data }));
    }
    let (mut after, mut seen, mut pages) = (0, 0, 0);
    loop {
        let path = format!("/api/v1/entities/{run}/records?limit=500&after={after}");
        let page = host.send("GET", &path, &host.bearer(&token), "").ok();
        let items = page["items"].as_array().unwrap();
        // A mebibyte holds 17 of them, beside the few small ones that a run begins with.
        assert!(items.len() <= 24, "{} records at once", items.len());
        (seen, pages) = (seen + items.len(), pages + 1);
        let Some(next) = page["next_after"].as_u64() else { break };
        after = next;
    }
    assert!(seen >= 32 && pages >= 2, "{seen} records on {pages} pages");
}
