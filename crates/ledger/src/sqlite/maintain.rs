//! Upkeep: what `verify` asks of this engine, rebuilding the views, backing up while running.
//!
//! Invariant: upkeep never changes a record.

use std::ops::ControlFlow;
use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use super::connect::FORMAT;
use super::statements::bind_entity;
use super::{archive, columns, signers};
use crate::error::ReadError;
use crate::mutant;
use crate::proof::verify::Problem;
use crate::reading::views::{EachRecord, Share};
use crate::record::Record;
use crate::store::Info;

pub(super) fn each_record(
    connection: &Connection,
    after: u64,
    last: u64,
    each: EachRecord<'_>,
) -> Result<(), ReadError> {
    let archived = archive::end(connection)?;
    if after < archived {
        archive::each(connection, after, &mut |record| {
            if record.seq > last {
                return Ok(ControlFlow::Break(()));
            }
            each(&record.borrowed()).map(ControlFlow::Continue)
        })?;
    }
    let after = after.max(archived);
    let sql = format!("SELECT {} FROM ledger WHERE seq > ?1 AND seq <= ?2 ORDER BY seq", columns::RECORD);
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query((after as i64, last as i64))?;
    while let Some(row) = rows.next()? {
        each(&columns::borrowed(row)?)?;
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

pub(super) fn view_problems(connection: &Connection, mut share: Share) -> Result<Vec<Problem>, ReadError> {
    share.catch_up(|last, each| each_record(connection, last, i64::MAX as u64, each))?;
    let sql = format!("{} WHERE id BETWEEN ?1 AND ?2 ORDER BY id", columns::ENTITY);
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query((share.low.as_bytes(), share.high.as_bytes()))?;
    let mut comparison = share.compare();
    while let Some(row) = rows.next()? {
        comparison.row(columns::uuid(row, 0)?, row.get_ref(1)?.as_str().unwrap_or_default(), |stored| {
            columns::is_view_of(row, stored)
        })?;
    }
    Ok(comparison.finish())
}

pub(super) fn rebuild(connection: &mut Connection, mut folded: Share) -> Result<(), ReadError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if !mutant::removed("fold_what_came_late") {
        // Nobody can write any more.
        folded.catch_up(|last, each| each_record(&transaction, last, i64::MAX as u64, each))?;
    }
    let indexes = drop_indexes(&transaction)?;
    transaction.execute("DELETE FROM entity", [])?;
    mutant::point("inside_rebuild");
    let parts = folded.settle_parts()?;
    let mut insert = transaction.prepare(columns::INSERT_ENTITY)?;
    for stored in parts.iter().flatten() {
        bind_entity(&mut insert, stored)?;
    }
    drop(insert);
    mutant::point("inside_rebuild");
    for index in indexes {
        transaction.execute_batch(&index)?;
    }
    transaction.commit()?;
    Ok(())
}

/// An index is made faster from a whole table than row by row; gives back the statements that make them.
fn drop_indexes(connection: &Connection) -> Result<Vec<String>, rusqlite::Error> {
    let sql = "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = 'entity' AND sql IS NOT NULL";
    let mut statement = connection.prepare(sql)?;
    let found: Vec<(String, String)> =
        statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
    for (name, _) in &found {
        connection.execute_batch(&format!("DROP INDEX {name}"))?;
    }
    Ok(found.into_iter().map(|(_, sql)| sql).collect())
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

/// A commit that changes nothing: the format is written as it stands.
pub(super) fn probe(connection: &mut Connection) -> Result<(), ReadError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let format: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    transaction.pragma_update(None, "user_version", format)?;
    Ok(transaction.commit()?)
}

/// What the store no longer refuses by itself: triggers, tables and indexes that are not as they were made, and legal
/// edges that are missing.
pub(super) fn defence(connection: &Connection, pristine: &Connection) -> Result<Vec<Problem>, ReadError> {
    let schema = |connection: &Connection| -> Result<Vec<(String, String)>, ReadError> {
        let sql = "SELECT type || ' ' || name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name";
        let mut statement = connection.prepare(sql)?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    };
    let (found, made) = (schema(connection)?, schema(pristine)?);
    let changed = made.iter().filter(|object| !found.contains(object));
    let mut problems: Vec<Problem> = changed.map(|(name, _)| Problem::of_defence(name)).collect();
    let added = found.iter().filter(|(name, _)| !made.iter().any(|(known, _)| known == name));
    problems.extend(added.map(|(name, _)| Problem::of_defence(&format!("{name} is not part of a store"))));
    let mut there = connection
        .prepare("SELECT 1 FROM legal WHERE kind = ?1 AND from_state = ?2 AND via = ?3 AND to_state = ?4")?;
    let mut statement = pristine.prepare("SELECT kind, from_state, via, to_state FROM legal")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let edge: [String; 4] = [row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?];
        if !there.exists(rusqlite::params_from_iter(&edge))? {
            let [kind, from, _, to] = &edge;
            problems.push(Problem::of_defence(&format!("the legal edge {from} -> {to} of {kind}")));
        }
    }
    problems.extend(unknown_edges(connection, pristine)?);
    Ok(problems)
}

/// Legal edges that this program does not know, which would let a shell record what the kernel refuses.
fn unknown_edges(connection: &Connection, pristine: &Connection) -> Result<Vec<Problem>, ReadError> {
    let mut known = pristine
        .prepare("SELECT 1 FROM legal WHERE kind = ?1 AND from_state = ?2 AND via = ?3 AND to_state = ?4")?;
    let mut statement = connection.prepare("SELECT kind, from_state, via, to_state FROM legal")?;
    let mut rows = statement.query([])?;
    let mut problems = Vec::new();
    while let Some(row) = rows.next()? {
        let edge: [String; 4] = [row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?];
        if !known.exists(rusqlite::params_from_iter(&edge))? {
            problems.push(Problem::of_edge(&edge));
        }
    }
    Ok(problems)
}
