//! The statements and how their columns are read: one place that knows the order of the columns.

use callboard_kernel::{Entity, EntityId, Facts, Moment, State};
use callboard_lifecycle::{Kind, Lifecycle, Words};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::rows::urgency;
use super::text;
use crate::error::ReadError;
use crate::proof::checkpoint::Checkpoint;
use crate::proof::sealed::Step;
use crate::record::{Hash, Record, Unreadable};
use crate::store::Stored;
use crate::writing::batch::Seen;
use crate::writing::body;

pub(super) const RECORD: &str = "l.seq, l.entity, l.version, l.at, l.kind, l.type, l.channel, l.from_state, \
     l.via, l.to_state, l.actor_type, l.actor_id, l.key, l.body, l.hash FROM ledger l";

/// An entity with the body of the record that put it into its state.
pub(super) const STORED: &str = "e.id, e.kind, e.state, e.version, e.created_at, e.started_at, e.entered_at, \
     e.ended_at, e.last_activity_at, e.state_seq, e.last_seq, e.facts, e.head, l.body \
     FROM entity e JOIN ledger l ON l.seq = e.state_seq";

/// The view rows with all their columns, in the order in which they are written.
pub(super) const ENTITY: &str = "SELECT id, kind, state, version, created_at, started_at, entered_at, ended_at, \
     last_activity_at, state_seq, last_seq, urgency, parent, facts, head FROM entity";

pub(super) const CHECKPOINT: &str = "seq, at, root, public_key, signature, unsealed";

/// Takes the lock that puts all writers in one order, and what follows sees what was written before.
pub(super) const BEGIN: &str =
    "BEGIN ISOLATION LEVEL READ COMMITTED; SELECT pg_advisory_xact_lock(7161124095259533682)";

/// Where the log ends.
pub(super) const END: &str = "SELECT l.seq, l.at FROM (VALUES (1)) AS one \
     LEFT JOIN LATERAL (SELECT seq, at FROM ledger ORDER BY seq DESC LIMIT 1) l ON true";

/// The two newest checkpoints.
pub(super) const SEALS: &str = "SELECT seq, at, root, public_key, signature, unsealed FROM checkpoint \
     ORDER BY seq DESC LIMIT 2";

pub(super) const HASHES: &str = "SELECT seq, hash FROM ledger WHERE seq > $1 AND seq <= $2 ORDER BY seq";

pub(super) const INSERT_RECORDS: &str = "INSERT INTO ledger SELECT * FROM unnest($1::ledger[])";

pub(super) const INSERT_ENTITIES: &str = "INSERT INTO entity SELECT * FROM unnest($1::entity[])";

/// Which entities a batch leaves behind: some that came to be in it, some that were there before, or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Touch {
    Born,
    Moved,
    Both,
}

/// Records, view rows and the seal over them in one statement: one round trip, and one transaction even without a
/// `BEGIN`. The last seven parameters are the seal, whose first is null if there is none, and the one that it replaces.
pub(super) fn write(touch: Touch) -> String {
    let born =
        |at: u8| format!("born AS (INSERT INTO entity SELECT * FROM unnest(${at}::entity[]) RETURNING 1)");
    let moved = |at: u8| {
        format!(
            "moved AS (UPDATE entity e SET state = x.state, version = x.version, started_at = x.started_at, \
             entered_at = x.entered_at, ended_at = x.ended_at, last_activity_at = x.last_activity_at, \
             state_seq = x.state_seq, last_seq = x.last_seq, urgency = x.urgency, head = x.head, \
             facts = coalesce(x.facts, e.facts), \
             parent = CASE WHEN x.facts IS NULL THEN e.parent ELSE x.parent END \
             FROM unnest(${at}::entity[]) x WHERE e.id = x.id AND e.version < x.version RETURNING 1)"
        )
    };
    let all = |what: &str, at: u8| {
        format!("all_written((SELECT count(*) FROM {what}), cardinality(${at}::entity[]))")
    };
    let followed =
        |at: u8| format!("view_followed((SELECT count(*) FROM moved), cardinality(${at}::entity[]))");
    let (parts, checks, next) = match touch {
        Touch::Born => (born(2), all("born", 2), 3),
        Touch::Moved => (moved(2), followed(2), 3),
        Touch::Both => {
            (format!("{}, {}", born(2), moved(3)), format!("{}, {}", all("born", 2), followed(3)), 4)
        }
    };
    let [seq, at, root, key, signature, unsealed, gone] = std::array::from_fn(|place| next + place);
    format!(
        "WITH log AS ({INSERT_RECORDS} RETURNING 1), {parts}, \
         sealed AS (INSERT INTO checkpoint (seq, at, root, public_key, signature, unsealed) \
             SELECT ${seq}::bigint, ${at}::bigint, ${root}::bytea, ${key}::bytea, ${signature}::bytea, \
             ${unsealed}::bigint WHERE ${seq}::bigint IS NOT NULL RETURNING 1), \
         gone AS (DELETE FROM checkpoint WHERE seq = ${gone}::bigint) \
         SELECT all_written((SELECT count(*) FROM log), cardinality($1::ledger[])), \
         all_written((SELECT count(*) FROM sealed), count(${seq}::bigint)), {checks}"
    )
}

/// The parameters of a seal, in the order of the statement.
pub(super) struct SealValues {
    seq: Option<i64>,
    at: Option<i64>,
    root: Option<Vec<u8>>,
    key: Option<Vec<u8>>,
    signature: Option<Vec<u8>>,
    unsealed: Option<i64>,
    gone: Option<i64>,
}

impl SealValues {
    /// Of a seal, or of none.
    pub(super) fn of(step: Option<&Step>) -> Self {
        let made = step.map(|step| &step.checkpoint);
        Self {
            seq: made.map(|made| made.seq as i64),
            at: made.map(|made| made.at.as_micros()),
            root: made.map(|made| made.root.0.to_vec()),
            key: made.map(|made| made.public_key.to_vec()),
            signature: made.map(|made| made.signature.to_vec()),
            unsealed: made.map(|made| made.unsealed as i64),
            gone: step.and_then(|step| step.gone).map(|seq| seq as i64),
        }
    }

    pub(super) fn all(&self) -> [&(dyn ToSql + Sync); 7] {
        [&self.seq, &self.at, &self.root, &self.key, &self.signature, &self.unsealed, &self.gone]
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
        unsealed: number(row, 5)?,
    })
}

/// Reads where the log ends.
pub(super) fn seen(row: &Row) -> Result<Seen, ReadError> {
    let number =
        |at: usize| Ok::<_, tokio_postgres::Error>(row.try_get::<_, Option<i64>>(at)?.unwrap_or_default());
    Ok(Seen { seq: number(0)? as u64, at: Moment::from_micros(number(1)?) })
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
