//! A writing session: one connection with its prepared statements, and how long to wait for the next one.
//!
//! Invariant: a session was checked against the format of the store before its first write.

use std::time::{Duration, Instant};

use futures_util::future::{try_join, try_join3, try_join4};
use tokio_postgres::{Client, Statement};

use super::connect::{Role, StoreServer};
use super::trouble;
use super::trouble::SILENCE;
use crate::error::Fault;
use crate::postgres::columns::{self, Touch};
use crate::postgres::leases::LeaseStatements;
use crate::postgres::listings::offers::OfferStatements;
use crate::postgres::schema;
use crate::record::Hash;
use crate::writing::batch::Anchor;

/// A connection that can write.
pub(in crate::postgres) struct Session {
    pub(in crate::postgres) client: Client,
    pub(in crate::postgres) end: Statement,
    pub(in crate::postgres) entities: Statement,
    pub(in crate::postgres) keys: Statement,
    pub(in crate::postgres) hashes: Statement,
    pub(in crate::postgres) leases: LeaseStatements,
    pub(in crate::postgres) offers: OfferStatements,
    born: Statement,
    moved: Statement,
    both: Statement,
    /// Who serves it on the other side.
    pub(in crate::postgres) backend: Backend,
}

/// The server's process of a session. Its start tells it from a later one with the same number.
#[derive(Clone, Debug)]
pub(in crate::postgres) struct Backend {
    pub(in crate::postgres) pid: i32,
    pub(in crate::postgres) since: String,
}

impl Session {
    /// A session, unless the server is silent or its log is not the one that was written.
    pub(in crate::postgres) async fn open(place: &StoreServer, anchor: Anchor) -> Result<Self, Refused> {
        let opening = async {
            let session = Self::begin(place).await?;
            session.holds(place, anchor).await?;
            Ok(session)
        };
        tokio::time::timeout(place.open_max(), opening).await.unwrap_or(Err(Refused::Silent))
    }

    /// Does the log have the newest record that was answered for? A server may come back with an older database.
    async fn holds(&self, place: &StoreServer, anchor: Anchor) -> Result<(), Refused> {
        let Some((seq, hash)) = anchor.newest() else { return Ok(()) };
        let rows = self.client.query(&self.hashes, &[&(seq as i64 - 1), &(seq as i64)]).await?;
        let found = rows.first().map(|row| row.try_get::<_, &[u8]>(1)).transpose()?;
        if found.and_then(Hash::of) == Some(hash) {
            return Ok(());
        }
        Err(Refused::Replaced(format!("{}: the log does not hold record {seq} any more", place.shown())))
    }

    async fn begin(place: &StoreServer) -> Result<Self, Refused> {
        let client = place.connect(Role::Writer).await?;
        let format = schema::format(&client).await?;
        if format != schema::FORMAT {
            let known = schema::FORMAT;
            return Err(Refused::Format(format!("it has format {format}, and this program writes {known}")));
        }
        let whom = "SELECT pid, backend_start::text FROM pg_stat_activity WHERE pid = pg_backend_pid()";
        let row = client.query_one(whom, &[]).await?;
        let backend = Backend { pid: row.try_get(0)?, since: row.try_get(1)? };
        let entities = format!("SELECT {} WHERE e.id = ANY($1)", columns::STORED);
        let keys = format!(
            "SELECT {} JOIN unnest($1::uuid[], $2::text[]) x(entity, key) ON l.entity = x.entity AND l.key = x.key",
            columns::RECORD
        );
        let writes = [Touch::Born, Touch::Moved, Touch::Both].map(columns::write);
        let (born, moved, both) =
            try_join3(client.prepare(&writes[0]), client.prepare(&writes[1]), client.prepare(&writes[2]))
                .await?;
        let (end, entities, keys, hashes) = try_join4(
            client.prepare(columns::END),
            client.prepare(&entities),
            client.prepare(&keys),
            client.prepare(columns::HASHES),
        )
        .await?;
        let (leases, offers) =
            try_join(LeaseStatements::prepare(&client), OfferStatements::prepare(&client)).await?;
        Ok(Self { client, end, entities, keys, hashes, leases, offers, born, moved, both, backend })
    }

    pub(in crate::postgres) const fn write(&self, touch: Touch) -> &Statement {
        match touch {
            Touch::Born => &self.born,
            Touch::Moved => &self.moved,
            Touch::Both => &self.both,
        }
    }
}

/// Why there is no session.
pub(in crate::postgres) enum Refused {
    /// The server said no, or was not there.
    Server(tokio_postgres::Error),
    /// The server took the connection and did not answer in time.
    Silent,
    /// The store has become another program's.
    Format(String),
    /// The log is not the one that was written.
    Replaced(String),
}

impl From<tokio_postgres::Error> for Refused {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Server(error)
    }
}

impl Refused {
    /// Is it worth waiting for?
    pub(in crate::postgres) fn may_come_back(&self) -> bool {
        match self {
            Self::Server(error) => trouble::may_come_back(error),
            Self::Silent => true,
            Self::Format(_) | Self::Replaced(_) => false,
        }
    }

    pub(in crate::postgres) fn text(&self) -> String {
        match self {
            Self::Server(error) => trouble::chain(error),
            Self::Silent => SILENCE.to_owned(),
            Self::Format(text) | Self::Replaced(text) => text.clone(),
        }
    }

    pub(in crate::postgres) fn fault(&self) -> Fault {
        match self {
            Self::Replaced(text) => Fault::Replaced(text.clone()),
            Self::Server(_) | Self::Silent | Self::Format(_) => Fault::ReadOnly(self.text()),
        }
    }
}

/// Bounded waiting: each pause is longer than the one before, and the last ends at the limit.
pub(in crate::postgres) struct Patience {
    until: Instant,
    pause: Duration,
}

const PAUSE_FIRST: Duration = Duration::from_millis(10);
const PAUSE_MAX: Duration = Duration::from_millis(400);

impl Patience {
    pub(in crate::postgres) fn new(limit: Duration) -> Self {
        Self { until: Instant::now() + limit, pause: PAUSE_FIRST }
    }

    /// How long to wait before the next try; nothing when the limit is reached. A part of it is random, so that
    /// the writers of many hosts do not all come back at once.
    pub(in crate::postgres) fn next(&mut self) -> Option<Duration> {
        let left = self.until.checked_duration_since(Instant::now())?;
        let mut byte = [0; 1];
        // Without randomness the pause is merely less random.
        let share = getrandom::fill(&mut byte).map_or(255, |()| u32::from(byte[0]));
        let pause = self.pause / 2 + self.pause * share / 510;
        self.pause = (self.pause * 2).min(PAUSE_MAX);
        Some(pause.min(left))
    }
}
