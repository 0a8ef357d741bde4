//! Long listings piece by piece, and how many stand where.
//!
//! Invariant: a piece goes on exactly behind the id that the piece before it ended with, so a listing that is read in
//! pieces shows each entity once. Deliberately absent: judging, which happens when a piece is shown.

pub(super) mod offers;

use callboard_kernel::EntityId;
use callboard_lifecycle::{Kind, Words};
use deadpool_postgres::Client;

use super::columns;
use crate::error::ReadError;
use crate::store::{Sequence, Slice, StateCount, Stored};

/// A piece of the listing.
pub(super) async fn slice(client: &Client, slice: &Slice) -> Result<Vec<Stored>, ReadError> {
    // Each shape is its own statement, so that each gets the plan that fits it.
    let (beyond, order) = match slice.order {
        Sequence::Newest => ("AND e.id < $3", "DESC"),
        Sequence::Oldest => ("AND e.id > $3", "ASC"),
    };
    let kind = if slice.kind.is_some() { "AND e.kind = $1" } else { "AND $1::text IS NULL" };
    let parent = if slice.parent.is_some() { "AND e.parent = $2" } else { "AND $2::text IS NULL" };
    let beyond = if slice.beyond.is_some() { beyond } else { "AND $3::uuid IS NULL" };
    let live = if slice.live { "AND e.ended_at IS NULL" } else { "" };
    let sql = format!(
        "SELECT {} WHERE true {kind} {parent} {beyond} {live} ORDER BY e.id {order} LIMIT $4",
        columns::STORED
    );
    let statement = client.prepare_cached(&sql).await?;
    let (kind, parent) = (slice.kind.map(Kind::name), slice.parent.map(|id| id.to_string()));
    let (beyond, most) = (slice.beyond.map(EntityId::uuid), i64::try_from(slice.limit).unwrap_or(i64::MAX));
    columns::all(&client.query(&statement, &[&kind, &parent, &beyond, &most]).await?, columns::stored)
}

/// How many entities stand in each state, and the newest record that counts: one statement, so one snapshot.
pub(super) async fn standings(client: &Client) -> Result<(u64, Vec<StateCount>), ReadError> {
    let sql = "SELECT (SELECT coalesce(max(seq), 0) FROM ledger), kind, state, count(*) FROM entity \
               GROUP BY kind, state ORDER BY kind, state";
    let rows = client.query(sql, &[]).await?;
    let head = rows.first().map(|row| columns::number(row, 0)).transpose()?.unwrap_or(0);
    let standing = |row: &tokio_postgres::Row| {
        let (kind, state) = (row.try_get(1)?, row.try_get(2)?);
        Ok(StateCount { kind, state, count: columns::number(row, 3)? })
    };
    Ok((head, rows.iter().map(standing).collect::<Result<_, ReadError>>()?))
}

/// How many tasks have ended in each state.
pub(super) async fn ended_counts(client: &Client) -> Result<Vec<(String, u64)>, ReadError> {
    let statement =
        client.prepare_cached("SELECT state, count FROM ended_count WHERE count > 0 ORDER BY state").await?;
    let rows = client.query(&statement, &[]).await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, columns::number(row, 1)?))).collect()
}

/// Tasks that ended in a state, the newest first.
pub(super) async fn ended_tasks(
    client: &Client,
    state: &str,
    beyond: Option<EntityId>,
    limit: usize,
) -> Result<Vec<Stored>, ReadError> {
    let behind = if beyond.is_some() { "AND id < $2" } else { "AND $2::uuid IS NULL" };
    let sql = format!(
        "SELECT {} WHERE e.id IN (SELECT id FROM ended_task WHERE state = $1 {behind} ORDER BY id DESC LIMIT $3) \
         ORDER BY e.id DESC",
        columns::STORED
    );
    let statement = client.prepare_cached(&sql).await?;
    let (beyond, most) = (beyond.map(EntityId::uuid), i64::try_from(limit).unwrap_or(i64::MAX));
    columns::all(&client.query(&statement, &[&state, &beyond, &most]).await?, columns::stored)
}
