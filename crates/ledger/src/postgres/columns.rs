//! The statements and how their columns are read: one place that knows the order of the columns.

use callboard_kernel::{Entity, EntityId, Facts, Moment, State};
use callboard_lifecycle::{Kind, Lifecycle, Words};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row, ToStatement};

use super::rows::urgency;
use super::text;
use crate::batch::Seen;
use crate::body;
use crate::checkpoint::Checkpoint;
use crate::error::ReadError;
use crate::record::{Hash, Record, Unreadable};
use crate::store::Stored;

pub(super) const RECORD: &str = "l.seq, l.entity, l.version, l.at, l.kind, l.type, l.channel, l.from_state, \
     l.via, l.to_state, l.actor_type, l.actor_id, l.key, l.body, l.hash FROM ledger l";

/// An entity with the body of the record that put it into its state.
pub(super) const STORED: &str = "e.id, e.kind, e.state, e.version, e.created_at, e.started_at, e.entered_at, \
     e.ended_at, e.last_activity_at, e.state_seq, e.last_seq, e.facts, e.head, l.body \
     FROM entity e JOIN ledger l ON l.seq = e.state_seq";

/// The view rows with all their columns, in the order in which they are written.
pub(super) const ENTITY: &str = "SELECT id, kind, state, version, created_at, started_at, entered_at, ended_at, \
     last_activity_at, state_seq, last_seq, urgency, parent, facts, head FROM entity";

pub(super) const CHECKPOINT: &str = "seq, at, root, public_key, signature";

/// Takes the lock that puts all writers in one order, and what follows sees what was written before.
pub(super) const BEGIN: &str =
    "BEGIN ISOLATION LEVEL READ COMMITTED; SELECT pg_advisory_xact_lock(7161124095259533682)";

/// Where the log and its checkpoints end.
pub(super) const END: &str = "SELECT l.seq, l.at, c.seq, c.root FROM (VALUES (1)) AS one \
     LEFT JOIN LATERAL (SELECT seq, at FROM ledger ORDER BY seq DESC LIMIT 1) l ON true \
     LEFT JOIN LATERAL (SELECT seq, root FROM checkpoint ORDER BY seq DESC LIMIT 1) c ON true";

pub(super) const HASHES: &str = "SELECT seq, hash FROM ledger WHERE seq > $1 AND seq <= $2 ORDER BY seq";

pub(super) const INSERT_CHECKPOINT: &str =
    "INSERT INTO checkpoint (seq, at, root, public_key, signature) VALUES ($1, $2, $3, $4, $5)";

pub(super) const INSERT_RECORDS: &str = "INSERT INTO ledger SELECT * FROM unnest($1::ledger[])";

pub(super) const INSERT_ENTITIES: &str = "INSERT INTO entity SELECT * FROM unnest($1::entity[])";

/// Which entities a batch leaves behind: some that came to be in it, some that were there before, or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Touch {
    Born,
    Moved,
    Both,
}

/// Records and view rows in one statement: one round trip, and one transaction even without a `BEGIN`.
pub(super) fn write(touch: Touch) -> String {
    let born = |at: u8| format!("INSERT INTO entity SELECT * FROM unnest(${at}::entity[])");
    let moved = |at: u8| {
        format!(
            "moved AS (UPDATE entity e SET state = x.state, version = x.version, started_at = x.started_at, \
             entered_at = x.entered_at, ended_at = x.ended_at, last_activity_at = x.last_activity_at, \
             state_seq = x.state_seq, last_seq = x.last_seq, urgency = x.urgency, head = x.head, \
             facts = coalesce(x.facts, e.facts), \
             parent = CASE WHEN x.facts IS NULL THEN e.parent ELSE x.parent END \
             FROM unnest(${at}::entity[]) x WHERE e.id = x.id AND e.version < x.version RETURNING 1) \
             SELECT view_followed((SELECT count(*) FROM moved), cardinality(${at}::entity[]))"
        )
    };
    let log = format!("WITH log AS ({INSERT_RECORDS})");
    match touch {
        Touch::Born => format!("{log} {}", born(2)),
        Touch::Moved => format!("{log}, {}", moved(2)),
        Touch::Both => format!("{log}, born AS ({}), {}", born(2), moved(3)),
    }
}

pub(super) fn record(row: &Row) -> Result<Record, ReadError> {
    Ok(Record {
        seq: number(row, 0)?,
        entity: row.try_get(1)?,
        version: number(row, 2)?,
        at: Moment::from_micros(row.try_get(3)?),
        kind: row.try_get(4)?,
        event_type: row.try_get(5)?,
        channel: row.try_get(6)?,
        from_state: row.try_get(7)?,
        via: row.try_get(8)?,
        to_state: row.try_get(9)?,
        actor_type: row.try_get(10)?,
        actor_id: text::given(row.try_get(11)?).into_owned(),
        key: row.try_get::<_, Option<&str>>(12)?.map(|key| text::given(key).into_owned()),
        body: row.try_get(13)?,
        hash: hash(row, 14)?,
    })
}

