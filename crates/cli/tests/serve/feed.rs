//! The feed: nothing lost, nothing twice, nothing out of order, whoever writes and however a reader is cut off.

use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use callboard_kernel::{Actor, Command, Create, EntityId, Facts, Moment, Observe, Order};
use callboard_ledger::{Ledger, Request};
use callboard_lifecycle::schedule::ScheduleState;
use callboard_lifecycle::{ActorClass, Kind};

use crate::host::Host;
use crate::wire::{event, open};

/// Lets a schedule come to be, in the order of its number.
pub(crate) fn born(ledger: &Ledger, number: u128) -> EntityId {
    let id = EntityId::new(Kind::Schedule, uuid::Uuid::from_u128(number));
    append(
        ledger,
        id,
        Order::Create(Create { at: ScheduleState::Enabled.into(), reasons: vec![], data: Facts::none() }),
    );
    id
}

pub(crate) fn append(ledger: &Ledger, id: EntityId, order: Order) -> u64 {
    let request = Request {
        command: Command::new(id, order),
        actor: Actor::new(ActorClass::Operator, "test"),
        now: Moment::from_micros(1_800_000_000_000_000),
        cause: None,
    };
    match ledger.append(request) {
        Ok(receipt) => receipt.record.seq,
        Err(error) => panic!("{error}"),
    }
}

fn seen(text: &str) -> Order {
    Order::Observe(Observe { reasons: vec![], data: Facts::none().with("seen", text) })
}

/// Numbers that look random and are the same every time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// Reads the feed to a record, cutting the connection off again and again; the numbers it got.
fn read_with_cuts(host: &Host, filter: &str, until: u64, seed: u64) -> Vec<u64> {
    let (mut dice, mut all, mut last) = (Dice(seed), Vec::new(), None);
    let give_up = Instant::now() + Duration::from_secs(60);
    while last < Some(until) {
        assert!(Instant::now() < give_up, "it got only to {last:?} of {until}");
        let path = format!("/api/v1/events?since=0{filter}");
        let Some(mut stream) = open(host.address, &path, &host.token, last) else { continue };
        for _ in 0..=dice.below(200) {
            let Some((name, id, data)) = event(&mut stream) else { break };
            if name != "record" {
                continue;
            }
            let id = id.unwrap_or_else(|| panic!("a record without an id: {data}"));
            assert!(data.starts_with(&format!("{{\"seq\":{id},")), "{data}");
            all.push(id);
            last = Some(id);
            if id >= until {
                break;
            }
        }
    }
    all
}

#[test]
fn readers_that_are_cut_off_again_and_again_lose_nothing_and_get_nothing_twice() {
    let host = Host::start();
    let (records, writers) = (1500, 3);
    let ledger = host.ledger();
    let ids: Vec<EntityId> = (1..=writers).map(|number| born(&ledger, number)).collect();
    let last = writers as u64 + records * writers as u64;
    std::thread::scope(|scope| {
        for id in &ids {
            // Each on a handle of its own, as other programs are.
            let ledger = host.ledger();
            scope.spawn(move || {
                for n in 0..records {
                    append(&ledger, *id, seen(&n.to_string()));
                }
            });
        }
        let readers: Vec<_> = (1..=6)
            .map(|seed| {
                let host = &host;
                scope.spawn(move || read_with_cuts(host, "", last, seed * 7919))
            })
            .collect();
        for reader in readers {
            assert_eq!(reader.join().unwrap(), (1..=last).collect::<Vec<_>>());
        }
    });
    let of_one = ledger.records(callboard_ledger::Page {
        after: 0,
        limit: usize::MAX,
        scope: callboard_ledger::RecordScope::Entity(ids[0]),
    });
    let expected: Vec<u64> = of_one.unwrap().iter().map(|record| record.seq).collect();
    let newest = *expected.last().unwrap();
    assert_eq!(read_with_cuts(&host, &format!("&entity={}", ids[0]), newest, 3), expected);
    assert!(read_with_cuts(&host, "&kind=schedule&channel=audit", last, 5).len() as u64 == last);
}

#[test]
fn a_reader_that_does_not_read_harms_nobody_and_still_gets_everything() {
    let host = Host::start();
    let ledger = host.ledger();
    let id = born(&ledger, 1);
    let slow: Vec<_> =
        (0..50).filter_map(|_| open(host.address, "/api/v1/events?since=0", &host.token, None)).collect();
    assert_eq!(slow.len(), 50);
    let text = "x".repeat(10_000);
    let is_over = AtomicBool::new(false);
    let total = std::thread::scope(|scope| {
        let fast = scope.spawn(|| {
            let mut stream = open(host.address, "/api/v1/events?since=0", &host.token, None).unwrap();
            let mut count = 0;
            while let Some((name, id, _)) = event(&mut stream) {
                count += u64::from(name == "record");
                if is_over.load(Ordering::Acquire) && id == Some(2001) {
                    break;
                }
            }
            count
        });
        (0..2000).for_each(|n| {
            is_over.store(n == 1999, Ordering::Release);
            append(&ledger, id, seen(&text));
        });
        fast.join().unwrap()
    });
    assert_eq!(total, 2001, "the fast reader was not held up");
    assert_eq!(host.get("/api/v1/counts").status, 200);
    let memory = std::fs::read_to_string(format!("/proc/{}/status", host.server.id())).unwrap();
    let resident_kib: u64 = memory
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB")?.trim().parse().ok())
        .unwrap();
    assert!(
        resident_kib < 200 * 1024,
        "{resident_kib} KiB for 20 MB of records and 50 readers that do not read"
    );
    let mut late = slow.into_iter().next().unwrap();
    let mut expected = 1;
    while expected <= 2001 {
        let Some((name, id, _)) = event(&mut late) else { panic!("it ended before {expected}") };
        if name == "record" {
            assert_eq!(id, Some(expected));
            expected += 1;
        }
    }
}

#[test]
fn the_stream_of_one_run_ends_when_the_run_has() {
    let host = Host::start();
    let run = host.callboard(&["run", "--detach", "--", "sh", "-c", "sleep 0.3"]);
    let path = format!("/api/v1/entities/{run}/events");
    let mut stream = open(host.address, &path, &host.token, None).unwrap();
    let mut names = Vec::new();
    while let Some((name, _, _)) = event(&mut stream) {
        names.push(name);
    }
    names.retain(|name| name != "behind");
    assert_eq!(names.last().map(String::as_str), Some("done"));
    assert!(names.iter().filter(|name| *name == "record").count() >= 3, "{names:?}");
    let mut again = open(host.address, &path, &host.token, Some(1_000)).unwrap();
    let mut rest = String::new();
    again.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("event: reset") && rest.contains("event: done"), "{rest}");
    let bad = host.send("GET", &path, &format!("{}Last-Event-ID: soon\r\n", host.bearer(&host.token)), "");
    bad.problem(400);
}
