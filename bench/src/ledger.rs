//! The ledger's figures: durable transitions beside a bare SQLite transaction, and questions at a million entities.
//!
//! Invariant: every durable side syncs before it answers (`synchronous=FULL`), and says so. Deliberately absent: a
//! store in memory, and any figure without a sync.

use std::error::Error;
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use callboard_kernel::{
    Actor, Command, Create, EntityId, EvidenceRef, Facts, Moment, Order, StateReason, Transition,
};
use callboard_ledger::{Ledger, Listing, Options, Request};
use callboard_lifecycle::agent::ExecutionState;
use callboard_lifecycle::session::SessionState;
use callboard_lifecycle::{ActorClass, Kind, Lifecycle, ReasonCode};
use rusqlite::Connection;

use crate::measure::{self, Plan, Series, Side, Watch, grouped};

/// Long laps: a sync of this disk takes from 50 microseconds to some milliseconds.
const PLAN: Plan = Plan { rounds: 5, laps: 1, lap: Duration::from_millis(400) };
/// Entities of the large store, and how many of them need somebody.
const ENTITIES: u64 = 1_000_000;
const FLAGGED: u64 = 10_000;
/// Questions asked for one percentile.
const QUESTIONS: usize = 2_000;

/// Measures and prints.
pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let watch = Watch::start()?;
    let series = measure::take_turns(sides(directory.path())?, PLAN)?;
    println!("ledger: durable transitions a second; every side syncs before it answers (SQLite FULL)\n");
    measure::print_rates("transitions a second", &series);
    compare(&series);
    println!("\n{}", watch.conditions()?);
    println!("fdatasync of 4 KiB appended: {}", syncs(directory.path())?);
    large(directory.path())
}

fn sides(directory: &Path) -> Result<[Side<'static>; 4], Box<dyn Error>> {
    let bare = Bare::new(&directory.join("bare.db"))?;
    let side = |name, callers: u64| -> Result<Side<'static>, Box<dyn Error>> {
        let ledger = Ledger::open(&directory.join(format!("ours-{callers}.db")), Options::default())?;
        let mut fleet = Fleet::new(ledger, callers)?;
        Ok(Side { name, units: callers, work: Box::new(move |turns| fleet.work(turns)) })
    };
    Ok([
        Side {
            name: "bare SQLite: one insert, one checked update",
            units: 1,
            work: Box::new(bare.into_work()),
        },
        side("ledger, 1 caller", 1)?,
        side("ledger, 64 callers", 64)?,
        side("ledger, 256 callers", 256)?,
    ])
}

fn compare([bare, one, many, most]: &[Series; 4]) {
    println!("round by round:");
    for (what, side) in [("1 caller", one), ("64 callers", many), ("256 callers", most)] {
        let times = side.times(bare);
        println!(
            "  {what:<12} / bare SQLite, 1 caller {:>7.2} times ({:.2} - {:.2})",
            times.median, times.min, times.max
        );
    }
}

/// The floor: what one durable transition costs without a kernel, a hash, an index or a check.
struct Bare {
    connection: Connection,
    version: i64,
}

impl Bare {
    fn new(path: &Path) -> Result<Self, Box<dyn Error>> {
        let connection = Connection::open(path)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.execute_batch(
            "CREATE TABLE log (seq INTEGER PRIMARY KEY, entity INTEGER, body TEXT) STRICT;
             CREATE TABLE entity (id INTEGER PRIMARY KEY, state TEXT, version INTEGER) STRICT;
             INSERT INTO entity VALUES (1, 'idle', 0);",
        )?;
        Ok(Self { connection, version: 0 })
    }

    fn into_work(mut self) -> impl FnMut(u64) -> io::Result<Duration> {
        move |turns| {
            let start = Instant::now();
            for _ in 0..turns {
                self.transition().map_err(io::Error::other)?;
            }
            Ok(start.elapsed())
        }
    }

    fn transition(&mut self) -> Result<(), rusqlite::Error> {
        let body = r#"{"reasons":[{"code":"agent.busy.prompt","message":"a prompt was sent to it"}]}"#;
        self.connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        self.connection.prepare_cached("INSERT INTO log (entity, body) VALUES (1, ?1)")?.execute([body])?;
        self.connection
            .prepare_cached(
                "UPDATE entity SET state = 'busy', version = version + 1 WHERE id = 1 AND version = ?1",
            )?
            .execute([self.version])?;
        self.connection.prepare_cached("COMMIT")?.execute([])?;
        self.version += 1;
        Ok(())
    }
}

/// Callers that each move an agent of their own to and fro, one durable transition at a time.
struct Fleet {
    ledger: Ledger,
    busy: Vec<bool>,
}

