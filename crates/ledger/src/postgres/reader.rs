//! Readers: each question is answered on one snapshot, beside the writers and without waiting for them.
//!
//! Invariant: a read never changes the store and never sees half a transaction. A connection lost on the way is
//! replaced and the question asked again. The calls block; they may be made on any thread (see `worker`).

use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

use callboard_kernel::{EntityId, Moment};
use callboard_lifecycle::{Kind, Words};
use deadpool_postgres::{
    Client, ClientWrapper, Hook, HookError, Manager, ManagerConfig, Pool, RecyclingMethod, Runtime,
};
use tokio_postgres::IsolationLevel;
use uuid::Uuid;

use super::connection::connect::{Role, StoreServer};
use super::connection::session::Patience;
use super::connection::worker::{Pending, Worker};
use super::connection::{listener, trouble};
use super::snapshot::Snapshot;
use super::{columns, defence, exchange, leases, listings, maintain, schema, views};
use crate::engine::Ask;
use crate::error::{OpenError, ReadError};
use crate::lease::{LeaseAnswer, LeaseOrder, LeaseSeen, ServiceStep};
use crate::moving::export::Legacy;
use crate::moving::import::{ImportError, Imported, Lines};
use crate::moving::segment::Segment;
use crate::proof::checkpoint::{Checkpoint, PublicKey};
use crate::proof::verify::Problem;
use crate::reading::views::{EachRecord, Share};
use crate::record::{Hash, Record};
use crate::store::{Info, Listing, Page, RecordScope, Slice, StateCount, Stored};
use crate::writing::wake_up::WakeUp;

/// Connections at the most; a question beyond that waits for one.
const CONNECTIONS_MAX: usize = 8;
/// Those among them that write leases; none is opened before there is one.
const LEASING_MAX: usize = 2;
/// Records fetched at once while walking through the log.
const WALK_PAGE: i64 = 4096;
/// How long a lost wake-up can go unnoticed.
const LOOK: Duration = Duration::from_secs(2);

/// The server keeps the whole log; its own means move old rows to slower disks.
const NO_ARCHIVE: ReadError = ReadError::Unsupported {
    what: "being archived",
    instead: "callboard export writes the log to a file and leaves it in the store; the server can keep old rows in a \
              tablespace on a slower disk",
};

/// Answers questions about a store.
pub(crate) struct Reader {
    place: Arc<StoreServer>,
    pool: Pool,
    /// Writes leases, and nothing else.
    leasing: Pool,
    worker: Worker,
    /// Where the key lies that signs checkpoints; without one, nothing is signed.
    key: Option<PathBuf>,
    /// Begins when somebody waits for the first time.
    listening: Once,
}

impl Reader {
    pub(crate) fn new(place: StoreServer, key: Option<PathBuf>) -> Result<Self, OpenError> {
        let pool = pool_of(&place, Role::Reader, CONNECTIONS_MAX)?;
        let leasing = pool_of(&place, Role::Writer, LEASING_MAX)?;
        let worker =
            Worker::new().map_err(|source| OpenError::Directory { path: place.shown().into(), source })?;
        Ok(Self { place: Arc::new(place), pool, leasing, worker, key, listening: Once::new() })
    }

    /// Is there a store that this program can read? It is left as it is.
    pub(crate) fn check_format(&self) -> Result<(), OpenError> {
        let place = Arc::clone(&self.place);
        // A server that is not there is told of at once; it is waited for only once it was reached.
        let asking = async move { schema::format(&place.connect(Role::Reader).await?).await };
        let found = self.worker.start(asking).wait().map_err(|source| self.place.server(source))?;
        let (path, known) = (PathBuf::from(self.place.shown()), schema::FORMAT);
        match found {
            0 => Err(OpenError::Missing { path }),
            found if found < known => Err(OpenError::Older { path, found, known }),
            found if found > known => Err(OpenError::Newer { path, found, known }),
            _ => Ok(()),
        }
    }

