//! The statements and how their columns are read: one place that knows the order of the columns.

use callboard_kernel::{Entity, EntityId, Moment, State};
use callboard_lifecycle::{Kind, Lifecycle, Words};
use rusqlite::Error::FromSqlConversionFailure;
use rusqlite::Row;
use rusqlite::types::{Type, ValueRef};
use uuid::Uuid;

use crate::error::ReadError;
use crate::proof::checkpoint::Checkpoint;
use crate::reading::borrowed::Borrowed;
use crate::record::{Hash, Record, Unreadable};
use crate::store::Stored;
use crate::writing::body;

/// The columns of a record, in the order in which they are read and written.
macro_rules! record {
    () => {
        "seq, entity, version, at, kind, type, channel, from_state, via, to_state, actor_type, actor_id, key, \
         body, hash"
    };
}

/// An entity with the body of the record that put it into its state.
macro_rules! stored {
    () => {
        "e.id, e.kind, e.state, e.version, e.created_at, e.started_at, e.entered_at, e.ended_at, \
         e.last_activity_at, e.state_seq, e.last_seq, e.facts, e.head, l.body \
         FROM entity e JOIN ledger l ON l.seq = e.state_seq"
    };
}

pub(super) const RECORD: &str = record!();

/// What the store holds for a key.
pub(super) const EARLIER: &str = concat!("SELECT ", record!(), " FROM ledger WHERE entity = ?1 AND key = ?2");

pub(super) const STORED: &str = stored!();

pub(super) const STORED_BY_ID: &str = concat!("SELECT ", stored!(), " WHERE e.id = ?1");

/// The most urgent first, the oldest first among equals.
pub(super) const ATTENTION: &str =
    concat!("SELECT ", stored!(), " WHERE e.rank < 2 ORDER BY e.rank, e.entered_at LIMIT ?1");

pub(super) const INSERT_RECORD: &str = "INSERT INTO ledger (seq, entity, version, at, kind, type, channel, \
     from_state, via, to_state, actor_type, actor_id, key, body, hash) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)";

pub(super) const INSERT_ENTITY: &str = "INSERT INTO entity (id, kind, state, version, created_at, started_at, \
     entered_at, ended_at, last_activity_at, state_seq, last_seq, rank, parent, facts, head) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)";

/// The view rows with all their columns, in the order in which they are written.
pub(super) const ENTITY: &str = "SELECT id, kind, state, version, created_at, started_at, entered_at, ended_at, \
     last_activity_at, state_seq, last_seq, rank, parent, facts, head FROM entity";

/// The version before makes the update a compare-and-set.
pub(super) const UPDATE_ENTITY: &str = "UPDATE entity SET state = ?1, version = ?2, started_at = ?3, \
     entered_at = ?4, ended_at = ?5, last_activity_at = ?6, state_seq = ?7, last_seq = ?8, rank = ?9, head = ?10 \
     WHERE id = ?11 AND version = ?2 - 1";

/// The same for an entity that had not ended and has not ended.
pub(super) const UPDATE_MOVED: &str = "UPDATE entity SET state = ?1, version = ?2, started_at = ?3, \
     entered_at = ?4, last_activity_at = ?5, state_seq = ?6, last_seq = ?7, rank = ?8, head = ?9 \
     WHERE id = ?10 AND version = ?2 - 1";

/// The same for an entity that was only heard of.
pub(super) const UPDATE_HEARD: &str = "UPDATE entity SET version = ?1, last_activity_at = ?2, last_seq = ?3, \
     head = ?4 WHERE id = ?5 AND version = ?1 - 1";

pub(super) const UPDATE_FACTS: &str = "UPDATE entity SET facts = ?1, parent = ?2 WHERE id = ?3";

pub(super) const CHECKPOINT: &str = "seq, at, root, public_key, signature, unsealed";

pub(super) fn record(row: &Row<'_>) -> Result<Record, ReadError> {
    borrowed(row).map(Borrowed::to_record)
}

/// A record where it lies; everything in it is borrowed from the row.
pub(super) fn borrowed<'a>(row: &'a Row<'_>) -> Result<Borrowed<'a>, ReadError> {
    let text = |at: usize| -> Result<&'a str, ReadError> {
        let text = row.get_ref(at)?.as_str();
        Ok(text.map_err(|error| FromSqlConversionFailure(at, Type::Text, Box::new(error)))?)
    };
    let key = match row.get_ref(12)? {
        ValueRef::Null => None,
        ValueRef::Text(_) | ValueRef::Blob(_) | ValueRef::Integer(_) | ValueRef::Real(_) => Some(text(12)?),
    };
    Ok(Borrowed {
        seq: row.get::<_, i64>(0)? as u64,
        entity: uuid(row, 1)?,
        version: row.get::<_, i64>(2)? as u64,
        at: Moment::from_micros(row.get(3)?),
        kind: text(4)?,
        event_type: text(5)?,
        channel: text(6)?,
        from_state: text(7)?,
        via: text(8)?,
        to_state: text(9)?,
        actor_type: text(10)?,
        actor_id: text(11)?,
        key,
        body: text(13)?,
        hash: hash(row, 14)?,
    })
}

