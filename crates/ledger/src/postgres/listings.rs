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
