//! Stores of many runs, most of which ended, as a fleet of agents leaves them behind.
//!
//! Invariant: what lives is spread evenly over the log and is as long as what a supervised agent records. The processes
//! of the live runs are this process, because ten thousand real ones would be measured instead of the server.

use std::error::Error;
use std::path::{Path, PathBuf};

use callboard_kernel::{
    Actor, Command, Create, EntityId, EvidenceRef, Facts, Moment, Observe, Order, StateReason, Transition,
    Value,
};
use callboard_ledger::{Ledger, Options, Request};
use callboard_lifecycle::session::SessionState;
use callboard_lifecycle::{ActorClass, Kind, Lifecycle, ReasonCode};
use callboard_supervisor::process;

use crate::measure::grouped;

/// Entities of the large store.
pub(super) const ENTITIES: u64 = 1_000_000;
/// How many live; of these, how many wait for a person, and beside them, how many failed and nobody looked yet.
const LIVE: u64 = 10_000;
const WAITING: u64 = 500;
const FAILED: u64 = 1_000;

/// One line about a store.
pub(super) fn described(entities: u64) -> String {
    let [all, live, waiting, failed] = [entities, LIVE, WAITING, FAILED].map(|number| grouped(number as f64));
    format!(
        "{all} runs, {live} of them live, {waiting} of these wait for a person; {failed} failed, the rest ended well"
    )
}

/// A store with this many entities in a directory.
pub(super) fn filled(directory: &Path, entities: u64) -> Result<PathBuf, Box<dyn Error>> {
    let path = directory.join("s.db");
    std::fs::create_dir_all(directory)?;
    fill(&path, entities)?;
    Ok(path)
}

fn fill(path: &Path, entities: u64) -> Result<(), Box<dyn Error>> {
    if entities < LIVE {
        return Err(format!("{} entities are the least", grouped(LIVE as f64)).into());
    }
    let ledger = Ledger::open(path, Options { queue_max: 16_384, batch_max: 4_096, ..Options::default() })?;
    let (keeper, step) = (keeper()?, entities / LIVE);
    let mut tickets = Vec::new();
    for number in 0..entities {
        let id = run(number);
        let mut orders = vec![Order::Create(Create {
            at: SessionState::Pending.into(),
            reasons: vec![],
            data: Facts::none().with("title", title(number)),
        })];
        if number % step == 0 {
            let waits = (number / step) % (LIVE / WAITING) == 0;
            orders.push(moved(
                SessionState::Running,
                ReasonCode::of("run.started.ok"),
                at_work(number, &keeper, waits),
            ));
        } else if number % (step * LIVE / FAILED) == 1 {
            orders.push(moved(SessionState::Failed, ReasonCode::of("run.failed.spawn"), Facts::none()));
        } else {
            orders.push(moved(
                SessionState::Cancelled,
                ReasonCode::of("run.cancelled.sigterm"),
                Facts::none(),
            ));
        }
        tickets.extend(orders.into_iter().map(|order| ledger.submit(request(id, order))));
        if tickets.len() >= 8_000 {
            tickets.drain(..).try_for_each(|ticket| ticket.wait().map(drop))?;
        }
    }
    Ok(tickets.into_iter().try_for_each(|ticket| ticket.wait().map(drop))?)
}

/// The nth of those that live; there are ten thousand, and then it begins again.
pub(super) fn live(nth: u64, entities: u64) -> EntityId {
    run(nth % LIVE * (entities / LIVE))
}

/// Something was heard of it: the record that is written most often.
pub(super) fn heard(id: EntityId, tool_calls: u64) -> Request {
    let data = Facts::none().with("tool_calls", tool_calls as i64);
    request(id, Order::Observe(Observe { reasons: vec![], data }))
}

/// This process, as a supervisor records itself.
pub(super) fn keeper() -> Result<Facts, Box<dyn Error>> {
    let this = process::this()?;
    let process = Facts::none()
        .with("pid", i64::from(this.pid))
        .with("started_ticks", i64::try_from(this.started_ticks)?);
    Ok(Facts::none().with("host", this.host).with("boot", this.boot).with("supervisor", Value::Map(process)))
}

/// What an agent at work has recorded.
fn at_work(number: u64, keeper: &Facts, waits: bool) -> Facts {
    let count = |number: u64| Value::Int(number as i64);
    let words = ["claude", "-p", "fix the flaky test in the importer and say why it was flaky"];
    let directory = format!("/srv/projects/web-{}/checkout", number % 40);
    let tokens = Facts::none()
        .with("input", count(18_400 + number % 977))
        .with("output", count(2_200 + number % 311))
        .with("cache_read", count(104_000))
        .with("cache_write", count(9_100))
        .with("total", count(133_700));
    let mut facts = keeper
        .clone()
        .with("adapter", "claude-code")
        .with("argv", Value::List(words.map(Value::from).to_vec()))
        .with(
            "artifacts",
            Value::Map(Facts::none().with("contract", Value::Null).with("dir", directory.as_str())),
        )
        .with("cost_usd", "0.4213")
        .with("cwd", directory.as_str())
        .with("dir", format!("/srv/state/callboard/runs/{}", run(number)))
        .with("events", count(412))
        .with("labels", Value::Map(Facts::none().with("team", "tools")))
        .with("last_progress_at", now().to_string())
        .with("model", "claude-sonnet-4-5")
        .with("pid", count(4_711))
        .with("program", "claude-code")
        .with("project", if number.is_multiple_of(3) { "web" } else { "importer" })
        .with("status", "Running the tests again with the seed that failed")
        .with("tokens", Value::Map(tokens))
        .with("tool_calls", count(37))
        .with("turns", count(21))
        .with("vendor_session", "5b0e1c9a-3f77-4d53-9a38-0c0f7f6f2f10");
    if waits {
        facts.set("waits_for", "permission to run `cargo publish --dry-run`");
        facts.set("waits_since", now().to_string());
    }
    facts
}

fn title(number: u64) -> String {
    format!("fix the flaky test {number} of the importer")
}

pub(super) fn moved(to: impl Into<Lifecycle>, code: ReasonCode, data: Facts) -> Order {
    let why = StateReason::new(code, "as the benchmark asked").shown_by(EvidenceRef::tool_result("seen"));
    let mut order = Transition::to(to, why);
    order.data = data;
    Order::Transition(order)
}

/// In front what grows with time, behind it what looks random, as ids are made.
fn run(number: u64) -> EntityId {
    let random = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    let random = random.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    EntityId::new(Kind::Session, uuid::Uuid::from_u128((u128::from(number) << 64) | u128::from(random)))
}

fn request(id: EntityId, order: Order) -> Request {
    let actor = Actor::new(ActorClass::Supervisor, "host-a/4711");
    Request { command: Command::new(id, order), actor, now: now(), cause: None }
}

/// What time it is: the server judges by the real one.
#[expect(clippy::disallowed_methods, reason = "a store whose runs are at work now needs the time of now")]
pub(super) fn now() -> Moment {
    jiff::Timestamp::now().into()
}
