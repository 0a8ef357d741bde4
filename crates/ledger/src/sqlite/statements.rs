//! Writing rows: the statements of the write path and what is bound to them.
//!
//! Invariant: the statements are prepared once a transaction, and an update names only the columns that change, because
//! SQLite writes an index anew for every column of it that a statement names. Deliberately absent: transactions.

use callboard_kernel::{EntityId, Event, EventType, Moment};
use callboard_lifecycle::{Kind, Lifecycle, Words};
use rusqlite::{CachedStatement, Connection, Statement};

use super::columns;
use crate::error::ReadError;
use crate::mutant;
use crate::record::{Record, Unreadable};
use crate::store::Stored;

/// The statements of one transaction.
pub(super) struct Statements<'a> {
    /// How many rows were written.
    pub(super) written: u64,
    connection: &'a Connection,
    earlier: CachedStatement<'a>,
    stored: CachedStatement<'a>,
    record: CachedStatement<'a>,
    created: CachedStatement<'a>,
    moved: CachedStatement<'a>,
    changed: CachedStatement<'a>,
    heard: CachedStatement<'a>,
    facts: CachedStatement<'a>,
}

impl<'a> Statements<'a> {
    pub(super) fn new(connection: &'a Connection) -> Result<Self, rusqlite::Error> {
        Ok(Self {
            written: 0,
            connection,
            earlier: connection.prepare_cached(columns::EARLIER)?,
            stored: connection.prepare_cached(columns::STORED_BY_ID)?,
            record: connection.prepare_cached(columns::INSERT_RECORD)?,
            created: connection.prepare_cached(columns::INSERT_ENTITY)?,
            moved: connection.prepare_cached(columns::UPDATE_MOVED)?,
            changed: connection.prepare_cached(columns::UPDATE_ENTITY)?,
            heard: connection.prepare_cached(columns::UPDATE_HEARD)?,
            facts: connection.prepare_cached(columns::UPDATE_FACTS)?,
        })
    }

    /// What the store holds for a key.
    pub(super) fn earlier(&mut self, id: EntityId, key: &str) -> Result<Option<Record>, ReadError> {
        let mut rows = self.earlier.query((id.uuid().as_bytes(), key))?;
        rows.next()?.map(columns::record).transpose()
    }

    /// An entity as the view says it stands.
    pub(super) fn stored(&mut self, id: EntityId) -> Result<Stored, ReadError> {
        let mut rows = self.stored.query([id.uuid().as_bytes()])?;
        let stored = rows.next()?.map(columns::stored).transpose()?;
        // The same bits under another kind are another id, and there is nothing under this one.
        let own = stored.filter(|stored| stored.entity.state.id == id);
        Ok(own.unwrap_or_else(|| Stored::unborn(id)))
    }

    /// Writes a record.
    pub(super) fn record(&mut self, record: &Record) -> Result<(), ReadError> {
        self.written += 1;
        bind_record(&mut self.record, record)
    }

    /// Brings the view row of an entity to where the entity stands.
    pub(super) fn view(&mut self, stored: &Stored, event: &Event) -> Result<(), ReadError> {
        let before = if event.kind == EventType::Transitioned { event.from } else { Some(event.to) };
        self.written += 1 + counted(before, event.to);
        let changed = match event.kind {
            EventType::Created => return bind_entity(&mut self.created, stored),
            EventType::Entry => self.heard(stored)?,
            EventType::Observed if event.data.is_empty() => self.heard(stored)?,
            EventType::Transitioned if !ended(event.from) && !ended(Some(event.to)) => {
                self.moved(stored, event)?
            }
            EventType::Observed | EventType::Transitioned => self.changed(stored, event)?,
        };
        if changed != 1 {
            return Err(Unreadable::Size("the view of an entity").into());
        }
        if !event.data.is_empty() && event.kind != EventType::Entry {
            let id = stored.entity.state.id.uuid();
            self.written += 1;
            one(self.facts.execute((stored.facts_text(), stored.parent(), id.as_bytes()))?, "facts")?;
        }
        Ok(())
    }

    /// Writes the view row of an entity that several records of one group changed.
    pub(super) fn view_anew(&mut self, stored: &Stored, first: &Event) -> Result<(), ReadError> {
        if first.kind != EventType::Created {
            let before = if first.kind == EventType::Transitioned { first.from } else { Some(first.to) };
            self.written += 1 + u64::from(before.is_some_and(is_ended_task));
            let id = stored.entity.state.id.uuid();
            let gone = self.connection.prepare_cached("DELETE FROM entity WHERE id = ?1")?;
            one({ gone }.execute([id.as_bytes()])?, "the view of an entity")?;
        }
        self.written += 1 + u64::from(stored.entity.state.lifecycle.is_some_and(is_ended_task));
        bind_entity(&mut self.created, stored)
    }

