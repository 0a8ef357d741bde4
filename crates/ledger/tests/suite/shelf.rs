//! Where the stores of a case live: files in a directory, databases of a throwaway server, or memory.
//!
//! Invariant: a case asks for stores by name and cannot tell which engine it runs on; what must be done beside the
//! handle (hold the store, switch its guards off) is done here, as each engine's own clients would do it.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use callboard_ledger::{Held, Ledger, Memory, OpenError, Options};
use rusqlite::Connection;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::cluster::Cluster;

/// A place for stores of one engine.
pub(crate) struct Shelf {
    /// Files and keys.
    directory: TempDir,
    /// The server and the databases made on it, if the stores are there.
    server: Option<(Cluster, Mutex<HashSet<String>>)>,
    /// The stores by their names, if they are in memory.
    memory: Option<Mutex<HashMap<String, Memory>>>,
}

/// The lock of the writers, held by somebody else until this is dropped.
pub(crate) enum Hold {
    File(#[expect(dead_code, reason = "it holds by being there")] Connection),
    Memory(#[expect(dead_code, reason = "it holds by being there")] Held),
    Server(#[expect(dead_code, reason = "it holds by being there")] tokio_postgres::Client, Option<Runtime>),
}

impl Shelf {
    /// Stores that are files.
    pub(crate) fn files() -> Self {
        Self { directory: tempfile::tempdir().unwrap(), server: None, memory: None }
    }

    /// Stores on a server.
    pub(crate) fn server() -> Self {
        let server = Some((Cluster::start(), Mutex::default()));
        Self { directory: tempfile::tempdir().unwrap(), server, memory: None }
    }

    /// Stores in memory.
    pub(crate) fn memory() -> Self {
        Self { memory: Some(Mutex::default()), ..Self::files() }
    }

    /// A shelf of the other engine.
    pub(crate) fn other(&self) -> Self {
        if self.server.is_some() || self.memory.is_some() { Self::files() } else { Self::server() }
    }

    /// Opens a store, making it if it is not there.
    pub(crate) fn open(&self, name: &str) -> Ledger {
        self.open_with(name, Options::default())
    }

    /// Opens a store that signs its log.
    pub(crate) fn open_with(&self, name: &str, options: Options) -> Ledger {
        if let Some(memory) = self.in_memory(name) {
            return Ledger::of_memory(&memory, &options).unwrap();
        }
        let key_path = Some(self.directory.path().join(format!("{name}.key")));
        Ledger::connect(&self.place(name), Options { key_path, ..options }).unwrap()
    }

    /// Opens a store for questions alone, if it can be.
    pub(crate) fn read(&self, name: &str) -> Result<Ledger, OpenError> {
        let key_path = Some(self.directory.path().join(format!("{name}.key")));
        Ledger::open_reader(&self.place(name), &Options { key_path, ..Options::default() })
    }

    /// Opens a store for questions, and for a command only if there is one.
    pub(crate) fn look(&self, name: &str) -> Ledger {
        let key_path = Some(self.directory.path().join(format!("{name}.key")));
        Ledger::open_lazily(&self.place(name), &Options { key_path, ..Options::default() }).unwrap()
    }

    /// Holds the store as another writer would.
    pub(crate) fn hold(&self, name: &str) -> Hold {
        if let Some(memory) = self.in_memory(name) {
            return Hold::Memory(memory.hold());
        }
        if self.server.is_none() {
            let connection = Connection::open(self.place(name)).unwrap();
            connection.execute_batch("BEGIN IMMEDIATE").unwrap();
            return Hold::File(connection);
        }
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let client = runtime.block_on(async {
            let url = self.place(name);
            let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await.unwrap();
            drop(tokio::spawn(connection));
            client.batch_execute("BEGIN; SELECT pg_advisory_xact_lock(7161124095259533682)").await.unwrap();
            client
        });
        Hold::Server(client, Some(runtime))
    }

    /// Runs SQL as a shell would, with every guard of the store on.
    pub(crate) fn sql(&self, name: &str, sql: &str) -> Result<(), String> {
        match &self.server {
            Some((cluster, _)) => cluster.psql(name, sql).map(drop),
            None => {
                let connection = Connection::open(self.place(name)).unwrap();
                connection.execute_batch(sql).map_err(|error| error.to_string())
            }
        }
    }

    /// Runs SQL as somebody who has the right to switch the guards off, and does.
    pub(crate) fn unguarded(&self, name: &str, sql: &str) {
        if let Some((cluster, _)) = &self.server {
            cluster.sql(name, &format!("SET session_replication_role = replica; {sql}"));
            return;
        }
        let connection = Connection::open(self.place(name)).unwrap();
        let mut statement =
            connection.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").unwrap();
        let guards = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        let guards: Vec<(String, String)> = guards.collect::<Result<_, _>>().unwrap();
        let off: String = guards.iter().map(|(name, _)| format!("DROP TRIGGER {name};")).collect();
        let on: String = guards.iter().map(|(_, made)| format!("{made};")).collect();
        connection.execute_batch(&format!("BEGIN; {off} {sql}; {on} COMMIT")).unwrap();
    }

    /// A hash as the engine's SQL writes bytes.
    pub(crate) fn bytes(&self, hash: callboard_ledger::Hash) -> String {
        if self.server.is_some() { format!("decode('{hash}', 'hex')") } else { format!("x'{hash}'") }
    }

    /// Adds a trigger that turns every insert into the log into nothing.
    pub(crate) fn swallow(&self, name: &str) {
        if let Some((cluster, _)) = &self.server {
            cluster.sql(
                name,
                "CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'; \
                 CREATE TRIGGER swallow BEFORE INSERT ON ledger FOR EACH ROW EXECUTE FUNCTION swallow()",
            );
            return;
        }
        let trigger = "CREATE TRIGGER swallow BEFORE INSERT ON ledger BEGIN SELECT RAISE(IGNORE); END";
        Connection::open(self.place(name)).unwrap().execute_batch(trigger).unwrap();
    }

    /// The store with a name, if stores are in memory.
    fn in_memory(&self, name: &str) -> Option<Memory> {
        let mut stores = self.memory.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner);
        Some(stores.entry(name.to_owned()).or_insert_with(|| Memory::new(name)).clone())
    }

    fn place(&self, name: &str) -> String {
        let Some((cluster, made)) = &self.server else {
            return self.directory.path().join(format!("{name}.db")).display().to_string();
        };
        let mut made = made.lock().unwrap_or_else(PoisonError::into_inner);
        if made.insert(name.to_owned()) { cluster.database(name) } else { cluster.url(name) }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        // Waiting for its threads is not allowed on a thread of another runtime; ending it ends the connection.
        if let Self::Server(_, runtime) = self
            && let Some(runtime) = runtime.take()
        {
            runtime.shutdown_background();
        }
    }
}