    /// Asks on a connection of the pool, and again on another one as long as connections are lost.
    fn ask<T, F>(&self, question: impl Fn(Client) -> F + Send + 'static) -> Result<T, ReadError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, ReadError>> + Send,
    {
        self.start(&self.pool, question).wait()
    }

    fn start<T, F>(
        &self,
        pool: &Pool,
        question: impl Fn(Client) -> F + Send + 'static,
    ) -> Pending<Result<T, ReadError>>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, ReadError>> + Send,
    {
        let (pool, limit) = (pool.clone(), self.place.busy_wait);
        self.worker.start(async move {
            let mut patience = Patience::new(limit);
            loop {
                let error = match pool.get().await {
                    Ok(client) => match question(client).await {
                        Ok(answer) => return Ok(answer),
                        Err(error) => error,
                    },
                    Err(error) => error.into(),
                };
                match patience.next() {
                    Some(pause) if trouble::is_away(&error) => tokio::time::sleep(pause).await,
                    Some(_) | None => return Err(error),
                }
            }
        })
    }

    fn walk(&self, after: u64, last: u64) -> Pending<Result<Vec<Record>, ReadError>> {
        self.start(&self.pool, move |client| async move {
            let sql = format!(
                "SELECT {} WHERE l.seq > $1 AND l.seq <= $2 ORDER BY l.seq LIMIT {WALK_PAGE}",
                columns::RECORD
            );
            let statement = client.prepare_cached(&sql).await?;
            columns::all(
                &client.query(&statement, &[&(after as i64), &(last as i64)]).await?,
                columns::record,
            )
        })
    }
}

/// Connections of one role, opened when they are needed.
fn pool_of(place: &StoreServer, role: Role, max: usize) -> Result<Pool, OpenError> {
    let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
    let manager = Manager::from_config(place.config.clone(), place.tls.clone(), recycling);
    let settings: Arc<str> = place.settings(role).into();
    let settle = Hook::async_fn(move |client: &mut ClientWrapper, _| {
        let settings = Arc::clone(&settings);
        Box::pin(async move { client.batch_execute(&settings).await.map_err(HookError::Backend) })
    });
    let pool = Pool::builder(manager)
        .max_size(max)
        .runtime(Runtime::Tokio1)
        .wait_timeout(Some(place.answer_max()))
        .create_timeout(Some(place.open_max()))
        .post_create(settle)
        .build();
    pool.map_err(|error| OpenError::Directory {
        path: place.shown().into(),
        source: std::io::Error::other(error),
    })
}

fn limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

impl Ask for Reader {
    fn head(&self) -> Result<u64, ReadError> {
        self.ask(|client| async move {
            let statement = client.prepare_cached("SELECT coalesce(max(seq), 0) FROM ledger").await?;
            columns::number(&client.query_one(&statement, &[]).await?, 0)
        })
    }

    /// Woken by the writers of all hosts; a look now and then remains, as a wake-up can be lost with its connection.
    fn wait_beyond(&self, seq: u64, until: Instant, wake_up: &Arc<WakeUp>) -> Result<u64, ReadError> {
        self.listening.call_once(|| {
            drop(self.worker.start(listener::listen(Arc::clone(&self.place), Arc::clone(wake_up))));
        });
        loop {
            let heard = wake_up.count();
            let end = self.head()?;
            if end > seq || Instant::now() >= until {
                return Ok(end);
            }
            wake_up.wait(heard, until.min(Instant::now() + LOOK));
        }
    }

    fn entity(&self, id: EntityId) -> Result<Option<Stored>, ReadError> {
        self.ask(move |client| async move {
            let sql = format!("SELECT {} WHERE e.id = $1", columns::STORED);
            let statement = client.prepare_cached(&sql).await?;
            client.query_opt(&statement, &[&id.uuid()]).await?.as_ref().map(columns::stored).transpose()
        })
    }