    fn heard(&mut self, stored: &Stored) -> Result<usize, rusqlite::Error> {
        let Stored { entity, last_seq, head, .. } = stored;
        self.heard.execute((
            entity.state.version as i64,
            micros(entity.last_activity_at),
            *last_seq as i64,
            head.0,
            entity.state.id.uuid().as_bytes(),
        ))
    }

    fn moved(&mut self, stored: &Stored, event: &Event) -> Result<usize, rusqlite::Error> {
        let Stored { entity, state_seq, last_seq, head } = stored;
        self.moved.execute((
            event.to.name(),
            entity.state.version as i64,
            micros(entity.started_at),
            micros(entity.entered_at),
            micros(entity.last_activity_at),
            *state_seq as i64,
            *last_seq as i64,
            stored.rank() as i64,
            head.0,
            entity.state.id.uuid().as_bytes(),
        ))
    }

    fn changed(&mut self, stored: &Stored, event: &Event) -> Result<usize, rusqlite::Error> {
        let Stored { entity, state_seq, last_seq, head } = stored;
        self.changed.execute((
            event.to.name(),
            entity.state.version as i64,
            micros(entity.started_at),
            micros(entity.entered_at),
            micros(entity.ended_at),
            micros(entity.last_activity_at),
            *state_seq as i64,
            *last_seq as i64,
            stored.rank() as i64,
            head.0,
            entity.state.id.uuid().as_bytes(),
        ))
    }
}

/// Is it the state of a task that has ended? Triggers count those.
fn is_ended_task(state: Lifecycle) -> bool {
    state.kind() == Kind::Task && state.is_terminal()
}

/// How many rows the triggers change that count the tasks that have ended.
fn counted(before: Option<Lifecycle>, after: Lifecycle) -> u64 {
    if before == Some(after) {
        return 0;
    }
    u64::from(before.is_some_and(is_ended_task)) + u64::from(is_ended_task(after))
}

fn ended(state: Option<Lifecycle>) -> bool {
    state.is_some_and(Lifecycle::is_terminal)
}

fn micros(moment: Option<Moment>) -> Option<i64> {
    moment.map(Moment::as_micros)
}

/// A trigger that was added can turn a statement into nothing, which the database calls a success.
pub(super) fn one(changed: usize, what: &'static str) -> Result<(), ReadError> {
    if changed == 1 || mutant::removed("count_what_was_written") {
        Ok(())
    } else {
        Err(ReadError::NotWritten(what))
    }
}

/// Writes a record outside of the write path.
pub(super) fn insert(connection: &Connection, record: &Record) -> Result<(), ReadError> {
    let mut insert = connection.prepare_cached(columns::INSERT_RECORD)?;
    bind_record(&mut insert, record)
}

fn bind_record(insert: &mut Statement<'_>, record: &Record) -> Result<(), ReadError> {
    let changed = insert.execute((
        record.seq as i64,
        record.entity.as_bytes(),
        record.version as i64,
        record.at.as_micros(),
        &record.kind,
        &record.event_type,
        &record.channel,
        &record.from_state,
        &record.via,
        &record.to_state,
        &record.actor_type,
        &record.actor_id,
        &record.key,
        &record.body,
        record.hash.0,
    ))?;
    one(changed, "a record")
}

/// Writes the view row of an entity for the first time, or anew in a rebuild.
pub(super) fn insert_entity(connection: &Connection, stored: &Stored) -> Result<(), ReadError> {
    let mut insert = connection.prepare_cached(columns::INSERT_ENTITY)?;
    bind_entity(&mut insert, stored)
}

/// The same with a statement that was prepared before.
pub(super) fn bind_entity(insert: &mut Statement<'_>, stored: &Stored) -> Result<(), ReadError> {
    let Stored { entity, state_seq, last_seq, head } = stored;
    let changed = insert.execute((
        entity.state.id.uuid().as_bytes(),
        entity.state.id.kind().name(),
        entity.state.lifecycle.map_or("", |state| state.name()),
        entity.state.version as i64,
        micros(entity.created_at),
        micros(entity.started_at),
        micros(entity.entered_at),
        micros(entity.ended_at),
        micros(entity.last_activity_at),
        *state_seq as i64,
        *last_seq as i64,
        stored.rank() as i64,
        stored.parent(),
        stored.facts_text(),
        head.0,
    ))?;
    one(changed, "the view of an entity")
}
