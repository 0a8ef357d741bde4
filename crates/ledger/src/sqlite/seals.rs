//! Seals on this engine: where they end in the log, and the next one.
//!
//! Invariant: a seal is written in the transaction of the records it covers. Deliberately absent: what is signed, and
//! which checkpoints stay.

use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use super::columns;
use super::reader::collect;
use super::statements::one;
use super::writer::look;
use crate::error::ReadError;
use crate::mutant;
use crate::proof::checkpoint::{Checkpoint, PublicKey, Seal};
use crate::proof::sealed::{Ends, Sealed, Step};
use crate::record::Hash;
use crate::writing::batch::Seen;

/// The two newest checkpoints, the newest first.
pub(super) fn newest(connection: &Connection) -> Result<Vec<Checkpoint>, ReadError> {
    let sql = format!("SELECT {} FROM checkpoint ORDER BY seq DESC LIMIT 2", columns::CHECKPOINT);
    collect(connection.prepare_cached(&sql)?.query([])?, columns::checkpoint)
}

/// Where a writer with this key goes on.
pub(super) fn look_back(connection: &Connection, key: PublicKey, head: u64) -> Result<Sealed, ReadError> {
    let ends = Ends::of(newest(connection)?);
    let mut statement = connection.prepare_cached("SELECT hash FROM ledger WHERE seq > ?1 ORDER BY seq")?;
    let since = ends.since(key, head);
    let hashes: Vec<Hash> = collect(statement.query([since as i64])?, |row| columns::hash(row, 0))?;
    ends.follow(key, head, &hashes)
}

/// Seals everything that was taken in.
pub(super) fn write(
    connection: &Connection,
    seal: &Seal,
    sealed: &mut Sealed,
    seen: Seen,
) -> Result<Step, ReadError> {
    mutant::point("before_checkpoint");
    let step = sealed.seal(seal, seen.seq, seen.at);
    let sql = "INSERT INTO checkpoint (seq, at, root, public_key, signature, unsealed) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let made = &step.checkpoint;
    let written = connection.prepare_cached(sql)?.execute((
        made.seq as i64,
        made.at.as_micros(),
        made.root.0,
        made.public_key,
        made.signature.as_slice(),
        made.unsealed as i64,
    ))?;
    one(written, "a seal")?;
    if let Some(gone) = step.gone {
        connection.prepare_cached("DELETE FROM checkpoint WHERE seq = ?1")?.execute([gone as i64])?;
    }
    mutant::point("after_checkpoint");
    Ok(step)
}

/// Seals what an older program wrote, once, while the store is brought up to date.
pub(super) fn cover_what_was(connection: &mut Connection, seal: &Seal) -> Result<(), ReadError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let marked = transaction.query_row("SELECT unsealed FROM meta", [], |row| row.get::<_, Option<i64>>(0));
    if marked.optional()?.flatten().is_none() {
        return Ok(());
    }
    super::signers::record(&transaction, seal.public_key())?;
    let seen = look(&transaction)?;
    let mut sealed = look_back(&transaction, seal.public_key(), seen.seq)?.trusted();
    let newest: Option<i64> =
        transaction.query_row("SELECT max(seq) FROM checkpoint", [], |row| row.get(0))?;
    if newest != Some(seen.seq as i64) {
        write(&transaction, seal, &mut sealed, seen)?;
    }
    transaction.execute("UPDATE meta SET unsealed = NULL", [])?;
    Ok(transaction.commit()?)
}