pub(super) fn stored(row: &Row<'_>) -> Result<Stored, ReadError> {
    let kind = Kind::parse(row.get_ref(1)?.as_str().map_err(|_| Unreadable::Size("kind"))?)
        .map_err(Unreadable::from)?;
    let state = Lifecycle::parse(kind, row.get_ref(2)?.as_str().map_err(|_| Unreadable::Size("state"))?)
        .map_err(Unreadable::from)?;
    let moment =
        |at: usize| Ok::<_, rusqlite::Error>(row.get::<_, Option<i64>>(at)?.map(Moment::from_micros));
    let facts = match row.get_ref(11)?.as_str().map_err(|_| Unreadable::Size("facts"))? {
        "" => callboard_kernel::Facts::none(),
        facts => serde_json::from_str(facts).map_err(Unreadable::from)?,
    };
    let body = row.get_ref(13)?.as_str().map_err(|_| Unreadable::Size("body"))?;
    Ok(Stored {
        entity: Entity {
            state: State {
                id: EntityId::new(kind, uuid(row, 0)?),
                version: row.get::<_, i64>(3)? as u64,
                lifecycle: Some(state),
            },
            created_at: moment(4)?,
            started_at: moment(5)?,
            entered_at: moment(6)?,
            ended_at: moment(7)?,
            last_activity_at: moment(8)?,
            reasons: body::reasons(body)?,
            facts,
        },
        state_seq: row.get::<_, i64>(9)? as u64,
        last_seq: row.get::<_, i64>(10)? as u64,
        head: hash(row, 12)?,
    })
}

/// Is this view row what would be written for the entity?
pub(super) fn is_view_of(row: &Row<'_>, stored: &Stored) -> Result<bool, rusqlite::Error> {
    let Stored { entity, state_seq, last_seq, head } = stored;
    let text = |at: usize| Ok::<_, rusqlite::Error>(row.get_ref(at)?.as_bytes_or_null().ok().flatten());
    let moment =
        |at: usize| Ok::<_, rusqlite::Error>(row.get::<_, Option<i64>>(at)?.map(Moment::from_micros));
    let number = |at: usize| row.get::<_, i64>(at);
    Ok(text(1)? == Some(entity.state.id.kind().name().as_bytes())
        && text(2)? == entity.state.lifecycle.map(|state| state.name().as_bytes())
        && number(3)? == entity.state.version as i64
        && moment(4)? == entity.created_at
        && moment(5)? == entity.started_at
        && moment(6)? == entity.entered_at
        && moment(7)? == entity.ended_at
        && moment(8)? == entity.last_activity_at
        && number(9)? == *state_seq as i64
        && number(10)? == *last_seq as i64
        && number(11)? == stored.rank() as i64
        && text(12)? == stored.parent().map(str::as_bytes)
        && text(13)? == Some(stored.facts_text().as_bytes())
        && text(14)? == Some(&head.0[..]))
}

pub(super) fn checkpoint(row: &Row<'_>) -> Result<Checkpoint, ReadError> {
    let signature = row.get_ref(4)?.as_blob().map_err(|_| Unreadable::Size("signature"))?;
    Ok(Checkpoint {
        seq: row.get::<_, i64>(0)? as u64,
        at: Moment::from_micros(row.get(1)?),
        root: hash(row, 2)?,
        public_key: hash(row, 3)?.0,
        signature: signature.try_into().map_err(|_| Unreadable::Size("signature"))?,
        unsealed: row.get::<_, i64>(5)? as u64,
    })
}

pub(super) fn uuid(row: &Row<'_>, at: usize) -> Result<Uuid, ReadError> {
    let bytes = row.get_ref(at)?.as_blob().map_err(|_| Unreadable::Size("id"))?;
    Ok(Uuid::from_slice(bytes).map_err(|_| Unreadable::Size("id"))?)
}

pub(super) fn hash(row: &Row<'_>, at: usize) -> Result<Hash, ReadError> {
    let bytes = row.get_ref(at)?.as_blob().map_err(|_| Unreadable::Size("hash"))?;
    Ok(Hash::of(bytes).ok_or(Unreadable::Size("hash"))?)
}
