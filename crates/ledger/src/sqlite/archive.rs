//! What was taken out of the log table: where it lies, how it is read, and how it is taken out.
//!
//! Invariant: in one transaction a segment is recorded, the keys of its records are kept and the records go, except
//! those that the table leans on: the newest archived record of each entity, and the one that put it into its state.
//! What is archived is read from its file, though some of it is still in the table.

use std::ops::ControlFlow;
use std::path::Path;

use callboard_kernel::{EntityId, Moment};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use super::columns;
use crate::error::ReadError;
use crate::moving::segment::Segment;
use crate::mutant;
use crate::proof::verify::Problem;
use crate::record::{Hash, Record, Unreadable};

/// The newest record that is in a segment.
pub(super) fn end(connection: &Connection) -> Result<u64, ReadError> {
    let mut statement = connection.prepare_cached("SELECT coalesce(max(until), 0) FROM segment")?;
    Ok(statement.query_row([], |row| row.get::<_, i64>(0))? as u64)
}

pub(super) fn segments(connection: &Connection) -> Result<Vec<Segment>, ReadError> {
    let sql = "SELECT after, until, at, digest, path FROM segment ORDER BY until";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        all.push(Segment {
            after: row.get::<_, i64>(0)? as u64,
            until: row.get::<_, i64>(1)? as u64,
            at: Moment::from_micros(row.get(2)?),
            digest: columns::hash(row, 3)?,
            path: row.get::<_, String>(4)?.into(),
        });
    }
    Ok(all)
}

/// Calls `each` for the archived records after one of them, in order, until it has enough.
pub(super) fn each(
    connection: &Connection,
    after: u64,
    each: &mut dyn FnMut(Record) -> Result<ControlFlow<()>, ReadError>,
) -> Result<(), ReadError> {
    for segment in segments(connection)?.iter().filter(|segment| segment.until > after) {
        if segment.each(after, each)?.is_break() {
            return Ok(());
        }
    }
    Ok(())
}

/// The newest archived record decided at or before a moment, if a later one is archived too.
pub(super) fn seq_at(connection: &Connection, moment: Moment) -> Result<Option<u64>, ReadError> {
    let all = segments(connection)?;
    let Some(segment) = all.iter().find(|segment| segment.at > moment) else { return Ok(None) };
    let mut found = segment.after;
    let _enough = segment.each(segment.after, &mut |record| {
        if record.at > moment {
            return Ok(ControlFlow::Break(()));
        }
        found = record.seq;
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(Some(found))
}

/// The archived record of an entity with this key.
pub(super) fn keyed(connection: &Connection, id: EntityId, key: &str) -> Result<Option<Record>, ReadError> {
    let sql = "SELECT seq FROM archived_key WHERE entity = ?1 AND key = ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let seq = statement.query_row((id.uuid().as_bytes(), key), |row| row.get::<_, i64>(0)).optional()?;
    let Some(seq) = seq else { return Ok(None) };
    let mut found = None;
    each(connection, seq as u64 - 1, &mut |record| {
        found = Some(record);
        Ok(ControlFlow::Break(()))
    })?;
    Ok(found)
}

/// Records the segment and takes its records out.
pub(super) fn take_out(connection: &mut Connection, segment: &Segment) -> Result<u64, ReadError> {
    let path = segment.path.to_str().ok_or(Unreadable::Size("the path of the segment, which is no text,"))?;
    let (after, until) = (segment.after as i64, segment.until as i64);
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute(
        "INSERT INTO segment (after, until, at, digest, path) VALUES (?1, ?2, ?3, ?4, ?5)",
        (after, until, segment.at.as_micros(), segment.digest.0, path),
    )?;
    mutant::point("archive");
    transaction.execute(
        "INSERT OR IGNORE INTO archived_key (entity, key, seq) \
         SELECT entity, key, seq FROM ledger WHERE seq <= ?1 AND key IS NOT NULL",
        [until],
    )?;
    let taken = transaction.execute(
        "DELETE FROM ledger WHERE seq <= ?1 AND EXISTS ( \
             SELECT 1 FROM ledger l WHERE l.entity = ledger.entity AND l.version > ledger.version AND l.seq <= ?1) \
         AND NOT EXISTS (SELECT 1 FROM entity e WHERE e.id = ledger.entity AND e.state_seq = ledger.seq)",
        [until],
    )?;
    mutant::point("archive");
    transaction.commit()?;
    mutant::point("archive");
    Ok(taken as u64)
}

/// Says where the file of a segment lies.
pub(super) fn relocate(connection: &Connection, digest: Hash, path: &Path) -> Result<(), ReadError> {
    let path = path.to_str().ok_or(Unreadable::Size("the path of the segment, which is no text,"))?;
    connection.execute("UPDATE segment SET path = ?1 WHERE digest = ?2", (path, digest.0))?;
    Ok(())
}

/// Files that are not what was archived, and what the table still has of them and is not the same.
pub(super) fn problems(connection: &Connection) -> Result<Vec<Problem>, ReadError> {
    let (mut problems, mut keys) = (Vec::new(), 0);
    let segments = segments(connection)?;
    for segment in &segments {
        let checked = segment.check().and_then(|()| compare(connection, segment, &mut problems, &mut keys));
        if let Err(error) = checked {
            problems.push(Problem { seq: Some(segment.after + 1), entity: None, problem: error.to_string() });
        }
    }
    let kept: i64 = connection.query_row("SELECT count(*) FROM archived_key", [], |row| row.get(0))?;
    if problems.is_empty() && kept != keys {
        let problem = format!("{kept} archived keys are kept, and the archived records have {keys}");
        problems.push(Problem { seq: None, entity: None, problem });
    }
    Ok(problems)
}

/// Compares the records of a segment with what the table and the list of keys still have of them.
fn compare(
    connection: &Connection,
    segment: &Segment,
    problems: &mut Vec<Problem>,
    kept_keys: &mut i64,
) -> Result<(), ReadError> {
    let sql = format!("SELECT {} FROM ledger WHERE seq = ?1", columns::RECORD);
    let mut kept = connection.prepare(&sql)?;
    let mut keys = connection.prepare("SELECT seq FROM archived_key WHERE entity = ?1 AND key = ?2")?;
    let mut newest = connection.prepare("SELECT max(version) FROM ledger WHERE entity = ?1 AND seq <= ?2")?;
    let last = end(connection)?;
    let _all = segment.each(segment.after, &mut |record| {
        let mut found = kept.query([record.seq as i64])?;
        let row = found.next()?.map(columns::record).transpose()?;
        let mut tell = |problem: &str| {
            let entity = record.id().map_or_else(|_| record.entity.to_string(), |id| id.to_string());
            problems.push(Problem {
                seq: Some(record.seq),
                entity: Some(entity),
                problem: problem.to_owned(),
            });
        };
        match &row {
            Some(row) if *row != record => tell("the table does not have what its segment says"),
            Some(_) => {}
            None => {
                let above: Option<i64> =
                    newest.query_row((record.entity.as_bytes(), last as i64), |row| row.get(0))?;
                if above.is_none_or(|above| above < record.version as i64) {
                    tell("it was taken out of the table, though its entity goes on from it");
                }
            }
        }
        if record.seq == segment.until && record.at != segment.at {
            tell("the time of its segment is not its own");
        }
        if let Some(key) = &record.key {
            let known = keys.query_row((record.entity.as_bytes(), key), |row| row.get::<_, i64>(0));
            match known.optional()? {
                Some(seq) if seq == record.seq as i64 => *kept_keys += 1,
                Some(_) | None => tell("its key is not kept"),
            }
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(())
}
