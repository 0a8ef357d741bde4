//! Durable transitions a second, beside a bare SQLite transaction and a bare PostgreSQL one.
//!
//! Invariant: every durable side syncs before it answers, and says how. Deliberately absent: a store in memory, and
//! any figure without a sync.

use std::error::Error;
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use callboard_ledger::{Ledger, Options};

use super::fleet::Fleet;
use super::{bare, large, peers, upkeep};
use crate::cluster::Cluster;
use crate::measure::{self, Plan, Series, Side, Took, Watch};

/// Long laps: a sync of this disk takes from 50 microseconds to some milliseconds.
const PLAN: Plan = Plan { rounds: 7, laps: 1, lap: Duration::from_millis(400) };
/// Records of the long store, unless `--records` says otherwise.
const RECORDS: u64 = 1_000_000;

/// Measures and prints.
pub(crate) fn run(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let chosen = parse(arguments)?;
    let directory = tempfile::tempdir()?;
    let watched = |part: &dyn Fn() -> Result<(), Box<dyn Error>>| -> Result<(), Box<dyn Error>> {
        let watch = Watch::start()?;
        part()?;
        println!("{}", watch.conditions()?);
        println!("fdatasync of 4 KiB appended, right after: {}", syncs(directory.path())?);
        Ok(())
    };
    watched(&|| transitions(directory.path()))?;
    watched(&|| large::run(directory.path()))?;
    watched(&|| upkeep::run(directory.path(), chosen.records))?;
    if chosen.peers {
        watched(&|| peers::run(directory.path()))?;
    }
    Ok(())
}

/// What the command line asks for.
struct Chosen {
    records: u64,
    peers: bool,
}

fn parse(arguments: &[String]) -> Result<Chosen, Box<dyn Error>> {
    let mut chosen = Chosen { records: RECORDS, peers: false };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--peers" => chosen.peers = true,
            "--records" => {
                let number = rest.next().and_then(|number| number.replace(['_', ','], "").parse().ok());
                chosen.records = number.ok_or("--records needs a number")?;
            }
            other => return Err(format!("{other:?} is not known; there are --records N and --peers").into()),
        }
    }
    Ok(chosen)
}

fn transitions(directory: &Path) -> Result<(), Box<dyn Error>> {
    let cluster = Cluster::start();
    let server = bare::Postgres::new(&cluster, directory)?;
    println!("durable transitions a second");
    println!("SQLite sides: WAL, synchronous=FULL; PostgreSQL sides: {}", server.sync_mode());
    let clients = server.best_clients()?;
    let ours = |name, store: &str, callers: u64| -> Result<Side<'_>, Box<dyn Error>> {
        let mut fleet = Fleet::new(Ledger::connect(store, Options::default())?, callers)?;
        Ok(Side { name, units: callers, work: Box::new(move |turns| fleet.work(turns)) })
    };
    let file = |callers: u64| directory.join(format!("ours-{callers}.db")).display().to_string();
    let database = |callers: u64| cluster.database(&format!("ours_{callers}"));
    let floor = bare::Sqlite::new(&directory.join("bare.db"))?;
    let sides = [
        Side { name: "bare SQLite, 1 caller", units: 1, work: Box::new(floor.into_work()) },
        ours("ledger on SQLite, 1 caller", &file(1), 1)?,
        ours("ledger on SQLite, 64 callers", &file(64), 64)?,
        ours("ledger on SQLite, 256 callers", &file(256), 256)?,
        Side {
            name: "bare PostgreSQL, its best client count",
            units: clients,
            work: Box::new(|turns| server.work(clients, turns)),
        },
        ours("ledger on PostgreSQL, 1 caller", &database(1), 1)?,
        ours("ledger on PostgreSQL, 16 callers", &database(16), 16)?,
        ours("ledger on PostgreSQL, 64 callers", &database(64), 64)?,
    ];
    let series = measure::take_turns(sides, PLAN)?;
    measure::print_rates("transitions a second", &series);
    compare(&series);
    Ok(())
}

fn compare([sqlite, one, many, most, postgres, pg_one, pg_some, pg_many]: &[Series; 8]) {
    println!("round by round:");
    for (what, side, floor, aim) in [
        ("SQLite, 1 caller / bare SQLite", one, sqlite, "0.9"),
        ("SQLite, 64 callers / bare PostgreSQL", many, postgres, "5"),
        ("SQLite, 256 callers / bare PostgreSQL", most, postgres, "5"),
        ("PostgreSQL, 1 caller / bare PostgreSQL", pg_one, postgres, "none"),
        ("PostgreSQL, 16 callers / bare PostgreSQL", pg_some, postgres, "2"),
        ("PostgreSQL, 64 callers / bare PostgreSQL", pg_many, postgres, "none"),
    ] {
        let times = side.times(floor);
        println!("  {what:<44} {:>6.2} times ({:.2} - {:.2}), aim {aim}", times.median, times.min, times.max);
    }
}

fn syncs(directory: &Path) -> io::Result<Took> {
    let mut file = std::fs::File::create(directory.join("sync"))?;
    let mut took = Took::default();
    for _ in 0..300 {
        file.write_all(&[7; 4096])?;
        let start = Instant::now();
        file.sync_data()?;
        took.add(start.elapsed());
    }
    Ok(took)
}