pub(super) fn stored(row: &Row) -> Result<Stored, ReadError> {
    let kind = Kind::parse(row.try_get(1)?).map_err(Unreadable::from)?;
    let state = Lifecycle::parse(kind, row.try_get(2)?).map_err(Unreadable::from)?;
    let moment = |at: usize| -> Result<Option<Moment>, tokio_postgres::Error> {
        Ok(row.try_get::<_, Option<i64>>(at)?.map(Moment::from_micros))
    };
    let facts = match row.try_get(11)? {
        "" => Facts::none(),
        text => serde_json::from_str(text).map_err(Unreadable::from)?,
    };
    Ok(Stored {
        entity: Entity {
            state: State {
                id: EntityId::new(kind, row.try_get(0)?),
                version: number(row, 3)?,
                lifecycle: Some(state),
            },
            created_at: moment(4)?,
            started_at: moment(5)?,
            entered_at: moment(6)?,
            ended_at: moment(7)?,
            last_activity_at: moment(8)?,
            reasons: body::reasons(row.try_get(13)?)?,
            facts,
        },
        state_seq: number(row, 9)?,
        last_seq: number(row, 10)?,
        head: hash(row, 12)?,
    })
}

/// Is this view row what would be written for the entity?
pub(super) fn is_view_of(row: &Row, stored: &Stored) -> Result<bool, tokio_postgres::Error> {
    let Stored { entity, state_seq, last_seq, head } = stored;
    let moment = |at: usize| {
        Ok::<_, tokio_postgres::Error>(row.try_get::<_, Option<i64>>(at)?.map(Moment::from_micros))
    };
    let number = |at: usize| row.try_get::<_, i64>(at);
    Ok(row.try_get::<_, &str>(1)? == entity.state.id.kind().name()
        && Some(row.try_get::<_, &str>(2)?) == entity.state.lifecycle.map(Lifecycle::name)
        && number(3)? == entity.state.version as i64
        && moment(4)? == entity.created_at
        && moment(5)? == entity.started_at
        && moment(6)? == entity.entered_at
        && moment(7)? == entity.ended_at
        && moment(8)? == entity.last_activity_at
        && number(9)? == *state_seq as i64
        && number(10)? == *last_seq as i64
        && row.try_get::<_, Option<i64>>(11)? == urgency(stored)
        && row.try_get::<_, Option<&str>>(12)?.map(text::given).as_deref() == stored.parent()
        && row.try_get::<_, &str>(13)? == stored.facts_text()
        && row.try_get::<_, &[u8]>(14)? == head.0)
}

pub(super) fn checkpoint(row: &Row) -> Result<Checkpoint, ReadError> {
    let signature: &[u8] = row.try_get(4)?;
    Ok(Checkpoint {
        seq: number(row, 0)?,
        at: Moment::from_micros(row.try_get(1)?),
        root: hash(row, 2)?,
        public_key: hash(row, 3)?.0,
        signature: signature.try_into().map_err(|_| Unreadable::Size("signature"))?,
    })
}

/// Reads where the log and its checkpoints end.
pub(super) fn seen(row: &Row) -> Result<Seen, ReadError> {
    let number =
        |at: usize| Ok::<_, tokio_postgres::Error>(row.try_get::<_, Option<i64>>(at)?.unwrap_or_default());
    let root: Option<&[u8]> = row.try_get(3)?;
    Ok(Seen {
        seq: number(0)? as u64,
        at: Moment::from_micros(number(1)?),
        checkpoint: number(2)? as u64,
        root: root.and_then(Hash::of).unwrap_or(Hash::GENESIS),
    })
}

/// Writes a checkpoint with the statement for it.
pub(super) async fn insert(
    client: &Client,
    statement: &(impl ToStatement + ?Sized),
    checkpoint: &Checkpoint,
) -> Result<(), tokio_postgres::Error> {
    let Checkpoint { seq, at, root, public_key, signature } = checkpoint;
    let (root, public_key, signature) = (root.0.as_slice(), public_key.as_slice(), signature.as_slice());
    let values: [&(dyn ToSql + Sync); 5] = [&(*seq as i64), &at.as_micros(), &root, &public_key, &signature];
    client.execute(statement, &values).await.map(|_| ())
}

pub(super) fn number(row: &Row, at: usize) -> Result<u64, ReadError> {
    Ok(row.try_get::<_, i64>(at)? as u64)
}

pub(super) fn hash(row: &Row, at: usize) -> Result<Hash, ReadError> {
    Ok(Hash::of(row.try_get(at)?).ok_or(Unreadable::Size("hash"))?)
}

/// Reads the entities of a list; those whose kind or state only a newer program knows are left out.
pub(super) fn listed(rows: &[Row]) -> Result<Vec<Stored>, ReadError> {
    rows.iter().map(stored).filter(|read| !matches!(read, Err(error) if error.is_of_newer())).collect()
}

/// Reads every row, or says what is wrong with the first that cannot be read.
pub(super) fn all<T>(rows: &[Row], read: fn(&Row) -> Result<T, ReadError>) -> Result<Vec<T>, ReadError> {
    rows.iter().map(read).collect()
}
