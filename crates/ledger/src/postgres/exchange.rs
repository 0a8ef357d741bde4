//! Import on this engine, and the rows from before there were states.
//!
//! Invariant: an import is one transaction under the lock: the records, the views and the checkpoint over them, or
//! nothing. The database judges every record as it judges a shell's. Deliberately absent: reading lines.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use tokio_postgres::Client;
use uuid::Uuid;

use super::columns::{self, BEGIN};
use super::connection::connect::{Role, StoreServer};
use super::connection::trouble;
use super::connection::worker::Worker;
use super::rows::Rows;
use super::{seals, views};
use crate::error::ReadError;
use crate::moving::export::Legacy;
use crate::moving::import::{self, ImportError, Imported, Line, Lines};
use crate::proof::checkpoint::{PublicKey, Seal};
use crate::proof::sealed::Sealed;
use crate::record::Record;
use crate::store::Stored;
use crate::writing::batch::Seen;

/// Lines taken at once.
const LINES_MAX: usize = 1000;
/// Entities whose view rows are not written yet; beyond it they are written and let go.
const TOUCHED_MAX: usize = 50_000;

/// Lines are read on the caller's thread, and written by the worker.
pub(super) fn import(
    worker: &Worker,
    place: &Arc<StoreServer>,
    key: Option<&Path>,
    lines: &mut Lines<'_>,
) -> Result<Imported, ImportError> {
    let no_key = |error| ReadError::File(std::io::Error::other(error));
    let seal = key.map(Seal::at).transpose().map_err(no_key)?;
    let place = Arc::clone(place);
    let seal = seal.map(Arc::new);
    let key = seal.as_deref().map(Seal::public_key);
    let mut taking = worker.start(async move { Taking::begin(&place, key).await }).wait()?;
    loop {
        let (part, end) = part(lines);
        taking = worker.start(async move { taking.take(part).await }).wait()?;
        match end {
            End::NotYet => {}
            End::Good => break,
            End::Bad(error) => return Err(error),
        }
    }
    worker.start(async move { taking.finish(seal).await }).wait()
}

/// The next lines, and how they end if they do. What stands before a bad line is judged before it.
fn part(lines: &mut Lines<'_>) -> (Vec<(u64, Line)>, End) {
    let mut part = Vec::new();
    while part.len() < LINES_MAX {
        match lines.next() {
            Some(Ok(line)) => part.push(line),
            Some(Err(error)) => return (part, End::Bad(error)),
            None => return (part, End::Good),
        }
    }
    (part, End::NotYet)
}

/// How lines end.
enum End {
    NotYet,
    Good,
    Bad(ImportError),
}

/// An import on its way; dropped before its end, it closes its connection and nothing was taken.
struct Taking {
    client: Client,
    seen: Seen,
    /// Where the seals end, if there is a key.
    sealed: Option<Sealed>,
    touched: HashMap<Uuid, Stored>,
    /// How often each row came in this import; the same row twice in one file is two rows.
    rows: HashMap<[u8; 32], i64>,
    scratch: Vec<u8>,
    imported: Imported,
}

impl Taking {
    async fn begin(place: &StoreServer, key: Option<PublicKey>) -> Result<Self, ReadError> {
        let client = place.connect(Role::Writer).await?;
        client.batch_execute(BEGIN).await?;
        // The lines may come slowly, and all of them are one transaction.
        client.batch_execute("SET LOCAL idle_in_transaction_session_timeout = 0").await?;
        let seen = columns::seen(&client.query_one(columns::END, &[]).await?)?;
        let sealed = match key {
            Some(key) => Some(seals::look_back(&client, key, seen.seq).await?),
            None => None,
        };
        let (touched, rows) = (HashMap::new(), HashMap::new());
        Ok(Self { client, seen, sealed, touched, rows, scratch: Vec::new(), imported: Imported::default() })
    }

    async fn take(mut self, part: Vec<(u64, Line)>) -> Result<Self, ImportError> {
        let mut records = Vec::new();
        for (number, line) in part {
            match line {
                Line::Record(record) => records.push((number, record)),
                Line::Legacy(row) => self.legacy(&row).await?,
            }
        }
        self.warm(&records).await?;
        let bad = records
            .iter()
            .enumerate()
            .find_map(|(at, (number, record))| self.check(*number, record).err().map(|error| (at, error)));
        let good = bad.as_ref().map_or(records.len(), |(at, _)| *at);
        self.insert(&records[..good]).await?;
        if let Some((_, error)) = bad {
            return Err(error);
        }
        if self.touched.len() >= TOUCHED_MAX {
            self.flush().await?;
        }
        Ok(self)
    }

    /// Has the entities of the records at hand.
    async fn warm(&mut self, records: &[(u64, Box<Record>)]) -> Result<(), ReadError> {
        let unknown = |record: &Record| !self.touched.contains_key(&record.entity);
        let wanted: Vec<Uuid> =
            records.iter().filter(|(_, record)| unknown(record)).map(|(_, record)| record.entity).collect();
        let sql = format!("SELECT {} WHERE e.id = ANY($1)", columns::STORED);
        for row in self.client.query(&sql, &[&wanted]).await? {
            let stored = columns::stored(&row)?;
            self.touched.insert(stored.entity.state.id.uuid(), stored);
        }
        Ok(())
    }

