//! Durable transitions through HTTP beside the same ones in this process.
//!
//! Invariant: the same order by the same sort of actor to entities of their own, each waited for before the next; both
//! sides write a store of their own on the same disk, and take turns.

use std::error::Error;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use callboard_kernel::{
    Actor, Command, Create, EntityId, EvidenceRef, Facts, Order, StateReason, Transition,
};
use callboard_ledger::{Ledger, Options, Request};
use callboard_lifecycle::schedule::ScheduleState;
use callboard_lifecycle::{ActorClass, Kind, ReasonCode};

use super::host::Host;
use super::parts::Places;
use super::store::now;
use super::wire::Wire;
use crate::measure::{self, Plan, Side};

const PLAN: Plan = Plan { rounds: 5, laps: 1, lap: Duration::from_millis(1500) };
const MANY: u64 = 64;

const HELD: &str =
    r#"{"to":"paused","reason":"schedule.paused.operator","message":"as the benchmark asked"}"#;
const RESUMED: &str =
    r#"{"to":"enabled","reason":"schedule.enabled.operator","message":"as the benchmark asked"}"#;

/// Measures and prints.
pub(super) fn run(places: &Places<'_>) -> Result<(), Box<dyn Error>> {
    let (served, own) = (places.scratch.join("moves-served/s.db"), places.scratch.join("moves-own/s.db"));
    for store in [&served, &own] {
        std::fs::create_dir_all(store.parent().unwrap_or(store))?;
        make(store)?;
    }
    let host = Host::start(places.callboard, &served)?;
    let ledger = Ledger::open(&own, Options::default())?;
    let (mut paused_one, mut paused_many) = (vec![false; 1], vec![false; MANY as usize]);
    let (mut own_one, mut own_many) = (vec![false; 1], vec![false; MANY as usize]);
    let sides = [
        Side {
            name: "HTTP, 1 client",
            units: 1,
            work: Box::new(|turns| through(&host, &mut paused_one, 1_000, turns)),
        },
        Side {
            name: "in process, 1 caller",
            units: 1,
            work: Box::new(|turns| within(&ledger, &mut own_one, 1_000, turns)),
        },
        Side {
            name: "HTTP, 64 clients",
            units: MANY,
            work: Box::new(|turns| through(&host, &mut paused_many, 0, turns)),
        },
        Side {
            name: "in process, 64 callers",
            units: MANY,
            work: Box::new(|turns| within(&ledger, &mut own_many, 0, turns)),
        },
    ];
    let series = measure::take_turns(sides, PLAN)?;
    measure::print_rates("durable transitions a second", &series);
    for [http, own] in [[0, 1], [2, 3]] {
        let times = series[http].times(&series[own]);
        let name = format!("{} / {}", series[http].name, series[own].name);
        println!("  {name:<56} {:>6.2} times ({:.2} - {:.2})", times.median, times.min, times.max);
    }
    Ok(())
}

fn schedule(number: u64) -> EntityId {
    EntityId::new(Kind::Schedule, uuid::Uuid::from_u128((1 << 90) + u128::from(number)))
}

/// The entities that both sides move.
fn make(store: &Path) -> Result<(), Box<dyn Error>> {
    let ledger = Ledger::open(store, Options::default())?;
    for number in (0..MANY).chain([1_000]) {
        let at = ScheduleState::Enabled.into();
        ledger.append(request(number, Order::Create(Create { at, reasons: vec![], data: Facts::none() })))?;
    }
    Ok(())
}

fn request(number: u64, order: Order) -> Request {
    let actor = Actor::new(ActorClass::Operator, "somebody");
    let cause = Some("http transition 0123456789abcdef".to_owned());
    Request { command: Command::new(schedule(number), order), actor, now: now(), cause }
}

fn order(paused: bool) -> Order {
    let (to, code) = match paused {
        true => (ScheduleState::Enabled, ReasonCode::of("schedule.enabled.operator")),
        false => (ScheduleState::Paused, ReasonCode::of("schedule.paused.operator")),
    };
    let said = "as the benchmark asked";
    let why = StateReason::new(code, said).shown_by(EvidenceRef::human_assertion(said));
    Order::Transition(Transition::to(to, why))
}

/// Every client moves its entity to and fro. Its connection is opened before: the server closes one that is silent.
fn through(host: &Host, paused: &mut [bool], first: u64, turns: u64) -> io::Result<Duration> {
    let mut wires = paused.iter().map(|_| host.wire()).collect::<io::Result<Vec<Wire>>>()?;
    let clients = wires.iter_mut().zip(paused).zip(first..);
    at_once(clients.map(|((wire, paused), number)| {
        move || {
            let path = format!("/api/v1/entities/{}/transition", schedule(number));
            for _ in 0..turns {
                let body = if *paused { RESUMED } else { HELD };
                wire.post(&path, body).map_err(|error| io::Error::other(error.to_string()))?;
                *paused = !*paused;
            }
            Ok(())
        }
    }))
}

/// The same without a server.
fn within(ledger: &Ledger, paused: &mut [bool], first: u64, turns: u64) -> io::Result<Duration> {
    at_once(paused.iter_mut().zip(first..).map(|(paused, number)| {
        move || {
            for _ in 0..turns {
                ledger.append(request(number, order(*paused))).map_err(io::Error::other)?;
                *paused = !*paused;
            }
            Ok(())
        }
    }))
}

fn at_once<W: FnOnce() -> io::Result<()> + Send>(work: impl Iterator<Item = W>) -> io::Result<Duration> {
    let began = Instant::now();
    std::thread::scope(|scope| {
        let all: Vec<_> = work.map(|one| scope.spawn(one)).collect();
        all.into_iter().try_for_each(|one| match one.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })?;
    Ok(began.elapsed())
}
