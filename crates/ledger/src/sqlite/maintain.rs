//! Upkeep: what `verify` asks of this engine, rebuilding the views, backing up while running.
//!
//! Invariant: upkeep never changes a record.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::ControlFlow;
use std::path::Path;

use callboard_lifecycle::Words;
use rusqlite::Connection;
use uuid::Uuid;

use super::connect::FORMAT;
use super::writer::insert_entity;
use super::{archive, columns, signers};
use crate::error::ReadError;
use crate::mutant;
use crate::record::Record;
use crate::store::{Info, Stored};
use crate::verify::Problem;

pub(super) fn each_record(
    connection: &Connection,
    after: u64,
    last: u64,
    each: &mut dyn FnMut(Record) -> Result<(), ReadError>,
) -> Result<(), ReadError> {
    let archived = archive::end(connection)?;
    if after < archived {
        archive::each(connection, after, &mut |record| {
            if record.seq > last {
                return Ok(ControlFlow::Break(()));
            }
            each(record).map(ControlFlow::Continue)
        })?;
    }
    let after = after.max(archived);
    let sql = format!("SELECT {} FROM ledger WHERE seq > ?1 AND seq <= ?2 ORDER BY seq", columns::RECORD);
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query((after as i64, last as i64))?;
    while let Some(row) = rows.next()? {
        each(columns::record(row)?)?;
    }
    Ok(())
}

pub(super) fn before(connection: &Connection, record: &Record) -> Result<Option<Record>, ReadError> {
    let sql = format!(
        "SELECT {} FROM ledger WHERE entity = ?1 AND version < ?2 AND seq < ?3 ORDER BY version DESC LIMIT 1",
        columns::RECORD
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query((record.entity.as_bytes(), record.version as i64, record.seq as i64))?;
    rows.next()?.map(columns::record).transpose()
}

pub(super) fn view_problems(connection: &Connection, limit: usize) -> Result<Vec<Problem>, ReadError> {
    let mut folded: HashMap<Uuid, Fold> = HashMap::new();
    let read = each_record(connection, 0, i64::MAX as u64, &mut |record| {
        folded.entry(record.entity).or_insert_with(|| Fold::before(&record)).take(&record);
        Ok(())
    });
    if let Err(error) = read {
        let problem = format!("the views cannot be checked, as the log cannot be read: {error}");
        return Ok(vec![Problem { seq: None, entity: None, problem }]);
    }
    let mut problems = Vec::new();
    let mut statement = connection.prepare_cached(columns::ENTITY)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let id = columns::uuid(row, 0)?;
        let kind: String = row.get(1)?;
        let fold = folded.remove(&id);
        // The log knows the kind better than a row that may have been changed.
        let kind = fold.as_ref().and_then(Fold::kind).map_or(kind, str::to_owned);
        let is_right = match fold {
            Some(Fold::Known(stored)) => columns::is_view_of(row, &stored)?,
            Some(Fold::Unknown) => true,
            None => false,
        };
        if !is_right && !mutant::removed("fold_the_views") {
            problems.push(Problem::of_view(&kind, id));
        }
    }
    problems.extend(folded.into_iter().map(|(id, fold)| Problem::of_view(fold.kind().unwrap_or(""), id)));
    problems.truncate(limit);
    Ok(problems)
}

/// What the log says of one entity.
enum Fold {
    Known(Box<Stored>),
    /// It has a record that only a newer program can read, or one that does not follow, which the log's check names.
    Unknown,
}

impl Fold {
    fn before(first: &Record) -> Self {
        first.id().map_or(Self::Unknown, |id| Self::Known(Box::new(Stored::unborn(id))))
    }

    fn kind(&self) -> Option<&'static str> {
        match self {
            Self::Known(stored) => Some(stored.entity.state.id.kind().name()),
            Self::Unknown => None,
        }
    }

    fn take(&mut self, record: &Record) {
        if let Self::Known(stored) = self
            && stored.follow(record).is_err()
        {
            *self = Self::Unknown;
        }
    }
}

pub(super) fn rebuild(connection: &mut Connection, folded: &[Stored]) -> Result<(), ReadError> {
    let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let late = late(&transaction, folded)?;
    transaction.execute("DELETE FROM entity", [])?;
    mutant::point("inside_rebuild");
    let early = folded.iter().filter(|stored| !late.contains_key(&stored.entity.state.id.uuid()));
    for stored in early.chain(late.values()) {
        insert_entity(&transaction, stored)?;
    }
    mutant::point("inside_rebuild");
    transaction.commit()?;
    Ok(())
}

/// The entities that others wrote to since the fold, folded to the end, now that nobody can write any more.
fn late(connection: &Connection, folded: &[Stored]) -> Result<HashMap<Uuid, Stored>, ReadError> {
    let mut late: HashMap<Uuid, Stored> = HashMap::new();
    if mutant::removed("fold_what_came_late") {
        return Ok(late);
    }
    let end = folded.iter().map(|stored| stored.last_seq).max().unwrap_or(0);
    let mut early: HashMap<Uuid, &Stored> = HashMap::new();
    each_record(connection, end, i64::MAX as u64, &mut |record| {
        if early.is_empty() {
            early.extend(folded.iter().map(|stored| (stored.entity.state.id.uuid(), stored)));
        }
        let stored = match late.entry(record.entity) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => place.insert(match early.get(&record.entity) {
                Some(&stored) => stored.clone(),
                None => Stored::unborn(record.id()?),
            }),
        };
        stored.follow(&record)
    })?;
    Ok(late)
}

pub(super) fn info(connection: &Connection, path: &Path) -> Result<Info, ReadError> {
    let count = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0)).map(|n| n as u64);
    let mut bytes = 0;
    for suffix in ["", "-wal"] {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        bytes += std::fs::metadata(Path::new(&name)).map_or(0, |file| file.len());
    }
    Ok(Info {
        engine: format!("SQLite {}", rusqlite::version()),
        format: FORMAT,
        records: count("SELECT coalesce(max(seq), 0) FROM ledger")?,
        entities: count("SELECT count(*) FROM entity")?,
        live: count("SELECT count(*) FROM entity WHERE ended_at IS NULL")?,
        checkpoints: count("SELECT count(*) FROM checkpoint")?,
        bytes,
        keys: signers::all(connection)?,
        segments: archive::segments(connection)?,
    })
}

pub(super) fn backup(connection: &Connection, to: &Path) -> Result<(), ReadError> {
    let mut target = Connection::open(to)?;
    let backup = rusqlite::backup::Backup::new(connection, &mut target)?;
    backup.run_to_completion(PAGES_A_STEP, std::time::Duration::ZERO, None)?;
    Ok(())
}

/// Pages copied between two looks at the clock.
const PAGES_A_STEP: i32 = 4096;

pub(super) fn integrity(connection: &Connection) -> Result<Option<String>, ReadError> {
    let first: String = connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    Ok((first != "ok").then_some(first))
}