    /// Must it be the next of the log and of its entity, byte for byte?
    fn check(&mut self, number: u64, record: &Record) -> Result<(), ImportError> {
        let refuse = |problem: String| ImportError::Line { number, problem };
        if record.seq != self.seen.seq + 1 {
            let head = self.seen.seq;
            return Err(refuse(format!("it is record {}, and the log ends at {head}", record.seq)));
        }
        if record.at < self.seen.at {
            return Err(refuse(format!("it was decided before the record in front of it, at {}", record.at)));
        }
        let id = record.id().map_err(|error| refuse(error.to_string()))?;
        let stored = self.touched.entry(record.entity).or_insert_with(|| Stored::unborn(id));
        if record.hash_after(stored.head, &mut self.scratch) != record.hash {
            return Err(refuse("its bytes, after the records before it, do not match its hash".to_owned()));
        }
        import::decided(record, &stored.entity).map_err(refuse)?;
        stored.follow(record).map_err(|error| refuse(trouble::chain(&error)))?;
        (self.seen.seq, self.seen.at) = (record.seq, record.at);
        if let Some(sealed) = &mut self.sealed {
            sealed.add(record.hash);
        }
        self.imported.records += 1;
        Ok(())
    }

    /// Writes them at once, or, if the database refuses one, one by one to find out which.
    async fn insert(&self, records: &[(u64, Box<Record>)]) -> Result<(), ImportError> {
        let rows: Vec<&Record> = records.iter().map(|(_, record)| &**record).collect();
        let insert = self.client.prepare(columns::INSERT_RECORDS).await.map_err(ReadError::from)?;
        self.client.batch_execute("SAVEPOINT part").await.map_err(ReadError::from)?;
        let Err(error) = self.client.execute(&insert, &[&Rows(&rows)]).await else { return Ok(()) };
        if !is_refusal(&error) {
            return Err(ReadError::from(error).into());
        }
        self.client.batch_execute("ROLLBACK TO SAVEPOINT part").await.map_err(ReadError::from)?;
        for (number, record) in records {
            let refused = self.client.execute(&insert, &[&Rows(&[&**record])]).await;
            if let Err(error) = refused {
                return Err(ImportError::Line { number: *number, problem: trouble::chain(&error) });
            }
        }
        Ok(())
    }

    async fn legacy(&mut self, row: &Legacy) -> Result<(), ReadError> {
        let text = serde_json::to_string(&(&row.kind, &row.title, &row.data))
            .unwrap_or_else(|error| unreachable!("BUG: texts are always JSON: {error}"));
        let digest = *blake3::hash(text.as_bytes()).as_bytes();
        let nth = *self.rows.entry(digest).and_modify(|nth| *nth += 1).or_insert(1);
        let sql = "INSERT INTO legacy (digest, nth, kind, title, data) VALUES ($1, $2, $3, $4, $5) \
                   ON CONFLICT DO NOTHING";
        let values: [&(dyn tokio_postgres::types::ToSql + Sync); 5] =
            [&digest.as_slice(), &nth, &row.kind, &row.title, &row.data];
        match self.client.execute(sql, &values).await? {
            0 => self.imported.legacy_known += 1,
            _ => self.imported.legacy += 1,
        }
        Ok(())
    }

    /// Writes the view rows of everything that was touched.
    async fn flush(&mut self) -> Result<(), ReadError> {
        let ids: Vec<Uuid> = self.touched.keys().copied().collect();
        self.client.execute("DELETE FROM entity WHERE id = ANY($1)", &[&ids]).await?;
        views::insert(&self.client, self.touched.values()).await?;
        self.touched.clear();
        Ok(())
    }

    async fn finish(mut self, seal: Option<Arc<Seal>>) -> Result<Imported, ImportError> {
        self.flush().await?;
        if let (Some(seal), Some(sealed), true) = (seal, &mut self.sealed, self.imported.records > 0) {
            seals::write(&self.client, &sealed.seal(&seal, self.seen.seq, self.seen.at)).await?;
        }
        self.imported.head = self.seen.seq;
        self.client.batch_execute("COMMIT").await.map_err(ReadError::from)?;
        Ok(self.imported)
    }
}

/// Did the database refuse what was sent, as opposed to failing?
fn is_refusal(error: &tokio_postgres::Error) -> bool {
    error.code().is_some_and(|code| code.code().starts_with("22") || code.code().starts_with("23"))
}

pub(super) async fn legacy(client: deadpool_postgres::Client) -> Result<Vec<Legacy>, ReadError> {
    let rows = client.query("SELECT kind, title, data FROM legacy ORDER BY number", &[]).await?;
    let read = |row: &tokio_postgres::Row| {
        Ok(Legacy { kind: row.try_get(0)?, title: row.try_get(1)?, data: row.try_get(2)? })
    };
    rows.iter().map(read).collect()
}
