//! The table of legal edges in the file: brought up to what this program knows whenever a store is opened.
//!
//! Invariant: edges are added, all of them in one transaction, and none is ever taken away; a store that has every
//! edge of this program is left alone, though a newer program added more. Deliberately absent: what is legal.

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};

use crate::proof::legal::{self, LegalEdge};

/// Adds the edges the store does not know yet. A glance at the digest is enough if the same program did it before.
pub(super) fn sync(connection: &mut Connection) -> Result<(), rusqlite::Error> {
    let digest = legal::digest();
    let stored: Option<Vec<u8>> = connection.query_row("SELECT edges FROM meta", [], |row| row.get(0))?;
    if stored.as_deref() == Some(&digest[..]) || missing(connection)?.is_empty() && stored.is_some() {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    add(&transaction)?;
    transaction.execute("UPDATE meta SET edges = ?1", [digest])?;
    transaction.commit()
}

fn add(transaction: &Transaction<'_>) -> Result<(), rusqlite::Error> {
    let mut insert = transaction.prepare("INSERT OR IGNORE INTO legal VALUES (?1, ?2, ?3, ?4)")?;
    for edge in legal::edges() {
        insert.execute((edge.kind, edge.from_state, edge.via, edge.to_state))?;
    }
    Ok(())
}

/// The edges of this program that are not in the store.
fn missing(connection: &Connection) -> Result<Vec<LegalEdge>, rusqlite::Error> {
    let sql = "SELECT 1 FROM legal WHERE kind = ?1 AND from_state = ?2 AND via = ?3 AND to_state = ?4";
    let mut statement = connection.prepare(sql)?;
    let mut missing = Vec::new();
    for edge in legal::edges() {
        let found = statement.query_row((edge.kind, edge.from_state, edge.via, edge.to_state), |_| Ok(()));
        if found.optional()?.is_none() {
            missing.push(edge);
        }
    }
    Ok(missing)
}