impl Fleet {
    fn new(ledger: Ledger, callers: u64) -> Result<Self, Box<dyn Error>> {
        for caller in 0..callers {
            for order in [created(ExecutionState::Pending), SPAWNED.order(), CONNECTED.order()] {
                ledger.append(request(agent(caller), order))?;
            }
        }
        Ok(Self { ledger, busy: vec![false; callers as usize] })
    }

    fn work(&mut self, turns: u64) -> io::Result<Duration> {
        let start = Instant::now();
        let ledger = &self.ledger;
        std::thread::scope(|scope| {
            let callers: Vec<_> = self
                .busy
                .iter_mut()
                .enumerate()
                .map(|(caller, busy)| {
                    scope.spawn(move || to_and_fro(ledger, agent(caller as u64), busy, turns))
                })
                .collect();
            callers.into_iter().try_for_each(|caller| match caller.join() {
                Ok(done) => done,
                Err(_) => Err(io::Error::other("a caller panicked")),
            })
        })?;
        Ok(start.elapsed())
    }
}

fn to_and_fro(ledger: &Ledger, id: EntityId, busy: &mut bool, turns: u64) -> io::Result<()> {
    for _ in 0..turns {
        let step = if *busy { RESULT } else { PROMPT };
        ledger.append(request(id, step.order())).map_err(io::Error::other)?;
        *busy = !*busy;
    }
    Ok(())
}

/// One move of an agent with its reason.
#[derive(Clone, Copy)]
struct Step(ExecutionState, ReasonCode);

const SPAWNED: Step = Step(ExecutionState::Starting, ReasonCode::of("agent.starting.spawned"));
const CONNECTED: Step = Step(ExecutionState::Idle, ReasonCode::of("agent.idle.connected"));
const PROMPT: Step = Step(ExecutionState::Busy, ReasonCode::of("agent.busy.prompt"));
const RESULT: Step = Step(ExecutionState::Idle, ReasonCode::of("agent.idle.result"));

impl Step {
    fn order(self) -> Order {
        moved(self.0, self.1)
    }
}

fn moved(to: impl Into<Lifecycle>, code: ReasonCode) -> Order {
    let why = StateReason::new(code, "as the benchmark asked").shown_by(EvidenceRef::tool_result("seen"));
    Order::Transition(Transition::to(to, why))
}

fn created(at: impl Into<Lifecycle>) -> Order {
    Order::Create(Create {
        at: at.into(),
        reasons: vec![],
        data: Facts::none().with("title", "fix the flaky test"),
    })
}

fn agent(number: u64) -> EntityId {
    EntityId::new(Kind::Agent, uuid::Uuid::from_u128(u128::from(number)))
}

fn session(number: u64) -> EntityId {
    EntityId::new(Kind::Session, uuid::Uuid::from_u128(u128::from(number)))
}

fn request(entity: EntityId, order: Order) -> Request {
    Request {
        command: Command::new(entity, order),
        actor: Actor::new(ActorClass::Supervisor, "host-a/4711"),
        now: Moment::from_micros(1_794_770_358_000_000),
        cause: None,
    }
}

fn syncs(directory: &Path) -> io::Result<String> {
    let mut file = std::fs::File::create(directory.join("sync"))?;
    let mut took = Vec::new();
    for _ in 0..300 {
        file.write_all(&[7; 4096])?;
        let start = Instant::now();
        file.sync_data()?;
        took.push(start.elapsed());
    }
    Ok(percentiles(took))
}

fn percentiles(mut took: Vec<Duration>) -> String {
    took.sort();
    let at = |part: f64| took[((took.len() - 1) as f64 * part) as usize].as_secs_f64() * 1e6;
    format!("p50 {:.0} us, p99 {:.0} us, worst {:.0} us", at(0.5), at(0.99), at(1.0))
}

/// A million entities, some of which need somebody: questions, upkeep, and what a record weighs.
fn large(directory: &Path) -> Result<(), Box<dyn Error>> {
    println!("\n{} entities, {} of them need somebody", grouped(ENTITIES as f64), grouped(FLAGGED as f64));
    let path = directory.join("large.db");
    let ledger = Ledger::open(&path, Options::default())?;
    fill(&ledger, 0..ENTITIES)?;
    ask("attention, top 50", QUESTIONS, || ledger.attention(50).map(|found| found.len()))?;
    full_scan(&path)?;
    ask("one entity by id", QUESTIONS, || {
        ledger.entity(session(ENTITIES / 2)).map(|found| usize::from(found.is_some()))
    })?;
    let records = ledger.head()?;
    let rate = |what: &str, took: Duration| {
        println!("  {what:<44} {:>12} records a second", grouped(records as f64 / took.as_secs_f64()));
    };
    let start = Instant::now();
    let report = ledger.verify()?;
    rate("verify, both cores", start.elapsed());
    assert!(report.ok, "the store of the benchmark is sound: {report:?}");
    let start = Instant::now();
    ledger.rebuild()?;
    rate("rebuild of the views", start.elapsed());
    rate("reading the rows bare", bare_read(&path)?);
    weigh(&ledger)?;
    flat(directory, &ledger)
}

