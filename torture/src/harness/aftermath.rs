//! What must hold of a store whatever was done to it.
//!
//! Invariant: every acknowledged record is there with its hash, the log has no gap, verify and the database's own
//! check are clean, the views are what folding the log gives, and the next append works.

use std::fmt::Debug;
use std::path::Path;

use anyhow::{Context, Result, bail};
use callboard_ledger::{Hash, Ledger, Options, Page, RecordScope};
use rusqlite::Connection;
use rusqlite::types::Value;

use crate::harness::commands;
use crate::harness::process::Ack;

/// Opens a store as its next user would.
pub(crate) fn open(store: &Path) -> Result<Ledger> {
    Ledger::open(store, Options::default()).context("the store does not open")
}

/// Everything that must hold of a store that is a file.
pub(crate) fn check_whole(ledger: &Ledger) -> Result<()> {
    check_views(ledger, || views(ledger.path()))
}

/// Everything that must hold of a store as a whole; `views` are its view rows, as its database has them.
pub(crate) fn check_views<V: PartialEq + Debug>(
    ledger: &Ledger,
    views: impl Fn() -> Result<Vec<V>>,
) -> Result<()> {
    if let Some(problem) = ledger.integrity().context("the database cannot be checked")? {
        bail!("the database is not sound: {problem}");
    }
    let report = ledger.verify().context("verify could not read the log")?;
    if let Some(problem) = report.problems.first() {
        bail!("verify found {} problems, the first: {problem:?}", report.problems.len());
    }
    let stored = views()?;
    ledger.rebuild().context("the views could not be rebuilt")?;
    let rebuilt = views()?;
    if let Some((was, is)) = stored.iter().zip(&rebuilt).find(|(was, is)| was != is) {
        bail!("a stored view is not the rebuilt one: {was:?} and {is:?}");
    }
    if stored.len() != rebuilt.len() {
        bail!("{} views were stored, {} rebuilt", stored.len(), rebuilt.len());
    }
    Ok(())
}

/// Every acknowledged record after `after` is there with its hash, and the log has no gap; gives back its end.
pub(crate) fn check_acks(ledger: &Ledger, after: u64, acks: &[Ack]) -> Result<u64> {
    let mut hashes: Vec<Hash> = Vec::new();
    loop {
        let at = after + hashes.len() as u64;
        let page = ledger.records(Page { after: at, limit: PAGE, scope: RecordScope::All })?;
        if page.is_empty() {
            break;
        }
        for record in page {
            let expected = after + hashes.len() as u64 + 1;
            if record.seq != expected {
                bail!("record {expected} is missing, {} follows", record.seq);
            }
            hashes.push(record.hash);
        }
    }
    for ack in acks {
        let there = ack.seq.checked_sub(after + 1).and_then(|at| hashes.get(at as usize));
        match there {
            None => bail!("record {} was acknowledged and is not there", ack.seq),
            Some(hash) if hash.to_string() != ack.hash => {
                bail!("record {} was acknowledged with hash {} and has {hash}", ack.seq, ack.hash)
            }
            Some(_) => {}
        }
    }
    Ok(after + hashes.len() as u64)
}

const PAGE: usize = 10_000;

/// The next append works; gives back where it went.
pub(crate) fn check_next(ledger: &Ledger, number: u128) -> Result<u64> {
    let receipt = commands::one_more(ledger, number).context("the next append does not work")?;
    Ok(receipt.record.seq)
}

/// The view rows with all their columns, as the database has them.
fn views(store: &Path) -> Result<Vec<Vec<Value>>> {
    let connection = Connection::open(store)?;
    let mut statement = connection.prepare("SELECT * FROM entity ORDER BY id")?;
    let columns = statement.column_count();
    let rows = statement.query_map([], |row| (0..columns).map(|at| row.get(at)).collect())?;
    Ok(rows.collect::<Result<_, _>>()?)
}