    fn each_of(&self, ids: &[EntityId]) -> Result<Vec<Option<Stored>>, ReadError> {
        let ids: Vec<EntityId> = ids.to_vec();
        self.ask(move |client| {
            let ids = ids.clone();
            async move {
                let sql = format!("SELECT {} WHERE e.id = ANY($1)", columns::STORED);
                let statement = client.prepare_cached(&sql).await?;
                let uuids: Vec<Uuid> = ids.iter().map(|id| id.uuid()).collect();
                let found = columns::all(&client.query(&statement, &[&uuids]).await?, columns::stored)?;
                let of = |id: &EntityId| found.iter().find(|stored| stored.entity.state.id == *id).cloned();
                Ok(ids.iter().map(of).collect())
            }
        })
    }

    fn entities(&self, listing: Listing) -> Result<Vec<Stored>, ReadError> {
        // Each shape is its own statement, so that each gets the plan that fits it.
        let live = if listing.ended { "" } else { "AND e.ended_at IS NULL" };
        let kind = if listing.kind.is_some() { "AND e.kind = $1" } else { "AND $1::text IS NULL" };
        let sql = format!("SELECT {} WHERE true {kind} {live} ORDER BY e.id DESC LIMIT $2", columns::STORED);
        let sql: Arc<str> = sql.into();
        let most = (listing.limit > 0).then(|| limit(listing.limit));
        let kind = listing.kind.map(Kind::name);
        self.ask(move |client| {
            let sql = Arc::clone(&sql);
            async move {
                let statement = client.prepare_cached(&sql).await?;
                columns::listed(&client.query(&statement, &[&kind, &most]).await?)
            }
        })
    }

    fn slice(&self, slice: Slice) -> Result<Vec<Stored>, ReadError> {
        let slice = Arc::new(slice);
        self.ask(move |client| {
            let slice = Arc::clone(&slice);
            async move { listings::slice(&client, &slice).await }
        })
    }

    fn standings(&self) -> Result<(u64, Vec<StateCount>), ReadError> {
        self.ask(|client| async move { listings::standings(&client).await })
    }

    fn ended_counts(&self) -> Result<Vec<(String, u64)>, ReadError> {
        self.ask(|client| async move { listings::ended_counts(&client).await })
    }

    fn ended_tasks(
        &self,
        state: &'static str,
        beyond: Option<EntityId>,
        limit: usize,
    ) -> Result<Vec<Stored>, ReadError> {
        self.ask(move |client| async move { listings::ended_tasks(&client, state, beyond, limit).await })
    }

    fn attention(&self, most: usize) -> Result<Vec<Stored>, ReadError> {
        self.ask(move |client| async move {
            let sql = format!(
                "SELECT {} WHERE e.urgency IS NOT NULL ORDER BY e.urgency, e.id LIMIT $1",
                columns::STORED
            );
            let statement = client.prepare_cached(&sql).await?;
            columns::listed(&client.query(&statement, &[&limit(most)]).await?)
        })
    }

    fn records(&self, page: Page) -> Result<Vec<Record>, ReadError> {
        // Within an entity the versions have the order of the log, and there is an index for them.
        let (scope, order, id) = match page.scope {
            RecordScope::All => ("$2::uuid IS NULL", "l.seq", None),
            RecordScope::Entity(id) => ("l.entity = $2", "l.version", Some(id.uuid())),
        };
        let most = limit(page.limit);
        self.ask(move |client| async move {
            let sql =
                format!("SELECT {} WHERE l.seq > $1 AND {scope} ORDER BY {order} LIMIT $3", columns::RECORD);
            let statement = client.prepare_cached(&sql).await?;
            columns::all(
                &client.query(&statement, &[&(page.after as i64), &id, &most]).await?,
                columns::record,
            )
        })
    }

