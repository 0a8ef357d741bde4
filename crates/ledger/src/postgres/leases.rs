//! Leases and the steps of services on this engine, by the clock of the database.
//!
//! Invariant: a row is locked before it is looked at, and the clock is read after that. Deliberately absent: who may have a lease;
//! `lease` says that.

use std::collections::HashMap;
use std::time::Duration;

use callboard_kernel::Moment;
use deadpool_postgres::Client;
use tokio_postgres::{GenericClient, Row, Transaction};

use super::{columns, text};
use crate::error::ReadError;
use crate::lease::{Lease, LeaseAnswer, LeaseOrder, LeaseRow, LeaseSeen, ServiceStep};

/// How the clock of the database is asked, in microseconds.
const NOW: &str = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint";
const ROW: &str = "SELECT holder, epoch, until, length FROM lease WHERE name = $1 FOR UPDATE";
/// Of two that take a new lease at once, one finds it there the next time.
const ROUNDS_MAX: u32 = 8;

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
    let found = transaction.query_opt(ROW, &[&order.name()]).await?;
    let row = found.as_ref().map(read).transpose()?;
    let settled = order.settle(row, now(&**transaction).await?);
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

/// The leases with these names, locked until the transaction ends.
pub(super) async fn locked(
    client: &tokio_postgres::Client,
    names: &[String],
) -> Result<HashMap<String, LeaseRow>, ReadError> {
    let sql =
        "SELECT holder, epoch, until, length, name FROM lease WHERE name = ANY($1) ORDER BY name FOR UPDATE";
    let rows = client.query(sql, &[&names]).await?;
    rows.iter().map(|row| Ok((row.try_get(4)?, read(row)?))).collect()
}

/// Writes the lease of an entity. Only the holder of the lock of the writers makes one, so nobody can be faster.
pub(super) async fn put_anew(
    client: &tokio_postgres::Client,
    name: &str,
    row: &LeaseRow,
) -> Result<(), ReadError> {
    let sql = "INSERT INTO lease (name, holder, epoch, until, length) VALUES ($1, $2, $3, $4, $5) \
               ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, epoch = excluded.epoch, \
               until = excluded.until, length = excluded.length";
    let (epoch, until, length) = (row.epoch as i64, row.until.as_micros(), row.length.as_micros() as i64);
    one(client.execute(sql, &[&name, &row.holder, &epoch, &until, &length]).await?, "a lease")
}

/// What the clock of the database says.
pub(super) async fn now(client: &impl GenericClient) -> Result<Moment, ReadError> {
    Ok(Moment::from_micros(client.query_one(NOW, &[]).await?.try_get(0)?))
}

/// Writes the lease of this name; false if another transaction has made it since.
async fn put(
    client: &Transaction<'_>,
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
    let written = client.execute(sql, &[&name, &row.holder, &epoch, &until, &length]).await?;
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
    let sql = "SELECT name, holder, epoch, until, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint \
               FROM lease WHERE holder <> '' ORDER BY name";
    let seen = |row: &Row| {
        let (until, now) = (Moment::from_micros(row.try_get(3)?), Moment::from_micros(row.try_get(4)?));
        let (name, holder, epoch) = (row.try_get(0)?, row.try_get(1)?, columns::number(row, 2)?);
        Ok(LeaseSeen { lease: Lease { name, holder, epoch, until }, left: until.since(now) })
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