/// Every hundredth run failed; the rest wait to be started.
fn fill(ledger: &Ledger, numbers: std::ops::Range<u64>) -> Result<(), Box<dyn Error>> {
    let mut tickets = Vec::new();
    for number in numbers {
        let mut orders = vec![created(SessionState::Pending)];
        if number % (ENTITIES / FLAGGED) == 0 {
            orders.push(moved(SessionState::Running, ReasonCode::of("run.started.ok")));
            orders.push(moved(SessionState::Failed, ReasonCode::of("run.failed.exit_nonzero")));
        }
        tickets.extend(orders.into_iter().map(|order| ledger.submit(request(session(number), order))));
        if tickets.len() >= 4_000 {
            for ticket in tickets.drain(..) {
                ticket.wait()?;
            }
        }
    }
    for ticket in tickets {
        ticket.wait()?;
    }
    Ok(())
}

fn ask<E: Error + 'static>(
    what: &str,
    times: usize,
    mut question: impl FnMut() -> Result<usize, E>,
) -> Result<(), E> {
    let mut took = Vec::with_capacity(times);
    for _ in 0..times {
        let start = Instant::now();
        std::hint::black_box(question()?);
        took.push(start.elapsed());
    }
    println!("  {what:<44} {}", percentiles(took));
    Ok(())
}

/// What the attention question costs without its index.
fn full_scan(path: &Path) -> Result<(), Box<dyn Error>> {
    let connection = Connection::open(path)?;
    let sql = "SELECT id FROM entity WHERE +rank < 2 ORDER BY rank, entered_at LIMIT 50";
    ask("the same by a full scan", 5, || {
        let mut statement = connection.prepare_cached(sql)?;
        let found: Vec<Vec<u8>> = statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
        Ok::<_, rusqlite::Error>(found.len())
    })?;
    Ok(())
}

fn bare_read(path: &Path) -> Result<Duration, Box<dyn Error>> {
    let connection = Connection::open(path)?;
    let start = Instant::now();
    let mut statement = connection.prepare("SELECT * FROM ledger ORDER BY seq")?;
    let mut rows = statement.query([])?;
    let mut bytes = 0;
    while let Some(row) = rows.next()? {
        for column in 0..15 {
            bytes += std::hint::black_box(row.get_ref(column)?).data_type() as usize;
        }
    }
    std::hint::black_box(bytes);
    Ok(start.elapsed())
}

fn weigh(ledger: &Ledger) -> Result<(), Box<dyn Error>> {
    let info = ledger.info()?;
    let page = callboard_ledger::Page { after: 0, limit: 10_000, scope: callboard_ledger::Scope::All };
    let records = ledger.records(page)?;
    let json: usize = records
        .iter()
        .map(|record| serde_json::to_string(record).map(|text| text.len()))
        .sum::<Result<_, _>>()?;
    let json = json as f64 / records.len() as f64;
    let log: i64 = Connection::open(ledger.path())?.query_row(
        "SELECT sum(pgsize) FROM dbstat WHERE aggregate = TRUE AND name LIKE 'ledger%'",
        [],
        |row| row.get(0),
    )?;
    for (what, bytes) in
        [("the log and its indexes", log as f64), ("the whole store, views included", info.bytes as f64)]
    {
        let each = bytes / info.records as f64;
        println!(
            "  bytes a record, {what:<31} {each:>9.0} on disk, {json:.0} as JSON, ratio {:.2}",
            each / json
        );
    }
    Ok(())
}

/// Is the large store as quick to open, append to and ask as a small one?
fn flat(directory: &Path, large: &Ledger) -> Result<(), Box<dyn Error>> {
    let small = Ledger::open(&directory.join("small.db"), Options::default())?;
    fill(&small, 0..1_000)?;
    for (what, ledger) in [("1,000 entities", &small), ("1,000,000 entities", large)] {
        println!("  with {what}:");
        ask("    open", 20, || {
            Ledger::open(ledger.path(), Options::default()).map(|ledger| ledger.path().as_os_str().len())
        })?;
        let mut number = ENTITIES * 2;
        ask("    append, 1 caller, synced", 200, || {
            number += 1;
            ledger
                .append(request(session(number), created(SessionState::Pending)))
                .map(|receipt| receipt.record.seq as usize)
        })?;
        let live = Listing { kind: Some(Kind::Session), ended: false, limit: 50 };
        ask("    list the newest 50", 200, || ledger.entities(live).map(|found| found.len()))?;
    }
    Ok(())
}