    /// The ledger's time never runs backwards, so this can be searched by halves.
    fn seq_at(&self, moment: Moment) -> Result<u64, ReadError> {
        self.ask(move |mut client| async move {
            let snapshot = client
                .build_transaction()
                .isolation_level(IsolationLevel::RepeatableRead)
                .read_only(true)
                .start()
                .await?;
            let head = snapshot.query_one("SELECT coalesce(max(seq), 0) FROM ledger", &[]).await?;
            let (mut low, mut high) = (0, columns::number(&head, 0)?);
            let statement = snapshot.prepare_cached("SELECT at FROM ledger WHERE seq = $1").await?;
            while low < high {
                let middle = low + (high - low).div_ceil(2);
                let at: i64 = snapshot.query_one(&statement, &[&(middle as i64)]).await?.try_get(0)?;
                if Moment::from_micros(at) <= moment { low = middle } else { high = middle - 1 }
            }
            snapshot.rollback().await?;
            Ok(low)
        })
    }

    fn between(&self, kind: Kind, low: u128, high: u128, most: usize) -> Result<Vec<EntityId>, ReadError> {
        self.ask(move |client| async move {
            let sql = "SELECT id FROM entity WHERE id BETWEEN $1 AND $2 AND kind = $3 ORDER BY id LIMIT $4";
            let statement = client.prepare_cached(sql).await?;
            let (low, high) = (Uuid::from_u128(low), Uuid::from_u128(high));
            let rows = client.query(&statement, &[&low, &high, &kind.name(), &limit(most)]).await?;
            rows.iter().map(|row| Ok(EntityId::new(kind, row.try_get(0)?))).collect()
        })
    }

    fn checkpoints(&self) -> Result<Vec<Checkpoint>, ReadError> {
        self.ask(|client| async move {
            let sql = format!("SELECT {} FROM checkpoint ORDER BY seq", columns::CHECKPOINT);
            columns::all(&client.query(&sql, &[]).await?, columns::checkpoint)
        })
    }

    fn newest_checkpoints(&self) -> Result<Vec<Checkpoint>, ReadError> {
        self.ask(|client| async move {
            columns::all(&client.query(columns::SEALS, &[]).await?, columns::checkpoint)
        })
    }

    fn root_at(&self, seq: u64) -> Result<Option<Hash>, ReadError> {
        self.ask(move |client| async move {
            let row =
                client.query_opt("SELECT root FROM checkpoint WHERE seq = $1", &[&(seq as i64)]).await?;
            row.map(|row| columns::hash(&row, 0)).transpose()
        })
    }

    fn is_standby(&self) -> bool {
        let asked = self.ask(|client| async move {
            Ok(client.query_one("SELECT pg_is_in_recovery()", &[]).await?.try_get::<_, bool>(0)?)
        });
        asked.unwrap_or(true)
    }

    fn store_id(&self) -> Result<String, ReadError> {
        self.ask(|client| async move {
            let row = client.query_one("SELECT coalesce(encode(store, 'hex'), '') FROM meta", &[]).await?;
            Ok(row.try_get(0)?)
        })
    }

    fn signers(&self) -> Result<Vec<PublicKey>, ReadError> {
        self.ask(|client| async move { maintain::signers(&client).await })
    }

    fn awaits_seal(&self) -> Result<u64, ReadError> {
        self.ask(|client| async move {
            let row = client.query_one("SELECT coalesce(max(unsealed), 0) FROM meta", &[]).await?;
            columns::number(&row, 0)
        })
    }

    fn segments(&self) -> Result<Vec<Segment>, ReadError> {
        Ok(Vec::new())
    }

    fn segment_problems(&self) -> Result<Vec<Problem>, ReadError> {
        Ok(Vec::new())
    }

    fn defence_problems(&self) -> Result<Vec<Problem>, ReadError> {
        self.ask(|client| async move { defence::problems(&client).await })
    }

    fn take_out(&self, _segment: &Segment) -> Result<u64, ReadError> {
        Err(NO_ARCHIVE)
    }

    fn relocate(&self, _digest: Hash, _path: &Path) -> Result<(), ReadError> {
        Err(NO_ARCHIVE)
    }

    fn archives(&self) -> Result<(), ReadError> {
        Err(NO_ARCHIVE)
    }

