//! Jobs of apalis: each worker pushes one, fetches one and acknowledges it. Prints the rate, and p50 and p99 of a fetch in seconds.
//!
//! Invariant: every call is one transaction that is synced before it answers: `synchronous=FULL` on SQLite, where `setup` would switch it
//! off, and the server's own settings on PostgreSQL. A worker calls the queries that the workers of apalis call, without its polling, whose
//! pauses would count against it. Deliberately absent: handlers, which would do nothing.

use std::error::Error;
use std::time::{Duration, Instant};

use apalis::prelude::{Status, TaskBuilder, WorkerContext};
use apalis_postgres::{PgPool, PostgresStorage, queries as postgres};
use apalis_sqlite::{SqliteConnectOptions, SqlitePool, SqlitePoolOptions, SqliteStorage, queries as sqlite};
use sqlx::postgres::PgPoolOptions;
use sqlx::sqlite::{SqliteJournalMode, SqliteSynchronous};

type Failed = Box<dyn Error + Send + Sync>;

const QUEUE: &str = "jobs";
const JOB: &[u8] = br#"{"title":"fix the flaky login test"}"#;
/// How long a connection waits for another one that writes.
const BUSY: Duration = Duration::from_secs(30);
const FILL: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) \
    INSERT INTO Jobs (job, id, job_type, status, attempts, done_at) \
    SELECT '{}', 'behind-' || i, 'jobs', 'Done', 1, strftime('%s', 'now') FROM n";
const PG_FILL: &str = "INSERT INTO apalis.jobs (job, id, job_type, status, attempts, done_at) \
    SELECT '{}', 'behind-' || i, 'jobs', 'Done', 1, now() FROM generate_series(1, $1) i";

#[tokio::main]
async fn main() -> Result<(), Failed> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [place, workers, seconds, behind] = &arguments[..] else {
        return Err("usage: apalis-jobs PLACE WORKERS SECONDS BEHIND".into());
    };
    let (workers, behind): (u32, i64) = (workers.parse()?, behind.parse()?);
    let length = Duration::from_secs_f64(seconds.parse()?);
    let queue = Queue::open(place, workers, behind).await?;
    let names: Vec<WorkerContext> = (0..workers).map(|number| worker(number)).collect();
    for name in &names {
        queue.register(name).await?;
    }
    let start = Instant::now();
    let working: Vec<_> =
        names.into_iter().map(|name| tokio::spawn(work(queue.clone(), name, start + length))).collect();
    let mut fetches = Vec::new();
    for one in working {
        fetches.extend(one.await??);
    }
    let rate = fetches.len() as f64 / start.elapsed().as_secs_f64();
    fetches.sort_unstable();
    let at = |share: usize| fetches.get(fetches.len() * share / 100).map_or(0.0, Duration::as_secs_f64);
    println!("{rate} {} {}", at(50), at(99));
    Ok(())
}

/// A worker of this process: a name is registered once.
fn worker(number: u32) -> WorkerContext {
    WorkerContext::new(&format!("worker-{}-{number}", std::process::id()))
}

async fn work(queue: Queue, worker: WorkerContext, until: Instant) -> Result<Vec<Duration>, Failed> {
    let mut fetches = Vec::new();
    while Instant::now() < until {
        queue.push().await?;
        let start = Instant::now();
        while !queue.take(&worker, || fetches.push(start.elapsed())).await? {}
    }
    Ok(fetches)
}

/// Where jobs are kept.
#[derive(Clone)]
enum Queue {
    Sqlite(SqlitePool),
    Postgres(PgPool),
}

impl Queue {
    /// Opens it; the first time it is made, with as many finished jobs in it.
    async fn open(place: &str, workers: u32, behind: i64) -> Result<Self, Failed> {
        if place.starts_with("postgres") {
            let pool =
                PgPoolOptions::new().min_connections(workers).max_connections(workers).connect(place).await?;
            let there = sqlx::query("SELECT FROM pg_namespace WHERE nspname = 'apalis'")
                .fetch_optional(&pool)
                .await?;
            PostgresStorage::<()>::setup(&pool).await?;
            if there.is_none() {
                sqlx::query(PG_FILL).bind(behind).execute(&pool).await?;
                sqlx::query("ANALYZE").execute(&pool).await?;
            }
            return Ok(Self::Postgres(pool));
        }
        let is_new = !std::fs::exists(place)?;
        let options = SqliteConnectOptions::new()
            .filename(place)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(BUSY);
        let pool = SqlitePoolOptions::new()
            .min_connections(workers)
            .max_connections(workers)
            .acquire_timeout(BUSY)
            .connect_with(options)
            .await?;
        SqliteStorage::<()>::migrations().run(&pool).await?;
        if is_new && behind > 0 {
            sqlx::query(FILL).bind(behind).execute(&pool).await?;
        }
        if is_new {
            sqlx::query("ANALYZE").execute(&pool).await?;
        }
        Ok(Self::Sqlite(pool))
    }

    async fn register(&self, worker: &WorkerContext) -> Result<(), Failed> {
        match self {
            Self::Sqlite(pool) => {
                let mut connection = pool.acquire().await?;
                let config = apalis_sqlite::Config::default().queue(QUEUE);
                sqlite::register_worker(&mut *connection, &config, worker, "SqliteStorage").await?;
            }
            Self::Postgres(pool) => {
                sqlx::query("INSERT INTO apalis.workers (id, worker_type, storage_name, layers) VALUES ($1, $2, 'PgStorage', '')")
                    .bind(worker.name())
                    .bind(QUEUE)
                    .execute(pool)
                    .await?;
            }
        }
        Ok(())
    }

    async fn push(&self) -> Result<(), Failed> {
        let task = TaskBuilder::new(JOB.to_vec()).build();
        match self {
            Self::Sqlite(pool) => {
                let mut connection = pool.acquire().await?;
                sqlite::push_tasks(&mut *connection, QUEUE, &[task]).await?;
            }
            Self::Postgres(pool) => {
                let mut connection = pool.acquire().await?;
                postgres::push_tasks(&mut *connection, QUEUE, vec![task]).await?;
            }
        }
        Ok(())
    }

    /// Fetches one job and acknowledges it; false if there is none.
    async fn take(&self, worker: &WorkerContext, fetched: impl FnOnce()) -> Result<bool, Failed> {
        match self {
            Self::Sqlite(pool) => {
                let config = apalis_sqlite::Config::default().queue(QUEUE).batch_size(1);
                let mut connection = pool.acquire().await?;
                let tasks = sqlite::fetch_next(&mut *connection, &config, worker).await?;
                let Some(id) = tasks.first().and_then(|task| task.task_id()) else { return Ok(false) };
                fetched();
                let done = sqlite::AckPayload {
                    task_id: id.clone(),
                    attempt: 1,
                    status: Status::Done,
                    result: Ok(serde_json::Value::Null),
                };
                sqlite::ack_tasks(&mut *connection, &[&done], worker.name()).await?;
            }
            Self::Postgres(pool) => {
                let config = apalis_postgres::Config::default().queue(QUEUE).batch_size(1);
                let mut connection = pool.acquire().await?;
                let tasks = postgres::fetch_next(&mut *connection, &config, worker).await?;
                let Some(id) = tasks.first().and_then(|task| task.task_id()) else { return Ok(false) };
                fetched();
                let done = postgres::ResultPayload {
                    task_id: id.clone(),
                    attempt: 1,
                    status: Status::Done,
                    result: Ok(serde_json::Value::Null),
                };
                postgres::handle_results(&mut *connection, &[&done], worker.name()).await?;
            }
        }
        Ok(true)
    }
}
