//! The edits that `tamper` makes: what somebody with a SQL shell and patience would do to a store.
//!
//! Invariant: every edit changes what is stored, and says what it did and which record it spoils. Deliberately
//! absent: the key. A forger who has it can sign what he likes.

use callboard_ledger::{Hash, Record};
use rusqlite::types::Value;
use rusqlite::{Connection, Result};

use crate::harness::dice::Dice;

/// What is in the store before the edit.
pub(crate) struct Original {
    pub(crate) records: Vec<Record>,
    pub(crate) checkpoints: Vec<u64>,
}

/// An edit that was made.
pub(crate) struct Made {
    pub(crate) sort: &'static str,
    pub(crate) what: String,
    /// The record that must be named first, where there is one.
    pub(crate) at: Option<u64>,
    /// The views are to be rebuilt, so that they do not give the edit away.
    pub(crate) mend: bool,
}

/// Columns of the log and how they are stored.
const LOG: &[(&str, Sort)] = &[
    ("entity", Sort::Blob),
    ("version", Sort::Int),
    ("at", Sort::Int),
    ("kind", Sort::Text),
    ("type", Sort::Text),
    ("channel", Sort::Text),
    ("from_state", Sort::Text),
    ("via", Sort::Text),
    ("to_state", Sort::Text),
    ("actor_type", Sort::Text),
    ("actor_id", Sort::Text),
    ("key", Sort::Text),
    ("body", Sort::Text),
    ("hash", Sort::Blob),
];

const VIEW: &[(&str, Sort)] = &[
    ("id", Sort::Blob),
    ("kind", Sort::Text),
    ("state", Sort::Text),
    ("version", Sort::Int),
    ("created_at", Sort::Int),
    ("started_at", Sort::Int),
    ("entered_at", Sort::Int),
    ("ended_at", Sort::Int),
    ("last_activity_at", Sort::Int),
    ("state_seq", Sort::Int),
    ("last_seq", Sort::Int),
    ("rank", Sort::Int),
    ("parent", Sort::Text),
    ("facts", Sort::Text),
    ("head", Sort::Blob),
];

const CHECKPOINT: &[(&str, Sort)] = &[
    ("seq", Sort::Int),
    ("at", Sort::Int),
    ("root", Sort::Blob),
    ("public_key", Sort::Blob),
    ("signature", Sort::Blob),
];

/// How a column is stored.
#[derive(Clone, Copy)]
enum Sort {
    Int,
    Text,
    Blob,
}

/// Makes one random edit; none if there was nothing to edit.
pub(crate) fn make(connection: &Connection, dice: &mut Dice, original: &Original) -> Result<Option<Made>> {
    let records = original.records.len() as u64;
    let seq = 1 + dice.roll(records);
    match dice.roll(20) {
        0..6 => {
            let (column, sort) = *dice.pick(LOG);
            let what = flip(connection, dice, "ledger", column, sort, seq as i64)?;
            Ok(Some(Made { sort: "record edited", what, at: Some(seq), mend: false }))
        }
        6 | 7 => {
            connection.execute("DELETE FROM ledger WHERE seq = ?1", [seq as i64])?;
            let what = format!("record {seq} deleted");
            Ok(Some(Made { sort: "record deleted", what, at: None, mend: false }))
        }
        8 => close_the_gap(connection, seq),
        9 | 10 => swap(connection, seq, 1 + dice.roll(records)),
        11 => append(connection, dice, original).map(Some),
        12 | 13 => cut(connection, dice, original).map(Some),
        14 => spoil_a_checkpoint(connection, dice, original),
        15 | 16 => spoil_a_view(connection, dice, original),
        _ => forge_a_chain(connection, dice, original).map(Some),
    }
}

