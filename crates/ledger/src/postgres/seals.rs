//! Seals on this engine: where they end in the log, and the first one over what an older program wrote.
//!
//! Invariant: a seal is written in the transaction of the records it covers. Deliberately absent: what is signed, and
//! which checkpoints stay.

use tokio_postgres::Client;

use super::columns::{self, BEGIN, SealValues};
use crate::error::ReadError;
use crate::proof::checkpoint::{PublicKey, Seal};
use crate::proof::sealed::{Ends, Sealed, Step};
use crate::record::Hash;

/// Where a writer with this key goes on; the lock must be held.
pub(super) async fn look_back(client: &Client, key: PublicKey, head: u64) -> Result<Sealed, ReadError> {
    let rows = client.query(columns::SEALS, &[]).await?;
    let ends = Ends::of(columns::all(&rows, columns::checkpoint)?);
    let since = ends.since(key, head);
    let rows = client.query(columns::HASHES, &[&(since as i64), &(head as i64)]).await?;
    let hashes: Vec<Hash> = rows.iter().map(|row| columns::hash(row, 1)).collect::<Result<_, _>>()?;
    ends.follow(key, head, &hashes)
}

/// Writes a seal outside of the write path.
pub(super) async fn write(client: &Client, step: &Step) -> Result<(), ReadError> {
    let insert = "INSERT INTO checkpoint (seq, at, root, public_key, signature, unsealed) \
                  SELECT $1, $2, $3, $4, $5, $6 WHERE $7::bigint IS NULL OR true";
    if client.execute(insert, &SealValues::of(Some(step)).all()).await? != 1 {
        return Err(ReadError::NotWritten("a seal"));
    }
    if let Some(gone) = step.gone {
        client.execute("DELETE FROM checkpoint WHERE seq = $1", &[&(gone as i64)]).await?;
    }
    Ok(())
}

/// Seals what an older program wrote, once, when the first writer with a key comes.
pub(super) async fn cover_what_was(client: &Client, seal: &Seal) -> Result<(), ReadError> {
    let marked = "SELECT unsealed FROM meta WHERE unsealed IS NOT NULL";
    if client.query_opt(marked, &[]).await?.is_none() {
        return Ok(());
    }
    client.batch_execute(BEGIN).await?;
    if client.query_opt(marked, &[]).await?.is_some() {
        let seen = columns::seen(&client.query_one(columns::END, &[]).await?)?;
        let mut sealed = look_back(client, seal.public_key(), seen.seq).await?.trusted();
        let newest = client.query_one("SELECT max(seq) FROM checkpoint", &[]).await?;
        if newest.try_get::<_, Option<i64>>(0)? != Some(seen.seq as i64) {
            write(client, &sealed.seal(seal, seen.seq, seen.at)).await?;
        }
        client.execute("UPDATE meta SET unsealed = NULL", &[]).await?;
    }
    Ok(client.batch_execute("COMMIT").await?)
}
