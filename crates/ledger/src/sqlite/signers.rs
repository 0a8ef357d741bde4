//! The keys that sign checkpoints of a store, kept in it since each of them first opened it.
//!
//! Invariant: a key is listed before it signs anything here. Deliberately absent: trusting the list. Whoever can write
//! the store can add a key; who wants to be sure keeps the key elsewhere and hands it to `verify`.

use rusqlite::{Connection, OptionalExtension};

use super::columns;
use crate::error::ReadError;
use crate::proof::checkpoint::PublicKey;

/// Lists the key unless it is listed.
pub(super) fn record(connection: &Connection, key: PublicKey) -> Result<(), rusqlite::Error> {
    let known = connection.query_row("SELECT 1 FROM signer WHERE public_key = ?1", [key.0], |_| Ok(()));
    if known.optional()?.is_none() {
        connection.execute("INSERT OR IGNORE INTO signer (public_key) VALUES (?1)", [key.0])?;
    }
    Ok(())
}

pub(super) fn all(connection: &Connection) -> Result<Vec<PublicKey>, ReadError> {
    let mut statement = connection.prepare_cached("SELECT public_key FROM signer ORDER BY number")?;
    let mut rows = statement.query([])?;
    let mut keys = Vec::new();
    while let Some(row) = rows.next()? {
        keys.push(PublicKey(columns::hash(row, 0)?.0));
    }
    Ok(keys)
}
