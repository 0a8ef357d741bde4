//! Boards with finished tasks behind: one store for each number of tasks, of which every side gets a copy of its own.
//!
//! Invariant: a finished task was added, claimed, begun, done and closed as in the measurement. Deliberately absent: rows that nothing
//! recorded.

use std::error::Error;
use std::path::{Path, PathBuf};

use callboard_ledger::{Ledger, Options};

use super::cycles::Workers;
use crate::cluster::Cluster;

/// Many at once, so that they share a sync.
const FILLERS: u64 = 128;

/// Where boards are kept.
pub(super) enum Engine<'a> {
    Sqlite(&'a Path),
    Postgres(&'a Cluster),
}

/// A board with finished tasks.
pub(super) struct History {
    behind: u64,
    name: String,
}

impl History {
    pub(super) fn fill(engine: &Engine<'_>, behind: u64) -> Result<Self, Box<dyn Error>> {
        let history = Self { behind, name: format!("behind_{behind}") };
        let place = engine.make(&history.name);
        let options = Options { queue_max: 16_384, batch_max: 4_096, ..Options::default() };
        let mut workers = Workers::new(Ledger::connect(&place, options)?, FILLERS)?;
        workers.work(behind / FILLERS)?;
        drop(workers);
        if let Engine::Postgres(cluster) = engine {
            cluster.sql(&history.name, "VACUUM ANALYZE");
        }
        Ok(history)
    }

    pub(super) const fn behind(&self) -> u64 {
        self.behind
    }

    /// A copy of it with this many workers on it.
    pub(super) fn workers(&self, engine: &Engine<'_>, count: u64) -> Result<Workers, Box<dyn Error>> {
        let place = engine.copy(&self.name, &format!("{}_{count}", self.name))?;
        Ok(Workers::new(Ledger::connect(&place, Options::default())?, count)?)
    }
}

impl Engine<'_> {
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Sqlite(_) => "SQLite (WAL, synchronous=FULL)",
            Self::Postgres(_) => "PostgreSQL (fsync and synchronous_commit on)",
        }
    }

    /// A new place for a store, a file that is not there yet or an empty database.
    pub(super) fn make(&self, name: &str) -> String {
        match self {
            Self::Sqlite(directory) => file(directory, name).display().to_string(),
            Self::Postgres(cluster) => cluster.database(name),
        }
    }

    fn copy(&self, from: &str, name: &str) -> Result<String, Box<dyn Error>> {
        match self {
            Self::Sqlite(directory) => {
                let copy = file(directory, name);
                std::fs::copy(file(directory, from), &copy)?;
                Ok(copy.display().to_string())
            }
            Self::Postgres(cluster) => Ok(cluster.copy(from, name)),
        }
    }
}

fn file(directory: &Path, name: &str) -> PathBuf {
    directory.join(format!("{name}.db"))
}
