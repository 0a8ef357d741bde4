//! Questions to a store of a million entities, some of which need somebody.
//!
//! Invariant: the index is asked bare in the same run, in turns with the ledger, and a full scan shows what it saves.

use std::error::Error;
use std::path::Path;

use callboard_ledger::{Ledger, Options};
use callboard_lifecycle::ReasonCode;
use callboard_lifecycle::session::SessionState;
use rusqlite::Connection;

use super::fleet::{created, moved, request, session};
use crate::measure::{Took, grouped};

/// Entities, and how many of them need somebody.
const ENTITIES: u64 = 1_000_000;
const FLAGGED: u64 = 10_000;
/// Questions asked for one percentile.
const QUESTIONS: usize = 5_000;

/// Measures and prints.
pub(super) fn run(directory: &Path) -> Result<(), Box<dyn Error>> {
    println!("\n{} entities, {} of them need somebody", grouped(ENTITIES as f64), grouped(FLAGGED as f64));
    let path = directory.join("large.db");
    let ledger = Ledger::open(&path, super::upkeep::filling())?;
    fill(&ledger)?;
    drop(ledger);
    let ledger = Ledger::open(&path, Options::default())?;
    let bare = Connection::open(&path)?;
    let index = "SELECT id FROM entity WHERE rank < 2 ORDER BY rank, entered_at LIMIT 50";
    let (mut ours, mut theirs) = (Took::default(), Took::default());
    for _ in 0..QUESTIONS {
        ours.time(|| ledger.attention(50).map(|found| assert_eq!(found.len(), 50)))?;
        theirs.time(|| ids(&bare, index))?;
    }
    println!("  {:<56} {ours}", "attention, top 50, with everything about them");
    println!("  {:<56} {theirs}", "the same index asked bare, ids only");
    let mut scan = Took::default();
    for _ in 0..5 {
        scan.time(|| ids(&bare, "SELECT id FROM entity WHERE +rank < 2 ORDER BY rank, entered_at LIMIT 50"))?;
    }
    println!("  {:<56} {scan}", "the same by a full scan");
    let mut one = Took::default();
    for number in 0..QUESTIONS as u64 {
        let id = session(number * 7919 % ENTITIES);
        one.time(|| ledger.entity(id).map(|found| assert!(found.is_some())))?;
    }
    println!("  {:<56} {one}", "one entity by its id");
    Ok(())
}

fn ids(connection: &Connection, sql: &str) -> Result<(), rusqlite::Error> {
    let mut statement = connection.prepare_cached(sql)?;
    let found: Vec<[u8; 16]> = statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    assert_eq!(found.len(), 50);
    Ok(())
}

/// Every hundredth run failed; the rest wait to be started.
fn fill(ledger: &Ledger) -> Result<(), Box<dyn Error>> {
    let mut tickets = Vec::new();
    for number in 0..ENTITIES {
        let mut orders = vec![created(SessionState::Pending)];
        if number % (ENTITIES / FLAGGED) == 0 {
            orders.push(moved(SessionState::Running, ReasonCode::of("run.started.ok")));
            orders.push(moved(SessionState::Failed, ReasonCode::of("run.failed.exit_nonzero")));
        }
        tickets.extend(orders.into_iter().map(|order| ledger.submit(request(session(number), order))));
        if tickets.len() >= 8_000 {
            tickets.drain(..).try_for_each(|ticket| ticket.wait().map(drop))?;
        }
    }
    Ok(tickets.into_iter().try_for_each(|ticket| ticket.wait().map(drop))?)
}
