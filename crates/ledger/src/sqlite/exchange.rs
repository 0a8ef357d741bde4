//! Import on this engine, the rows from before there were states, and giving space back.
//!
//! Invariant: an import is one transaction: the records, the views and the checkpoint over them, or nothing. The
//! triggers judge every record as they judge a shell's. Deliberately absent: reading lines.

use std::collections::HashMap;

use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior};
use uuid::Uuid;

use super::columns;
use super::seals;
use super::statements::{insert, insert_entity};
use super::writer::look;
use crate::error::{ReadError, chain};
use crate::moving::export::Legacy;
use crate::moving::import::{self, ImportError, Imported, Line, Lines};
use crate::proof::checkpoint::Seal;
use crate::proof::sealed::Sealed;
use crate::record::Record;
use crate::store::Stored;
use crate::writing::batch::Seen;

/// Entities whose view rows are not written yet; beyond it they are written and let go.
const TOUCHED_MAX: usize = 50_000;

pub(super) fn import(
    connection: &mut Connection,
    seal: &Seal,
    lines: &mut Lines<'_>,
) -> Result<Imported, ImportError> {
    let transaction =
        connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(ReadError::from)?;
    let seen = look(&transaction)?;
    let sealed = seals::look_back(&transaction, seal.public_key(), seen.seq)?;
    let mut taking = Taking {
        transaction,
        seen,
        sealed,
        touched: HashMap::new(),
        rows: HashMap::new(),
        scratch: Vec::new(),
        imported: Imported::default(),
    };
    for line in lines {
        match line? {
            (number, Line::Record(record)) => taking.record(number, &record)?,
            (_, Line::Legacy(row)) => taking.legacy(&row)?,
        }
    }
    taking.finish(seal)
}

/// An import on its way.
struct Taking<'a> {
    transaction: Transaction<'a>,
    seen: Seen,
    sealed: Sealed,
    touched: HashMap<Uuid, Stored>,
    /// How often each row came in this import; the same row twice in one file is two rows.
    rows: HashMap<[u8; 32], i64>,
    scratch: Vec<u8>,
    imported: Imported,
}

impl Taking<'_> {
    fn record(&mut self, number: u64, record: &Record) -> Result<(), ImportError> {
        let refuse = |problem: String| ImportError::Line { number, problem };
        if record.seq != self.seen.seq + 1 {
            let head = self.seen.seq;
            return Err(refuse(format!("it is record {}, and the log ends at {head}", record.seq)));
        }
        if record.at < self.seen.at {
            return Err(refuse(format!("it was decided before the record in front of it, at {}", record.at)));
        }
        self.warm(record).map_err(|error| not_taken(number, error))?;
        let Some(stored) = self.touched.get_mut(&record.entity) else {
            unreachable!("BUG: the entity was warmed above")
        };
        if record.hash_after(stored.head, &mut self.scratch) != record.hash {
            return Err(refuse("its bytes, after the records before it, do not match its hash".to_owned()));
        }
        import::decided(record, &stored.entity).map_err(refuse)?;
        stored.follow(record).map_err(|error| not_taken(number, error))?;
        insert(&self.transaction, record).map_err(|error| not_taken(number, error))?;
        (self.seen.seq, self.seen.at) = (record.seq, record.at);
        self.sealed.add(record.hash);
        self.imported.records += 1;
        if self.touched.len() >= TOUCHED_MAX {
            self.flush()?;
        }
        Ok(())
    }

    /// Has the entity of the record at hand.
    fn warm(&mut self, record: &Record) -> Result<(), ReadError> {
        if self.touched.contains_key(&record.entity) {
            return Ok(());
        }
        let mut statement = self.transaction.prepare_cached(columns::STORED_BY_ID)?;
        let mut rows = statement.query([record.entity.as_bytes()])?;
        let stored = match rows.next()? {
            Some(row) => columns::stored(row)?,
            None => Stored::unborn(record.id()?),
        };
        self.touched.insert(record.entity, stored);
        Ok(())
    }

    fn legacy(&mut self, row: &Legacy) -> Result<(), ReadError> {
        let text = serde_json::to_string(&(&row.kind, &row.title, &row.data))
            .unwrap_or_else(|error| unreachable!("BUG: texts are always JSON: {error}"));
        let digest = *blake3::hash(text.as_bytes()).as_bytes();
        let nth = self.rows.entry(digest).and_modify(|nth| *nth += 1).or_insert(1);
        let sql = "INSERT OR IGNORE INTO legacy (digest, nth, kind, title, data) VALUES (?1, ?2, ?3, ?4, ?5)";
        let mut statement = self.transaction.prepare_cached(sql)?;
        match statement.execute((digest, *nth, &row.kind, &row.title, &row.data))? {
            0 => self.imported.legacy_known += 1,
            _ => self.imported.legacy += 1,
        }
        Ok(())
    }

    /// Writes the view rows of everything that was touched.
    fn flush(&mut self) -> Result<(), ReadError> {
        for (id, stored) in self.touched.drain() {
            self.transaction.prepare_cached("DELETE FROM entity WHERE id = ?1")?.execute([id.as_bytes()])?;
            insert_entity(&self.transaction, &stored)?;
        }
        Ok(())
    }

    fn finish(mut self, seal: &Seal) -> Result<Imported, ImportError> {
        self.flush()?;
        if self.imported.records > 0 {
            seals::write(&self.transaction, seal, &mut self.sealed, self.seen)?;
        }
        self.imported.head = self.seen.seq;
        self.transaction.commit().map_err(ReadError::from)?;
        Ok(self.imported)
    }
}

/// What the record itself is refused for belongs to its line; what the world failed at does not.
fn not_taken(number: u64, error: ReadError) -> ImportError {
    let is_refused =
        |error: &rusqlite::Error| error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation);
    let problem = if let ReadError::Misfit(misfit) = &error {
        misfit.to_string()
    } else if let ReadError::Unreadable(unreadable) = &error {
        chain(unreadable)
    } else if let ReadError::Sqlite(refused) = &error
        && is_refused(refused)
    {
        refused.to_string()
    } else {
        return ImportError::Store(error);
    };
    ImportError::Line { number, problem }
}

pub(super) fn legacy(connection: &Connection) -> Result<Vec<Legacy>, ReadError> {
    let mut statement = connection.prepare_cached("SELECT kind, title, data FROM legacy ORDER BY number")?;
    let rows = statement
        .query_map([], |row| Ok(Legacy { kind: row.get(0)?, title: row.get(1)?, data: row.get(2)? }))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn legacy_count(connection: &Connection) -> Result<u64, ReadError> {
    let count: i64 = connection.query_row("SELECT count(*) FROM legacy", [], |row| row.get(0))?;
    Ok(count as u64)
}

pub(super) fn vacuum(connection: &Connection) -> Result<(), ReadError> {
    connection.execute_batch("VACUUM")?;
    // The vacuum went through the log; this brings it into the file and cuts the log off.
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    Ok(())
}