/// Flips one bit of one value.
fn flip(
    connection: &Connection,
    dice: &mut Dice,
    table: &str,
    column: &str,
    sort: Sort,
    row: impl rusqlite::ToSql + std::fmt::Debug,
) -> Result<String> {
    let key = if table == "entity" { "id" } else { "seq" };
    let what = format!("a bit of {column} in {table} {row:?}");
    match sort {
        Sort::Int => {
            let sql = format!("SELECT {column} FROM {table} WHERE {key} = ?1");
            let was: Option<i64> = connection.query_row(&sql, [&row], |row| row.get(0))?;
            let is = was.map_or(1, |was| was ^ 1 << dice.roll(20));
            connection.execute(&format!("UPDATE {table} SET {column} = ?1 WHERE {key} = ?2"), (is, &row))?;
        }
        Sort::Text | Sort::Blob => {
            let sql = format!("SELECT CAST({column} AS BLOB) FROM {table} WHERE {key} = ?1");
            let was: Option<Vec<u8>> = connection.query_row(&sql, [&row], |row| row.get(0))?;
            let mut bytes = was.unwrap_or_default();
            if bytes.is_empty() {
                bytes.push(b'x');
            } else {
                let at = dice.roll(bytes.len() as u64) as usize;
                bytes[at] ^= 1 << dice.roll(8);
            }
            let cast = if matches!(sort, Sort::Text) { "CAST(?1 AS TEXT)" } else { "?1" };
            connection
                .execute(&format!("UPDATE {table} SET {column} = {cast} WHERE {key} = ?2"), (bytes, &row))?;
        }
    }
    Ok(what)
}

/// Deletes a record and numbers the rest so that nothing seems to be missing.
fn close_the_gap(connection: &Connection, seq: u64) -> Result<Option<Made>> {
    connection.execute("DELETE FROM ledger WHERE seq = ?1", [seq as i64])?;
    let moved = connection.execute("UPDATE ledger SET seq = 1 - seq WHERE seq > ?1", [seq as i64])?;
    connection.execute("UPDATE ledger SET seq = -seq WHERE seq < 0", [])?;
    let what = format!("record {seq} deleted and {moved} renumbered");
    let at = (moved > 0).then_some(seq);
    Ok(Some(Made { sort: "gap closed", what, at, mend: false }))
}

/// Exchanges the contents of two records.
fn swap(connection: &Connection, a: u64, b: u64) -> Result<Option<Made>> {
    if a == b {
        return Ok(None);
    }
    let take = |seq: u64| -> Result<Vec<Value>> {
        connection.query_row("SELECT * FROM ledger WHERE seq = ?1", [seq as i64], |row| {
            (0..row.as_ref().column_count()).map(|at| row.get(at)).collect()
        })
    };
    let (mut first, mut second) = (take(a)?, take(b)?);
    std::mem::swap(&mut first[0], &mut second[0]);
    connection.execute("DELETE FROM ledger WHERE seq IN (?1, ?2)", (a as i64, b as i64))?;
    for row in [first, second] {
        let marks = vec!["?"; row.len()].join(", ");
        connection
            .execute(&format!("INSERT INTO ledger VALUES ({marks})"), rusqlite::params_from_iter(row))?;
    }
    let what = format!("records {a} and {b} swapped");
    Ok(Some(Made { sort: "records swapped", what, at: Some(a.min(b)), mend: false }))
}

/// Adds a record that the ledger never wrote, with a hash out of thin air.
fn append(connection: &Connection, dice: &mut Dice, original: &Original) -> Result<Made> {
    let model = dice.pick(&original.records);
    let last = last_of(original, model);
    let mut forged = last.clone();
    forged.seq = original.records.len() as u64 + 1;
    forged.version += 1;
    forged.event_type = "observed".to_owned();
    forged.via = "observed".to_owned();
    forged.from_state = last.to_state.clone();
    forged.key = None;
    forged.hash = Hash([dice.roll(256) as u8; 32]);
    insert(connection, &forged)?;
    let what = format!("record {} made up", forged.seq);
    Ok(Made { sort: "record made up", what, at: Some(forged.seq), mend: true })
}

