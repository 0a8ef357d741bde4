//! Faults: a server that is killed loses nothing it acknowledged, one that is stopped ends in order, and nobody is ever
//! told two different things.

use std::io::{BufReader, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::feed::{append, born};
use crate::host::{Host, callboard};
use crate::wire::{connect, event, exchange, open, reply};

/// Pauses and resumes a schedule over HTTP as long as it may; the records that were acknowledged.
pub(crate) fn storm(host: &Host, id: &str, is_over: &AtomicBool) -> Vec<(u64, String)> {
    let mut acknowledged: Vec<(u64, String)> = Vec::new();
    let mut to = "paused";
    while !is_over.load(Ordering::Acquire) {
        let body =
            json!({"to": to, "reason": format!("schedule.{to}.operator"), "message": "storm"}).to_string();
        let request = format!(
            "POST /api/v1/entities/{id}/transition HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            host.address,
            host.token,
            body.len()
        );
        // Without an answer it may have been recorded or not; the next try says which.
        let Some(reply) = exchange(host.address, request.as_bytes()) else { continue };
        match reply.status {
            200 => {
                let record = reply.json();
                let (seq, hash) = (&record["record"]["seq"], &record["record"]["hash"]);
                acknowledged.push((seq.as_u64().unwrap_or(0), hash.as_str().unwrap_or("").to_owned()));
                to = if to == "paused" { "enabled" } else { "paused" };
            }
            // The store takes nothing: the test has seen to that.
            503 => continue,
            409 => to = if to == "paused" { "enabled" } else { "paused" },
            other => panic!("{other} {}", reply.text()),
        }
    }
    acknowledged
}

#[test]
fn a_link_leads_to_where_the_server_listens_as_long_as_it_does() {
    let mut host = Host::start();
    let leads = |link: &str, port: u16| {
        let own = link.strip_prefix("http://callboard-").unwrap_or_default();
        own.split_once('.').is_some_and(|(id, rest)| {
            id.len() == 8 && rest.starts_with(&format!("localhost:{port}/login?once="))
        })
    };
    let here = host.address.port();
    assert!(leads(&host.callboard(&["token", "link"]), here) && leads(&host.login, here));
    let elsewhere = host.callboard(&["token", "link", "--listen", "127.0.0.1:9"]);
    assert!(leads(&elsewhere, 9), "{elsewhere}");
    let remote = host.callboard(&["token", "link", "--listen", "192.0.2.1:9"]);
    assert!(remote.starts_with("http://192.0.2.1:9/login?once="), "{remote}");
    host.kill_and_restart();
    assert!(leads(&host.callboard(&["token", "link"]), here));
    let pid = rustix::process::Pid::from_raw(host.server.id() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert!(host.server.wait().unwrap().success());
    assert_eq!(host.callboard(&["token", "link"]), "", "nobody would take it");
}

#[test]
fn who_is_turned_away_before_their_body_has_come_may_go_on_with_the_connection() {
    let host = Host::start();
    let mut reader = BufReader::new(connect(host.address).unwrap());
    let asks = |reader: &mut BufReader<TcpStream>, line: &str, body: &str| {
        let head = format!(
            "{line} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            host.address,
            body.len()
        );
        reader.get_mut().write_all(head.as_bytes()).unwrap();
        // The answer is written before the body is sent, as far as a server does that.
        std::thread::sleep(Duration::from_millis(50));
        reader.get_mut().write_all(body.as_bytes()).unwrap();
        reply(reader).unwrap_or_else(|| panic!("{line} was not answered")).status
    };
    for (line, status) in [
        ("PUT /api/v1/admin/checkpoint", 405),
        ("POST /api/v1/admin/checkpoint", 401),
        ("GET /livez", 200),
        ("POST /nowhere", 405),
    ] {
        assert_eq!(asks(&mut reader, line, "{\"a\":1}"), status, "{line}");
    }
}

#[test]
fn a_server_that_is_killed_in_a_storm_loses_no_acknowledged_transition() {
    let mut host = Host::start();
    let ledger = host.ledger();
    let ids: Vec<String> = (1..=4).map(|number| born(&ledger, number).to_string()).collect();
    drop(ledger);
    let mut acknowledged = Vec::new();
    for _ in 0..3 {
        let is_over = AtomicBool::new(false);
        let pid = host.server.id();
        let seen = AtomicU64::new(0);
        acknowledged.extend(std::thread::scope(|scope| {
            let writers: Vec<_> = ids.iter().map(|id| scope.spawn(|| storm(&host, id, &is_over))).collect();
            let give_up = Instant::now() + Duration::from_secs(300);
            while seen.load(Ordering::Acquire) < 40 && Instant::now() < give_up {
                let head = host.get("/api/v1/admin/info").ok()["records"].as_u64().unwrap_or(0);
                seen.store(head % 1000, Ordering::Release);
            }
            let pid = rustix::process::Pid::from_raw(pid as i32).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
            is_over.store(true, Ordering::Release);
            writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect::<Vec<_>>()
        }));
        host.kill_and_restart();
    }
    assert!(acknowledged.len() > 20, "only {} were acknowledged", acknowledged.len());
    let ledger = host.ledger();
    let page =
        callboard_ledger::Page { after: 0, limit: usize::MAX, scope: callboard_ledger::RecordScope::All };
    let records = ledger.records(page).unwrap();
    for (seq, hash) in acknowledged {
        let found = records.iter().find(|record| record.seq == seq).map(|record| record.hash.to_string());
        assert_eq!(found.as_deref(), Some(hash.as_str()), "record {seq} was acknowledged");
    }
    assert!(ledger.verify().unwrap().ok);
}

#[test]
fn a_server_that_is_stopped_ends_its_streams_and_itself_and_no_run() {
    let mut host = Host::start();
    let run = host.callboard(&["run", "--detach", "--", "sleep", "100"]);
    let mut stream = open(host.address, "/api/v1/events?since=0", &host.token, None).unwrap();
    assert!(event(&mut stream).is_some());
    let pid = rustix::process::Pid::from_raw(host.server.id() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    while event(&mut stream).is_some() {}
    let status = host.server.wait().unwrap();
    assert!(status.success(), "{status}");
    host.restart();
    assert_eq!(host.get(&format!("/api/v1/entities/{run}")).ok()["state"]["health"], "running");
}

#[test]
fn two_readers_and_the_command_line_are_never_told_two_different_things() {
    let host = Host::start();
    let ledger = host.ledger();
    let id = born(&ledger, 1).to_string();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| storm(&host, &id, &is_over));
        let until = Instant::now() + Duration::from_secs(300);
        let (mut agreed, mut newest) = (0, 0);
        while Instant::now() < until && agreed < 60 {
            let one = scope.spawn(|| host.get(&format!("/api/v1/entities/{id}")).ok());
            let two = scope.spawn(|| host.get("/api/v1/entities").ok()["items"][0].clone());
            let output = callboard(&host.store(), &["inspect", &id, "--json"]).output().unwrap();
            let three: Value = serde_json::from_slice(&output.stdout).unwrap();
            let views = [one.join().unwrap(), two.join().unwrap(), three];
            for view in &views {
                let version = view["version"].as_u64().unwrap();
                // The first record is version 1 and enabled, and every other one pauses.
                let expected = if version % 2 == 1 { "enabled" } else { "paused" };
                assert_eq!(view["state"]["lifecycle"], expected, "version {version}");
                newest = newest.max(version);
            }
            for (a, b) in [(0, 1), (1, 2), (0, 2)] {
                if views[a]["version"] == views[b]["version"] {
                    assert_eq!(views[a]["chain"], views[b]["chain"]);
                    agreed += 1;
                }
            }
            // What was acknowledged before is seen by whoever asks after.
            let after = host.get(&format!("/api/v1/entities/{id}")).ok()["version"].as_u64().unwrap();
            let listed = host.get("/api/v1/entities").ok()["items"][0]["version"].as_u64().unwrap();
            assert!(after >= newest && listed >= after, "time ran backwards: {newest}, {after}, {listed}");
        }
        is_over.store(true, Ordering::Release);
        assert!(!writer.join().unwrap().is_empty());
        assert!(agreed >= 60 && newest > 3, "{agreed} pairs of answers were about the same version");
    });
    let quiet = append(
        &ledger,
        id.parse().unwrap(),
        callboard_kernel::Order::Observe(callboard_kernel::Observe {
            reasons: vec![],
            data: callboard_kernel::Facts::none(),
        }),
    );
    assert_eq!(host.get("/api/v1/entities").ok()["head"].as_u64(), Some(quiet));
}
