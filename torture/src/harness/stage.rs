//! Where a store stands, on either engine: a file of its own, or a database of a throwaway server.
//!
//! Invariant: what holds of one holds of the other, and is checked by the same code. A server is gone with the driver,
//! so what is kept of a failure there is its log as an export.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result};
use callboard_ledger::{Ledger, Options, Range};

use crate::harness::aftermath;
use crate::harness::cluster::Cluster;
use crate::harness::driver::Plan;
use crate::harness::scene::{Scene, with_suffix};

/// The place of one store.
pub(crate) struct Stage<'a> {
    /// The store, or what is kept of it.
    pub(crate) scene: Scene,
    database: Option<Database<'a>>,
}

/// A store on a server.
struct Database<'a> {
    cluster: &'a Cluster,
    name: String,
    url: String,
}

impl<'a> Stage<'a> {
    /// A store that is a file.
    pub(crate) fn file() -> Result<Self> {
        Ok(Self { scene: Scene::new()?, database: None })
    }

    /// A store in a fresh database.
    pub(crate) fn fresh(cluster: &'a Cluster, name: &str) -> Result<Self> {
        Self::database(cluster, name, cluster.database(name))
    }

    /// A copy of this store, which nobody may have open.
    pub(crate) fn copy(&self, name: &str) -> Result<Self> {
        let Some(database) = &self.database else {
            let copy = Self::file()?;
            copy.scene.fill_from(&self.scene.store())?;
            return Ok(copy);
        };
        let url = database.cluster.copy(&database.name, name);
        let copy = Self::database(database.cluster, name, url)?;
        std::fs::copy(self.key(), copy.key()).context("failed to copy the key")?;
        Ok(copy)
    }

    fn database(cluster: &'a Cluster, name: &str, url: String) -> Result<Self> {
        let database = Some(Database { cluster, name: name.to_owned(), url });
        Ok(Self { scene: Scene::new()?, database })
    }

    /// The store as `Ledger::connect` takes it.
    pub(crate) fn store(&self) -> String {
        match &self.database {
            Some(database) => database.url.clone(),
            None => self.scene.store().display().to_string(),
        }
    }

    /// The key that signs its checkpoints.
    pub(crate) fn key(&self) -> PathBuf {
        with_suffix(&self.scene.store(), ".key")
    }

    /// The engine, for people.
    pub(crate) const fn engine(&self) -> &'static str {
        if self.database.is_some() { "PostgreSQL" } else { "SQLite" }
    }

    /// Opens the store as its next user would.
    pub(crate) fn open(&self) -> Result<Ledger> {
        let key_path = Some(self.key());
        Ledger::connect(&self.store(), Options { key_path, ..Options::default() })
            .context("the store does not open")
    }

    /// Everything that must hold of the store as a whole.
    pub(crate) fn check_whole(&self, ledger: &Ledger) -> Result<()> {
        let Some(database) = &self.database else { return aftermath::check_whole(ledger) };
        aftermath::check_views(ledger, || {
            let rows = database.cluster.sql(&database.name, "SELECT * FROM entity ORDER BY id");
            Ok(rows.lines().map(str::to_owned).collect())
        })
    }

    /// Keeps what is needed to see a failure again, and says where it is.
    pub(crate) fn keep(&mut self, plan: &Plan) -> String {
        if self.database.is_some()
            && plan.mutant.is_none()
            && let Err(error) = self.write_log()
        {
            return format!("{}, without its log: {error:#}", self.scene.keep(plan));
        }
        self.scene.keep(plan)
    }

    fn write_log(&self) -> Result<()> {
        let mut file = std::fs::File::create(self.scene.path().join("log.jsonl"))?;
        self.open()?.export(Range::ALL, &mut |line| writeln!(file, "{line}"))?;
        Ok(())
    }
}

impl Drop for Database<'_> {
    fn drop(&mut self) {
        // A server that is gone has no database left either.
        drop(self.cluster.psql("postgres", &format!("DROP DATABASE {} WITH (FORCE)", self.name)));
    }
}
