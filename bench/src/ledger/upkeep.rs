//! A store with a long history: verify, rebuild, what a record weighs, and whether the length of the log is felt.
//!
//! Invariant: eight records an entity, many entities at once, as agents at work leave them. The small store has the
//! same shape, and the two take turns.

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use callboard_kernel::Order;
use callboard_ledger::{Ledger, Listing, Options, Page, RecordScope};
use callboard_lifecycle::Kind;
use callboard_lifecycle::agent::ExecutionState;
use rusqlite::Connection;

use super::fleet::{CONNECTED, PROMPT, RESULT, SPAWNED, agent, created, request};
use crate::measure::{Took, grouped, own_time};

/// Records of one entity.
const EACH: u64 = 8;
/// Entities at work at once.
const CROWD: u64 = 500;
/// Records of the small store.
const SMALL: u64 = 1_000;
/// How often each of verify, rebuild and the bare reading is run.
const ROUNDS: usize = 3;

/// Large batches, so that filling a store takes less time than measuring it.
pub(super) fn filling() -> Options {
    Options { queue_max: 16_384, batch_max: 4_096, ..Options::default() }
}

/// Measures and prints.
pub(super) fn run(directory: &Path, records: u64) -> Result<(), Box<dyn Error>> {
    println!("\n{} records, {EACH} an entity, {CROWD} entities at work at once", grouped(records as f64));
    let (path, small) = (directory.join("long.db"), directory.join("short.db"));
    for (path, records) in [(&path, records), (&small, SMALL)] {
        fill(&Ledger::open(path, filling())?, records)?;
    }
    weigh(&path)?;
    let (long, short) = (Ledger::open(&path, Options::default())?, Ledger::open(&small, Options::default())?);
    flat(&short, &long)?;
    walk(&path, &long)
}

fn fill(ledger: &Ledger, records: u64) -> Result<(), Box<dyn Error>> {
    let entities = records.div_ceil(EACH);
    for first in (0..entities).step_by(CROWD as usize) {
        let mut tickets = Vec::new();
        for step in 0..EACH {
            let crowd = first..(first + CROWD).min(entities);
            tickets.extend(crowd.map(|number| ledger.submit(request(agent(number), order(step)))));
        }
        tickets.into_iter().try_for_each(|ticket| ticket.wait().map(drop))?;
    }
    Ok(())
}

/// What an agent does as its nth step.
fn order(step: u64) -> Order {
    match step {
        0 => created(ExecutionState::Pending),
        1 => SPAWNED.order(),
        2 => CONNECTED.order(),
        step if step % 2 == 1 => PROMPT.order(),
        _ => RESULT.order(),
    }
}

fn weigh(path: &Path) -> Result<(), Box<dyn Error>> {
    let ledger = Ledger::open(path, Options::default())?;
    let (records, sample) =
        (ledger.head()?, ledger.records(Page { after: 0, limit: 8_000, scope: RecordScope::All })?);
    drop(ledger);
    let json = sample.iter().map(|record| serde_json::to_string(record).map(|text| text.len() + 1));
    let json = json.sum::<Result<usize, _>>()? as f64 / sample.len() as f64;
    let connection = Connection::open(path)?;
    let size = |tables: &str| -> Result<f64, rusqlite::Error> {
        let sql = format!("SELECT sum(pgsize) FROM dbstat WHERE aggregate = TRUE AND name LIKE '{tables}'");
        connection.query_row(&sql, [], |row| row.get::<_, i64>(0)).map(|bytes| bytes as f64)
    };
    let whole = std::fs::metadata(path)?.len() as f64;
    for (what, bytes) in [
        ("the log", size("ledger")?),
        ("the log and its indexes", size("ledger%")?),
        ("the whole store, views and checkpoints included", whole),
    ] {
        let each = bytes / records as f64;
        println!(
            "  bytes a record, {what:<49} {each:>6.0} on disk, {json:.0} as JSON, ratio {:.2}",
            each / json
        );
    }
    Ok(())
}

