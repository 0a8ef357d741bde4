//! Leases and the steps of services on this engine, by the clock of the database.
//!
//! Invariant: a row is locked before it is looked at, and the clock is read after that; the server takes both questions in this order,
//! although they are sent at once. Deliberately absent: who may have a lease; `lease` says that.

use std::collections::HashMap;
use std::time::Duration;

use callboard_kernel::{EntityId, Moment};
use deadpool_postgres::Client;
use futures_util::future::{try_join, try_join3};
use tokio_postgres::{Row, Statement};

use super::{columns, text};
use crate::error::ReadError;
use crate::lease::{Lease, LeaseAnswer, LeaseOrder, LeaseRow, LeaseSeen, ServiceStep};

/// How the clock of the database is asked, in microseconds.
const NOW: &str = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint";
const ROW: &str = "SELECT holder, epoch, until, length FROM lease WHERE name = $1 FOR UPDATE";
const LOCKED: &str =
    "SELECT holder, epoch, until, length, name FROM lease WHERE name = ANY($1) ORDER BY name FOR UPDATE";
/// Only the holder of the lock of the writers grants and ends the lease of an entity, so nobody can be faster.
const PUT: &str = "WITH put AS (INSERT INTO lease (name, holder, epoch, until, length) \
     SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[]) \
     ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, epoch = excluded.epoch, \
     until = excluded.until, length = excluded.length RETURNING 1) \
     SELECT all_written((SELECT count(*) FROM put), cardinality($1::text[]))";
/// Of two that take a new lease at once, one finds it there the next time.
const ROUNDS_MAX: u32 = 8;

/// What a writing session asks about leases, prepared.
pub(super) struct LeaseStatements {
    locked: Statement,
    clock: Statement,
    put: Statement,
}

/// Leases that are locked until the transaction ends, by name, and what the clock said after that.
#[derive(Default)]
pub(super) struct LockedLeases {
    pub(super) rows: HashMap<String, LeaseRow>,
    pub(super) now: Moment,
}

/// Decides one order, and writes what follows from it.
pub(super) async fn settle(mut client: Client, order: &LeaseOrder) -> Result<LeaseAnswer, ReadError> {
    for _ in 0..ROUNDS_MAX {
        let transaction = client.transaction().await?;
        if let Some(answer) = attempt(&transaction, order).await? {
            transaction.commit().await?;
            return Ok(answer);
        }
        transaction.rollback().await?;
    }
    Err(ReadError::NotWritten("a lease"))
}

/// Nothing if somebody else made the row meanwhile.
async fn attempt(
    transaction: &deadpool_postgres::Transaction<'_>,
    order: &LeaseOrder,
) -> Result<Option<LeaseAnswer>, ReadError> {
    let (row, clock) = try_join(transaction.prepare_cached(ROW), transaction.prepare_cached(NOW)).await?;
    let name = order.name();
    let (found, now) = try_join(async { transaction.query_opt(&row, &[&name]).await }, async {
        transaction.query_one(&clock, &[]).await
    })
    .await?;
    let row = found.as_ref().map(read).transpose()?;
    let settled = order.settle(row, Moment::from_micros(now.try_get(0)?));
    if let Some(row) = &settled.row
        && !put(transaction, order.name(), row, found.is_some()).await?
    {
        return Ok(None);
    }
    if let (LeaseOrder::Step { lease, step }, LeaseAnswer::Granted(_)) = (order, &settled.answer) {
        let sql = "INSERT INTO service_step (service, position, at, error, epoch) VALUES ($1, $2, $3, $4, $5) \
                   ON CONFLICT (service) DO UPDATE SET position = excluded.position, at = excluded.at, \
                   error = excluded.error, epoch = excluded.epoch";
        let ServiceStep { service, position, at, error } = step;
        let (service, error) = (text::stored(service), error.as_deref().map(text::stored));
        let (position, at, epoch) = (*position as i64, at.as_micros(), lease.epoch as i64);
        let written = transaction.execute(sql, &[&service, &position, &at, &error, &epoch]).await?;
        one(written, "the step of a service")?;
    }
    Ok(Some(settled.answer))
}

impl LeaseStatements {
    pub(super) async fn prepare(client: &tokio_postgres::Client) -> Result<Self, tokio_postgres::Error> {
        let (locked, clock, put) =
            try_join3(client.prepare(LOCKED), client.prepare(NOW), client.prepare(PUT)).await?;
        Ok(Self { locked, clock, put })
    }

