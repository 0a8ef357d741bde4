//! The live feed to a thousand listeners, beside raw sockets that are written to once for each event.
//!
//! Invariant: both sides send the same bytes to as many sockets, and the same loop reads them; one listener compares
//! every byte with what the ledger holds. Deliberately absent: listeners that read slowly; a torture does that.

use std::cell::RefCell;
use std::error::Error;
use std::io::{self, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use callboard_kernel::{Actor, Command, Create, EntityId, Facts, Observe, Order};
use callboard_ledger::{Ledger, Options, Page, RecordScope, Request};
use callboard_lifecycle::session::SessionState;
use callboard_lifecycle::{ActorClass, Kind, ReasonCode};

use super::crowd::Crowd;
use super::host::Host;
use super::parts::Places;
use super::store::{keeper, moved, now};
use super::wire;
use crate::measure::{self, Plan, Side, Took};

const LISTENERS: usize = 1_000;
/// Events of one burst.
const BURST: u64 = 300;
const PLAN: Plan = Plan { rounds: 5, laps: 1, lap: Duration::ZERO };
/// Events one by one, and how many a second.
const STEADY: usize = 300;
const A_SECOND: u32 = 20;
/// As many threads as the server has to serve connections.
const WRITERS: usize = 2;

/// Measures and prints.
pub(super) fn run(places: &Places<'_>) -> Result<(), Box<dyn Error>> {
    let store = places.scratch.join("feed/s.db");
    std::fs::create_dir_all(store.parent().unwrap_or(&store))?;
    let ledger = Ledger::open(&store, Options::default())?;
    let data = Facts::none().with("title", "fix the flaky test of the importer");
    ledger.append(request(Order::Create(Create {
        at: SessionState::Pending.into(),
        reasons: vec![],
        data,
    })))?;
    // A run at work with a supervisor that lives: nothing is judged differently meanwhile, so records are all that is sent.
    let code = ReasonCode::of("run.started.ok");
    ledger.append(request(moved(SessionState::Running, code, keeper()?)))?;
    let host = Host::start(places.callboard, &store)?;
    let frames = RefCell::new(Vec::new());
    let units = BURST * LISTENERS as u64;
    let sides = [
        Side {
            name: "the feed, recorded by another process",
            units,
            work: Box::new(|_| {
                let (took, sent) =
                    burst(&host, &ledger).map_err(|error| io::Error::other(error.to_string()))?;
                frames.replace(sent);
                Ok(took)
            }),
        },
        Side {
            name: "raw sockets, one write an event, nothing recorded",
            units,
            work: Box::new(|_| floor(&frames.borrow())),
        },
    ];
    let series = measure::take_turns(sides, PLAN)?;
    let size = frames.borrow().iter().map(Vec::len).sum::<usize>() / BURST as usize;
    println!("  bursts of {BURST} events of {size} bytes to {LISTENERS} listeners");
    measure::print_rates("  deliveries a second", &series);
    let times = series[0].times(&series[1]);
    println!(
        "  the feed / raw sockets                                 {:>6.2} times ({:.2} - {:.2}; aim: at least 1)",
        times.median, times.min, times.max
    );
    delays(&host, &ledger, &store)
}

fn entity() -> EntityId {
    EntityId::new(Kind::Session, uuid::Uuid::from_u128(1 << 90))
}

fn request(order: Order) -> Request {
    let actor = Actor::new(ActorClass::Supervisor, "host-a/4711");
    Request { command: Command::new(entity(), order), actor, now: now(), cause: None }
}

fn heard(number: u64) -> Request {
    let data = Facts::none()
        .with("tool_calls", number as i64)
        .with("status", "Running the tests again with the seed that failed");
    request(Order::Observe(Observe { reasons: vec![], data }))
}

fn listeners(host: &Host) -> Result<Crowd, Box<dyn Error>> {
    let sockets = (0..LISTENERS).map(|_| wire::listen(host.address, &host.token));
    Ok(Crowd::of(sockets.collect::<Result<_, _>>()?)?)
}

/// Events, each with the bytes of its own.
type Frames = Vec<Vec<u8>>;

/// The events as the feed writes them.
fn sent_after(ledger: &Ledger, after: u64) -> Result<Frames, Box<dyn Error>> {
    let records = ledger.records(Page { after, limit: usize::MAX >> 1, scope: RecordScope::All })?;
    let frame = |record: &callboard_ledger::Record| {
        let line = record.line()?;
        Ok::<_, Box<dyn Error>>(format!("id: {}\nevent: record\ndata: {line}\n\n", record.seq).into_bytes())
    };
    records.iter().map(frame).collect()
}

/// From the first order to record until the last listener has the last event.
fn burst(host: &Host, ledger: &Ledger) -> Result<(Duration, Frames), Box<dyn Error>> {
    let mut crowd = listeners(host)?;
    let head = ledger.head()?;
    let began = Instant::now();
    let tickets: Vec<_> = (0..BURST).map(|number| ledger.submit(heard(number))).collect();
    tickets.into_iter().try_for_each(|ticket| ticket.wait().map(drop))?;
    let frames = sent_after(ledger, head)?;
    crowd.read_until(frames.iter().map(Vec::len).sum())?;
    let took = began.elapsed();
    if crowd.witnessed() != frames.concat() {
        return Err("a listener got other bytes than were recorded".into());
    }
    Ok((took, frames))
}

fn floor(frames: &[Vec<u8>]) -> io::Result<Duration> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    let (mut near, mut far) = (Vec::new(), Vec::new());
    for _ in 0..LISTENERS {
        near.push(TcpStream::connect(address)?);
        let socket = listener.accept()?.0;
        socket.set_nodelay(true)?;
        far.push(socket);
    }
    let mut crowd = Crowd::of(near)?;
    let began = Instant::now();
    std::thread::scope(|scope| {
        let writers: Vec<_> = far
            .chunks_mut(LISTENERS / WRITERS)
            .map(|sockets| {
                scope.spawn(move || {
                    let each = |frame| sockets.iter_mut().try_for_each(|socket| socket.write_all(frame));
                    frames.iter().map(Vec::as_slice).try_for_each(each)
                })
            })
            .collect();
        crowd.read_until(frames.iter().map(Vec::len).sum())?;
        writers.into_iter().try_for_each(|writer| match writer.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })?;
    Ok(began.elapsed())
}

/// One event after another, at a steady pace: how late is each of them at each listener?
fn delays(host: &Host, ledger: &Ledger, store: &Path) -> Result<(), Box<dyn Error>> {
    let pace = Duration::from_secs(1) / A_SECOND;
    println!(
        "  {STEADY} events, {A_SECOND} a second, to {LISTENERS} listeners: how late each is at each of them"
    );
    let other = Ledger::open(store, Options::default())?;
    let mut by_other = |number| {
        other.append(heard(number))?;
        Ok(Instant::now())
    };
    let late = paced(host, ledger, pace, &mut by_other)?;
    println!("  {:<58} {late} (aim: p99 under 50000)", "from the commit of another process to receipt");
    let mut orders = host.wire()?;
    let path = format!("/api/v1/entities/{}/notes", entity());
    let mut by_server = |_| {
        let asked = Instant::now();
        orders.post(&path, r#"{"text":"Running the tests again with the seed that failed"}"#)?;
        Ok(asked)
    };
    let late = paced(host, ledger, pace, &mut by_server)?;
    println!("  {:<58} {late}", "from an order over HTTP to receipt, the sync between");
    Ok(())
}

type Event<'a> = &'a mut (dyn FnMut(u64) -> Result<Instant, Box<dyn Error>> + Send);

fn paced(host: &Host, ledger: &Ledger, pace: Duration, event: Event<'_>) -> Result<Took, Box<dyn Error>> {
    let mut crowd = listeners(host)?;
    let head = ledger.head()?;
    let began = Instant::now();
    let since = std::thread::scope(|scope| {
        let recording = scope.spawn(move || {
            let mut since = Vec::new();
            for number in 0..STEADY {
                let due = began + pace * number as u32;
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
                since.push(event(number as u64).map_err(|error| error.to_string())?);
            }
            Ok::<_, String>(since)
        });
        while !recording.is_finished() {
            crowd.read_for(Duration::from_millis(100))?;
        }
        let since = recording.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        since.map_err(Box::<dyn Error>::from)
    })?;
    let frames = sent_after(ledger, head)?;
    crowd.read_until(frames.iter().map(Vec::len).sum())?;
    let ends = frames.iter().scan(0, |end, frame| {
        *end += frame.len();
        Some(*end)
    });
    let mut late = Took::default();
    for (end, since) in ends.zip(since) {
        crowd.received(end).for_each(|at| late.add(at.saturating_duration_since(since)));
    }
    Ok(late)
}