/// Is the long store as quick to open, append to and ask as the short one?
fn flat(short: &Ledger, long: &Ledger) -> Result<(), Box<dyn Error>> {
    let stores = [short, long];
    let compare = |what: &str, [short, long]: [Took; 2]| {
        let ratio = long.at(0.5).as_secs_f64() / short.at(0.5).as_secs_f64();
        println!("  {what:<32} short: {short}; long: {long}; p50 ratio {ratio:.2}");
    };
    let mut took = [Took::default(), Took::default()];
    for _ in 0..100 {
        for (store, took) in stores.iter().zip(&mut took) {
            took.time(|| Ledger::open(store.path(), Options::default()).map(drop))?;
        }
    }
    compare("open and close", took);
    let mut took = [Took::default(), Took::default()];
    for number in 0..300 {
        for (store, took) in stores.iter().zip(&mut took) {
            let id = agent(1 << 40 | number);
            took.time(|| store.append(request(id, created(ExecutionState::Pending))).map(drop))?;
        }
    }
    compare("append, 1 caller, SQLite FULL", took);
    let live = Listing { kind: Some(Kind::Agent), ended: false, limit: 50 };
    let mut took = [Took::default(), Took::default()];
    for _ in 0..1_000 {
        for (store, took) in stores.iter().zip(&mut took) {
            took.time(|| store.entities(live).map(drop))?;
        }
    }
    compare("list the newest 50", took);
    let mut took = [Took::default(), Took::default()];
    for number in 0..1_000 {
        for (store, took) in stores.iter().zip(&mut took) {
            let page =
                Page { after: 0, limit: 100, scope: RecordScope::Entity(agent(number % (SMALL / EACH))) };
            took.time(|| store.records(page).map(drop))?;
        }
    }
    compare("the history of one entity", took);
    Ok(())
}

/// Reads the whole log in three ways, in turns.
fn walk(path: &Path, ledger: &Ledger) -> Result<(), Box<dyn Error>> {
    let records = ledger.head()? as f64;
    let [mut verify, mut rebuild, mut bare] = [(); 3].map(|()| (Took::default(), Duration::ZERO));
    let time = |(took, cores): &mut (Took, Duration), work: &dyn Fn() -> Result<(), Box<dyn Error>>| {
        let before = own_time()?;
        took.time(work)?;
        *cores += own_time()? - before;
        Ok::<_, Box<dyn Error>>(())
    };
    for _ in 0..ROUNDS {
        time(&mut bare, &|| bare_read(path))?;
        time(&mut verify, &|| Ok(ledger.verify().map(|report| assert!(report.ok, "{report:?}"))?))?;
        time(&mut rebuild, &|| Ok(ledger.rebuild()?))?;
    }
    let floor = bare.0.at(0.5).as_secs_f64();
    for (what, (took, cores)) in [
        ("reading the rows bare, one core", &bare),
        ("verify, both cores", &verify),
        ("rebuild of the views, both cores fold", &rebuild),
    ] {
        let rate = |part: f64| records / took.at(part).as_secs_f64();
        println!(
            "  {what:<40} {:>10} records a second ({} - {}), {:.2} of reading bare; core time {:.2} us each",
            grouped(rate(0.5)),
            grouped(rate(1.0)),
            grouped(rate(0.0)),
            floor / took.at(0.5).as_secs_f64(),
            cores.as_secs_f64() * 1e6 / records / ROUNDS as f64,
        );
    }
    Ok(())
}

fn bare_read(path: &Path) -> Result<(), Box<dyn Error>> {
    let connection = Connection::open(path)?;
    let mut statement = connection.prepare("SELECT * FROM ledger ORDER BY seq")?;
    let mut rows = statement.query([])?;
    let mut bytes = 0;
    while let Some(row) = rows.next()? {
        for column in 0..15 {
            bytes += std::hint::black_box(row.get_ref(column)?).data_type() as usize;
        }
    }
    std::hint::black_box(bytes);
    Ok(())
}
