//! The floors: what one durable transition costs without a kernel, a hash, an index or a check.
//!
//! Invariant: one log insert and one version-checked update in one transaction, prepared, synced before the answer.
//! PostgreSQL gets both in one statement and one round trip, which is the fastest way to ask it.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::cluster::Cluster;
use crate::measure::grouped;

/// Client counts among which the best of PostgreSQL is looked for.
const CLIENTS: [u64; 6] = [1, 4, 8, 16, 32, 64];
const BODY: &str = r#"{"reasons":[{"code":"agent.busy.prompt","message":"a prompt was sent to it"}]}"#;

/// One SQLite connection.
pub(super) struct Sqlite {
    connection: Connection,
    version: i64,
}

impl Sqlite {
    pub(super) fn new(path: &Path) -> Result<Self, Box<dyn Error>> {
        let connection = Connection::open(path)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.execute_batch(
            "CREATE TABLE log (seq INTEGER PRIMARY KEY, entity INTEGER, body TEXT) STRICT;
             CREATE TABLE entity (id INTEGER PRIMARY KEY, state TEXT, version INTEGER) STRICT;
             INSERT INTO entity VALUES (1, 'idle', 0);",
        )?;
        Ok(Self { connection, version: 0 })
    }

    pub(super) fn into_work(mut self) -> impl FnMut(u64) -> io::Result<Duration> {
        move |turns| {
            let start = Instant::now();
            for _ in 0..turns {
                self.transition().map_err(io::Error::other)?;
            }
            Ok(start.elapsed())
        }
    }

    fn transition(&mut self) -> Result<(), rusqlite::Error> {
        self.connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        self.connection.prepare_cached("INSERT INTO log (entity, body) VALUES (1, ?1)")?.execute([BODY])?;
        self.connection
            .prepare_cached(
                "UPDATE entity SET state = 'busy', version = version + 1 WHERE id = 1 AND version = ?1",
            )?
            .execute([self.version])?;
        self.connection.prepare_cached("COMMIT")?.execute([])?;
        self.version += 1;
        Ok(())
    }
}

/// A PostgreSQL database that its own load generator asks.
pub(super) struct Postgres<'a> {
    cluster: &'a Cluster,
    pgbench: PathBuf,
    script: PathBuf,
}

impl<'a> Postgres<'a> {
    pub(super) fn new(cluster: &'a Cluster, directory: &Path) -> Result<Self, Box<dyn Error>> {
        cluster.database("bare");
        cluster.sql(
            "bare",
            "CREATE TABLE log (seq bigserial PRIMARY KEY, entity bigint NOT NULL, body text NOT NULL);
             CREATE TABLE entity (id bigint PRIMARY KEY, state text NOT NULL, version bigint NOT NULL)
                 WITH (fillfactor = 50);
             INSERT INTO entity SELECT id, 'idle', 0 FROM generate_series(0, 255) id;",
        );
        let script = directory.join("transition.sql");
        std::fs::write(
            &script,
            format!(
                "\\set before :before + 1\nWITH moved AS (UPDATE entity SET state = 'busy', \
                 version = version + 1 WHERE id = :client_id AND version = :before RETURNING id) \
                 INSERT INTO log (entity, body) SELECT id, '{BODY}' FROM moved;\n"
            ),
        )?;
        Ok(Self { cluster, pgbench: pgbench()?, script })
    }

    /// How the server was told to sync, as it says itself.
    pub(super) fn sync_mode(&self) -> String {
        let sql = "SELECT 'synchronous_commit=' || current_setting('synchronous_commit') || \
                   ', fsync=' || current_setting('fsync') || ', ' || current_setting('wal_sync_method')";
        self.cluster.sql("bare", sql)
    }

    /// The client count with the most transitions a second; prints what each gave.
    pub(super) fn best_clients(&self) -> io::Result<u64> {
        let mut best = (0.0, 1);
        let mut seen = Vec::new();
        for clients in CLIENTS {
            let turns = 1 + 6_000 / clients;
            let took = self.work(clients, turns)?;
            let rate = (turns * clients) as f64 / took.as_secs_f64();
            seen.push(format!("{clients}: {}", grouped(rate)));
            if rate > best.0 {
                best = (rate, clients);
            }
        }
        println!("bare PostgreSQL by clients, transitions a second: {}", seen.join("; "));
        Ok(best.1)
    }

    /// Every client makes this many transitions of an entity of its own.
    pub(super) fn work(&self, clients: u64, turns: u64) -> io::Result<Duration> {
        self.cluster.sql("bare", "UPDATE entity SET version = 0");
        let output = Command::new(&self.pgbench)
            .args(["-n", "-M", "prepared", "-D", "before=-1", "-f"])
            .arg(&self.script)
            .args(["-c", &clients.to_string(), "-j", "2", "-t", &turns.to_string()])
            .arg(self.cluster.url("bare"))
            .output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let rate = text
            .lines()
            .find_map(|line| line.strip_prefix("tps = ")?.split_whitespace().next()?.parse::<f64>().ok())
            .filter(|_| output.status.success())
            .ok_or_else(|| {
                io::Error::other(format!("pgbench: {text}{}", String::from_utf8_lossy(&output.stderr)))
            })?;
        let moved = self.cluster.sql("bare", "SELECT sum(version) FROM entity");
        if moved != (clients * turns).to_string() {
            return Err(io::Error::other(format!("{moved} of {} transitions were made", clients * turns)));
        }
        Ok(Duration::from_secs_f64((clients * turns) as f64 / rate))
    }
}

/// Beside the server where distributions put it, or on the path.
fn pgbench() -> Result<PathBuf, Box<dyn Error>> {
    let on_path = std::env::var_os("PATH").unwrap_or_default();
    let mut places: Vec<PathBuf> = std::env::split_paths(&on_path).collect();
    if let Ok(versions) = std::fs::read_dir("/usr/lib/postgresql") {
        places.extend(versions.flatten().map(|version| version.path().join("bin")));
    }
    let found = places.into_iter().map(|place| place.join("pgbench")).find(|program| program.exists());
    Ok(found.ok_or("pgbench is not installed; it comes with the PostgreSQL server")?)
}
