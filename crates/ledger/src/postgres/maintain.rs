//! Upkeep: what the store says of itself, and giving space back.
//!
//! Invariant: upkeep never changes a record.

use deadpool_postgres::Client;

use super::columns;
use super::connection::connect::{Role, StoreServer};
use super::schema::FORMAT;
use crate::error::ReadError;
use crate::proof::checkpoint::PublicKey;
use crate::store::Info;

pub(super) async fn info(client: Client) -> Result<Info, ReadError> {
    let sql = "SELECT current_setting('server_version'), \
               (SELECT coalesce(max(seq), 0) FROM ledger), \
               (SELECT count(*) FROM entity), \
               (SELECT count(*) FROM entity WHERE ended_at IS NULL), \
               (SELECT count(*) FROM checkpoint), \
               (SELECT sum(pg_total_relation_size(of))::bigint FROM unnest( \
                   ARRAY['meta', 'signer', 'legal', 'ledger', 'checkpoint', 'legacy', 'entity', 'lease', 'service_step', \
                   'offered', 'held_file']::regclass[]) of)";
    let row = client.query_one(sql, &[]).await?;
    let version: &str = row.try_get(0)?;
    // A distribution adds its own name behind the version.
    let version = version.split_whitespace().next().unwrap_or_default();
    Ok(Info {
        engine: format!("PostgreSQL {version}"),
        format: FORMAT,
        records: columns::number(&row, 1)?,
        entities: columns::number(&row, 2)?,
        live: columns::number(&row, 3)?,
        checkpoints: columns::number(&row, 4)?,
        bytes: columns::number(&row, 5)?,
        keys: signers(&client).await?,
        segments: Vec::new(),
    })
}

/// The keys that sign checkpoints of this store, the first one first.
pub(super) async fn signers(client: &Client) -> Result<Vec<PublicKey>, ReadError> {
    let rows = client.query("SELECT public_key FROM signer ORDER BY number", &[]).await?;
    rows.iter().map(|row| Ok(PublicKey(columns::hash(row, 0)?.0))).collect()
}

/// A transaction that changes nothing and takes a number, which a server that cannot write does not give.
pub(super) async fn probe(place: &StoreServer) -> Result<(), ReadError> {
    let client = place.connect(Role::Writer).await?;
    client.query_one("SELECT pg_current_xact_id()::text", &[]).await?;
    Ok(())
}

/// The server does this by itself in time; a person may want it at once.
pub(super) async fn vacuum(place: &StoreServer) -> Result<(), ReadError> {
    let client = place.connect(Role::Writer).await?;
    client.batch_execute("SET statement_timeout = 0").await?;
    Ok(client.batch_execute("VACUUM (ANALYZE) ledger, entity, checkpoint, legacy").await?)
}

/// The settings on which it depends whether what was answered survives a crash, as the server has them.
pub(super) async fn durability(client: Client) -> Result<Vec<(String, String)>, ReadError> {
    let sql = "SELECT name, reset_val FROM pg_settings \
               WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit') ORDER BY name";
    let rows = client.query(sql, &[]).await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
}