/// Cuts the end of the log off, with at least one checkpoint behind the cut.
fn cut(connection: &Connection, dice: &mut Dice, original: &Original) -> Result<Made> {
    let newest = original.checkpoints.last().copied().unwrap_or_default();
    let keep = dice.roll(newest);
    connection.execute("DELETE FROM ledger WHERE seq > ?1", [keep as i64])?;
    let what = format!("everything after record {keep} cut off, views mended");
    Ok(Made { sort: "log cut", what, at: None, mend: true })
}

fn spoil_a_checkpoint(connection: &Connection, dice: &mut Dice, original: &Original) -> Result<Option<Made>> {
    let seq = *dice.pick(&original.checkpoints);
    let what = if dice.roll(4) == 0 {
        connection.execute("DELETE FROM checkpoint WHERE seq = ?1", [seq as i64])?;
        format!("the checkpoint at {seq} deleted")
    } else {
        let (column, sort) = *dice.pick(CHECKPOINT);
        flip(connection, dice, "checkpoint", column, sort, seq as i64)?
    };
    Ok(Some(Made { sort: "checkpoint spoiled", what, at: None, mend: false }))
}

fn spoil_a_view(connection: &Connection, dice: &mut Dice, original: &Original) -> Result<Option<Made>> {
    let id = dice.pick(&original.records).entity.as_bytes().to_vec();
    let what = match dice.roll(12) {
        0 => {
            connection.execute("DELETE FROM entity WHERE id = ?1", [&id])?;
            format!("the view of {id:?} deleted")
        }
        1 => {
            let sql = "INSERT INTO entity SELECT randomblob(16), kind, state, version, created_at, started_at, \
                       entered_at, ended_at, last_activity_at, state_seq, last_seq, rank, parent, facts, head \
                       FROM entity WHERE id = ?1";
            connection.execute(sql, [&id])?;
            format!("the view of {id:?} copied to an entity that is not there")
        }
        _ => {
            let (column, sort) = *dice.pick(VIEW);
            flip(connection, dice, "entity", column, sort, id)?
        }
    };
    Ok(Some(Made { sort: "view spoiled", what, at: None, mend: false }))
}

/// Edits one record before the newest checkpoint and hashes the rest of its entity anew: every chain is whole.
fn forge_a_chain(connection: &Connection, dice: &mut Dice, original: &Original) -> Result<Made> {
    let newest = original.checkpoints.last().copied().unwrap_or_default();
    let at = dice.roll(newest) as usize;
    let mut forged = original.records[at].clone();
    let (entity, seq) = (forged.entity, forged.seq);
    if dice.roll(2) == 0 {
        forged.actor_id.push_str(" (really)");
    } else {
        forged.at = forged.at.plus(std::time::Duration::from_micros(1 + dice.roll(1_000)));
    }
    let mut scratch = Vec::new();
    let mine = original.records.iter().filter(|record| record.entity == entity);
    let mut before =
        mine.clone().rfind(|record| record.seq < seq).map_or(Hash::GENESIS, |record| record.hash);
    for record in mine.filter(|record| record.seq >= seq) {
        let mut record = if record.seq == seq { forged.clone() } else { record.clone() };
        record.hash = record.hash_after(before, &mut scratch);
        before = record.hash;
        let sql = "UPDATE ledger SET actor_id = ?1, at = ?2, hash = ?3 WHERE seq = ?4";
        let changes = (&record.actor_id, record.at.as_micros(), record.hash.0, record.seq as i64);
        connection.execute(sql, changes)?;
    }
    let what = format!("record {seq} edited, its entity hashed anew, views mended");
    Ok(Made { sort: "chain forged", what, at: None, mend: true })
}

fn last_of<'a>(original: &'a Original, record: &'a Record) -> &'a Record {
    original.records.iter().rfind(|other| other.entity == record.entity).unwrap_or(record)
}

fn insert(connection: &Connection, record: &Record) -> Result<()> {
    let sql = "INSERT INTO ledger (seq, entity, version, at, kind, type, channel, from_state, via, to_state, \
               actor_type, actor_id, key, body, hash) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)";
    connection.execute(
        sql,
        (
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
        ),
    )?;
    Ok(())
}
