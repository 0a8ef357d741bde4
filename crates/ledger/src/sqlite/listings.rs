//! Long listings piece by piece, and how many stand where.
//!
//! Invariant: a piece goes on exactly behind the id that the piece before it ended with, so a listing that is read in
//! pieces shows each entity once. Deliberately absent: judging, which happens when a piece is shown.

pub(super) mod offers;

use callboard_kernel::EntityId;
use callboard_lifecycle::{Kind, Words};
use rusqlite::Connection;

use super::columns;
use super::reader::{collect, listed};
use crate::error::ReadError;
use crate::store::{Sequence, Slice, StateCount, Stored};

/// A piece of the listing.
pub(super) fn slice(connection: &Connection, slice: &Slice) -> Result<Vec<Stored>, ReadError> {
    // Each shape is its own statement, so that each gets the plan that fits it.
    let (beyond, order) = match slice.order {
        Sequence::Newest => ("AND e.id < ?3", "DESC"),
        Sequence::Oldest => ("AND e.id > ?3", "ASC"),
    };
    let kind = if slice.kind.is_some() { "AND e.kind = ?1" } else { "AND ?1 IS NULL" };
    let parent = if slice.parent.is_some() { "AND e.parent = ?2" } else { "AND ?2 IS NULL" };
    let beyond = if slice.beyond.is_some() { beyond } else { "AND ?3 IS NULL" };
    let live = if slice.live { "AND e.ended_at IS NULL" } else { "" };
    let sql = format!(
        "SELECT {} WHERE true {kind} {parent} {beyond} {live} ORDER BY e.id {order} LIMIT ?4",
        columns::STORED
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let (parent, beyond) = (slice.parent.map(|id| id.to_string()), slice.beyond.map(EntityId::uuid));
    let rows = statement.query((
        slice.kind.map(Kind::name),
        parent,
        beyond.as_ref().map(|uuid| uuid.as_bytes()),
        i64::try_from(slice.limit).unwrap_or(i64::MAX),
    ))?;
    listed(rows)
}

/// How many entities stand in each state.
pub(super) fn standings(connection: &Connection) -> Result<Vec<StateCount>, ReadError> {
    let sql = "SELECT kind, state, count(*) FROM entity GROUP BY kind, state ORDER BY kind, state";
    let mut statement = connection.prepare_cached(sql)?;
    collect(statement.query([])?, |row| {
        Ok(StateCount { kind: row.get(0)?, state: row.get(1)?, count: row.get::<_, i64>(2)? as u64 })
    })
}