    /// Locks the leases with these names; asks for nothing if there are none.
    pub(super) async fn lock(
        &self,
        client: &tokio_postgres::Client,
        names: &[String],
    ) -> Result<LockedLeases, ReadError> {
        if names.is_empty() {
            return Ok(LockedLeases::default());
        }
        let (rows, now) =
            try_join(client.query(&self.locked, &[&names]), client.query_one(&self.clock, &[])).await?;
        let rows =
            rows.iter().map(|row| Ok((row.try_get(4)?, read(row)?))).collect::<Result<_, ReadError>>()?;
        Ok(LockedLeases { rows, now: Moment::from_micros(now.try_get(0)?) })
    }

    /// Writes the leases of entities; the database fails the transaction if one of them is not written.
    pub(super) async fn put(
        &self,
        client: &tokio_postgres::Client,
        rows: &[(EntityId, LeaseRow)],
    ) -> Result<(), tokio_postgres::Error> {
        if rows.is_empty() {
            return Ok(());
        }
        let names: Vec<String> = rows.iter().map(|(id, _)| id.to_string()).collect();
        let holders: Vec<&str> = rows.iter().map(|(_, row)| row.holder.as_str()).collect();
        let epochs: Vec<i64> = rows.iter().map(|(_, row)| row.epoch as i64).collect();
        let untils: Vec<i64> = rows.iter().map(|(_, row)| row.until.as_micros()).collect();
        let lengths: Vec<i64> = rows.iter().map(|(_, row)| row.length.as_micros() as i64).collect();
        client.query(&self.put, &[&names, &holders, &epochs, &untils, &lengths]).await.map(drop)
    }
}

/// Writes the lease of this name; false if another transaction has made it since.
async fn put(
    client: &deadpool_postgres::Transaction<'_>,
    name: &str,
    row: &LeaseRow,
    is_there: bool,
) -> Result<bool, ReadError> {
    let sql = if is_there {
        "UPDATE lease SET holder = $2, epoch = $3, until = $4, length = $5 WHERE name = $1"
    } else {
        "INSERT INTO lease (name, holder, epoch, until, length) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING"
    };
    let (epoch, until, length) = (row.epoch as i64, row.until.as_micros(), row.length.as_micros() as i64);
    let statement = client.prepare_cached(sql).await?;
    let written = client.execute(&statement, &[&name, &row.holder, &epoch, &until, &length]).await?;
    if is_there {
        one(written, "a lease")?;
    }
    Ok(written == 1)
}

fn read(row: &Row) -> Result<LeaseRow, ReadError> {
    Ok(LeaseRow {
        holder: row.try_get(0)?,
        epoch: columns::number(row, 1)?,
        until: Moment::from_micros(row.try_get(2)?),
        length: Duration::from_micros(columns::number(row, 3)?),
    })
}

/// Every lease that was not given up.
pub(super) async fn all(client: &Client) -> Result<Vec<LeaseSeen>, ReadError> {
    let sql = "SELECT name, holder, epoch, until, length, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint \
               FROM lease WHERE holder <> '' ORDER BY name";
    let seen = |row: &Row| {
        let (until, now) = (Moment::from_micros(row.try_get(3)?), Moment::from_micros(row.try_get(5)?));
        let length = Duration::from_micros(columns::number(row, 4)?);
        let (name, holder, epoch) = (row.try_get(0)?, row.try_get(1)?, columns::number(row, 2)?);
        let lease = Lease { name, holder, epoch, until };
        Ok(LeaseSeen { lease, left: until.since(now), renewed_at: until.minus(length) })
    };
    client.query(sql, &[]).await?.iter().map(seen).collect()
}

/// The newest step of every service.
pub(super) async fn steps(client: &Client) -> Result<Vec<ServiceStep>, ReadError> {
    let sql = "SELECT service, position, at, error FROM service_step ORDER BY service";
    let step = |row: &Row| {
        let error: Option<&str> = row.try_get(3)?;
        Ok(ServiceStep {
            service: text::given(row.try_get(0)?).into_owned(),
            position: columns::number(row, 1)?,
            at: Moment::from_micros(row.try_get(2)?),
            error: error.map(|error| text::given(error).into_owned()),
        })
    };
    client.query(sql, &[]).await?.iter().map(step).collect()
}

fn one(written: u64, what: &'static str) -> Result<(), ReadError> {
    if written == 1 { Ok(()) } else { Err(ReadError::NotWritten(what)) }
}
