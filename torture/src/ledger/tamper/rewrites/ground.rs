//! A store to be attacked, and the forger's tools for it.
//!
//! Invariant: the same on either engine; what differs is how a value is written in SQL and how the guards are switched off.

use std::path::PathBuf;

use anyhow::{Context, Result, anyhow};
use callboard_ledger::{Hash, Ledger, Page, Record, RecordScope};
use callboard_lifecycle::session::SessionState;
use rusqlite::Connection;

use crate::harness::cluster::Cluster;
use crate::harness::commands::{create, go, keyed, observe, request, session, whole_run};
use crate::harness::driver::Plan;
use crate::harness::stage::Stage;

/// A store of a few runs, below the number of records that were once signed together.
pub(crate) struct Ground<'a> {
    stage: Stage<'a>,
    server: Option<(&'a Cluster, String)>,
}

/// A run that is waiting, one that is at work, and one that has ended.
pub(crate) const PENDING: u128 = 1;
pub(crate) const RUNNING: u128 = 2;
pub(crate) const ENDED: u128 = 3;

impl<'a> Ground<'a> {
    pub(crate) fn new(server: Option<&'a Cluster>, name: &str) -> Result<Self> {
        let stage = match server {
            Some(cluster) => Stage::fresh(cluster, name)?,
            None => Stage::file()?,
        };
        let ground = Self { stage, server: server.map(|cluster| (cluster, name.to_owned())) };
        let ledger = ground.open()?;
        ledger.append(request(session(PENDING), 0, create("waits")))?;
        for order in [create("works"), go(SessionState::Running, "run.started.ok")] {
            ledger.append(request(session(RUNNING), 1, order))?;
        }
        ledger.append(keyed(request(session(RUNNING), 2, observe("beats", 1)), "beat"))?;
        for order in whole_run() {
            ledger.append(request(session(ENDED), 3, order))?;
        }
        Ok(ground)
    }

    /// A copy of the store, which nobody has open.
    pub(crate) fn copy(&self, name: &str) -> Result<Self> {
        let server = self.server.as_ref().map(|(cluster, _)| (*cluster, name.to_owned()));
        Ok(Self { stage: self.stage.copy(name)?, server })
    }

    pub(crate) fn open(&self) -> Result<Ledger> {
        self.stage.open()
    }

    pub(crate) fn keep(&mut self, plan: &Plan) -> String {
        self.stage.keep(plan)
    }

    pub(crate) fn is_sqlite(&self) -> bool {
        self.server.is_none()
    }

    /// The file of the store.
    pub(crate) fn file(&self) -> PathBuf {
        self.stage.scene.store()
    }

    /// The directory of its key.
    pub(crate) fn directory(&self) -> PathBuf {
        self.stage.scene.path().to_owned()
    }

    /// Runs SQL as a shell does; the error is what the database said.
    pub(crate) fn shell(&self, sql: &str) -> Result<()> {
        match &self.server {
            Some((cluster, name)) => cluster.psql(name, sql).map(|_| ()).map_err(|error| anyhow!(error)),
            None => Ok(Connection::open(self.file())?.execute_batch(sql)?),
        }
    }

    /// Runs SQL with the store's own guards switched off, and on again afterwards.
    pub(crate) fn unguarded(&self, sql: &str) -> Result<()> {
        if self.server.is_some() {
            return self.shell(&format!("SET session_replication_role = replica; {sql}"));
        }
        let connection = Connection::open(self.file())?;
        let guards: Vec<(String, String)> = connection
            .prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")?
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<Result<_, _>>()?;
        let off: String = guards.iter().map(|(name, _)| format!("DROP TRIGGER {name};")).collect();
        let on: String = guards.iter().map(|(_, made)| format!("{made};")).collect();
        connection.execute_batch(&format!("BEGIN; {off} {sql}; {on} COMMIT"))?;
        Ok(())
    }

    /// Every record.
    pub(crate) fn records(&self) -> Result<Vec<Record>> {
        Ok(self.open()?.records(Page { after: 0, limit: usize::MAX, scope: RecordScope::All })?)
    }

    /// Has the views folded anew, as a careful forger would.
    pub(crate) fn mend(&self) -> Result<()> {
        self.open()?.rebuild().context("the forger could not mend the views")
    }

    /// The next record of a run, as if nothing had been wrong with it; its hash is computed when it is written.
    pub(crate) fn next_of(&self, run: u128) -> Result<Record> {
        let records = self.records()?;
        let mine = session(run).uuid();
        let last = records.iter().rfind(|record| record.entity == mine).context("the run has no record")?;
        let newest = records.last().context("the log is empty")?;
        Ok(Record {
            seq: newest.seq + 1,
            version: last.version + 1,
            at: newest.at,
            event_type: "observed".to_owned(),
            via: "observed".to_owned(),
            from_state: last.to_state.clone(),
            to_state: last.to_state.clone(),
            key: None,
            body: String::new(),
            // The hash of the record before, from which its own is computed.
            hash: last.hash,
            ..last.clone()
        })
    }

    /// Adds a record with a hash that fits, and has the views mended.
    pub(crate) fn add(&self, record: &Record) -> Result<()> {
        let hash = record.hash_after(record.hash, &mut Vec::new());
        self.shell(&self.insert(&Record { hash, ..record.clone() }))
    }

    /// Writes one entity's records anew from one of them on, with hashes that fit.
    pub(crate) fn rewrite(&self, run: u128, seq: u64, change: impl Fn(&mut Record)) -> Result<()> {
        let mine = session(run).uuid();
        let mut before = Hash::GENESIS;
        let mut sql = String::new();
        for mut record in self.records()?.into_iter().filter(|record| record.entity == mine) {
            if record.seq >= seq {
                if record.seq == seq {
                    change(&mut record);
                }
                record.hash = record.hash_after(before, &mut Vec::new());
                sql += &format!("DELETE FROM ledger WHERE seq = {}; {};", record.seq, self.insert(&record));
            }
            before = record.hash;
        }
        self.unguarded(&sql)
    }

    fn insert(&self, record: &Record) -> String {
        let text = |text: &str| format!("'{}'", text.replace('\'', "''"));
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let (entity, hash) = match &self.server {
            Some(_) => (text(&record.entity.to_string()), format!("'\\x{}'", hex(&record.hash.0))),
            None => (format!("x'{}'", hex(record.entity.as_bytes())), format!("x'{}'", hex(&record.hash.0))),
        };
        let values = [
            record.seq.to_string(),
            entity,
            record.version.to_string(),
            record.at.as_micros().to_string(),
            text(&record.kind),
            text(&record.event_type),
            text(&record.channel),
            text(&record.from_state),
            text(&record.via),
            text(&record.to_state),
            text(&record.actor_type),
            text(&record.actor_id),
            record.key.as_deref().map_or_else(|| "NULL".to_owned(), text),
            text(&record.body),
            hash,
        ];
        format!(
            "INSERT INTO ledger (seq, entity, version, at, kind, type, channel, from_state, via, to_state, \
             actor_type, actor_id, key, body, hash) VALUES ({})",
            values.join(", ")
        )
    }
}