    /// What is written stays as it is, so pages read one after another are one snapshot of the range. The next page
    /// is on its way while the caller works on this one.
    fn each_record(&self, after: u64, last: u64, each: EachRecord<'_>) -> Result<(), ReadError> {
        let mut page = self.walk(after, last).wait()?;
        while let Some(end) = page.last().map(|record| record.seq) {
            let next = self.walk(end, last);
            page.iter().try_for_each(|record| each(&record.borrowed()))?;
            page = next.wait()?;
        }
        Ok(())
    }

    fn before(&self, record: &Record) -> Result<Option<Record>, ReadError> {
        let (entity, version, seq) = (record.entity, record.version as i64, record.seq as i64);
        if version <= 1 {
            return Ok(None);
        }
        self.ask(move |client| async move {
            let sql = format!(
                "SELECT {} WHERE l.entity = $1 AND l.version < $2 AND l.seq < $3 ORDER BY l.version DESC LIMIT 1",
                columns::RECORD
            );
            let statement = client.prepare_cached(&sql).await?;
            let row = client.query_opt(&statement, &[&entity, &version, &seq]).await?;
            row.as_ref().map(columns::record).transpose()
        })
    }

    fn view_problems(&self, share: Share) -> Result<Vec<Problem>, ReadError> {
        views::problems(&Snapshot::open(&self.worker, &self.place)?, share)
    }

    fn rebuild(&self, folded: Share) -> Result<(), ReadError> {
        // Not asked again: whether a lost commit was done is for the caller to see.
        let place = Arc::clone(&self.place);
        self.worker.start(async move { views::rebuild(&place, folded).await }).wait()
    }

    fn probe(&self) -> Result<(), ReadError> {
        let place = Arc::clone(&self.place);
        self.worker.start(async move { maintain::probe(&place).await }).wait()
    }

    fn info(&self) -> Result<Info, ReadError> {
        self.ask(maintain::info)
    }

    fn durability(&self) -> Result<Vec<(String, String)>, ReadError> {
        self.ask(maintain::durability)
    }

    fn seals(&self) -> bool {
        self.key.is_some()
    }

    fn lease(&self, order: &LeaseOrder) -> Result<LeaseAnswer, ReadError> {
        // Asked again after a lost connection: whoever took the lease without knowing it takes it once more.
        let order = Arc::new(order.clone());
        let asking = move |client| {
            let order = Arc::clone(&order);
            async move { leases::settle(client, &order).await }
        };
        self.start(&self.leasing, asking).wait()
    }

    fn leases(&self) -> Result<Vec<LeaseSeen>, ReadError> {
        self.ask(|client| async move { leases::all(&client).await })
    }

    fn service_steps(&self) -> Result<Vec<ServiceStep>, ReadError> {
        self.ask(|client| async move { leases::steps(&client).await })
    }

    fn vacuum(&self) -> Result<(), ReadError> {
        let place = Arc::clone(&self.place);
        self.worker.start(async move { maintain::vacuum(&place).await }).wait()
    }

    fn import(&self, lines: &mut Lines<'_>) -> Result<Imported, ImportError> {
        exchange::import(&self.worker, &self.place, self.key.as_deref(), lines)
    }

    fn legacy(&self) -> Result<Vec<Legacy>, ReadError> {
        self.ask(exchange::legacy)
    }

    fn legacy_count(&self) -> Result<u64, ReadError> {
        self.ask(|client| async move {
            columns::number(&client.query_one("SELECT count(*) FROM legacy", &[]).await?, 0)
        })
    }

    fn backup(&self, _to: &Path) -> Result<(), ReadError> {
        let instead = "pg_dump copies the whole database while others write, and pg_restore brings it back";
        Err(ReadError::Unsupported { what: "being copied to a file", instead })
    }

    /// The server checks its own pages when it reads them; what it holds is checked by `verify`.
    fn integrity(&self) -> Result<Option<String>, ReadError> {
        Ok(None)
    }
}
