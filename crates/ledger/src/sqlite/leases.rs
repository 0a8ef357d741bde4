//! Leases and the steps of services on this engine.
//!
//! Invariant: a row is looked at and changed in one transaction that no other writer can slip into. Deliberately absent: who may
//! have a lease; `lease` says that.

use std::time::Duration;

use callboard_kernel::Moment;
use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use super::reader::collect;
use super::statements::one;
use crate::error::ReadError;
use crate::lease::{LeaseAnswer, LeaseOrder, LeaseRow, LeaseSeen, ServiceStep};

/// Decides one order, and writes what follows from it.
pub(super) fn settle(
    connection: &mut Connection,
    order: &LeaseOrder,
    now: impl FnOnce() -> Moment,
) -> Result<LeaseAnswer, ReadError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Read under the lock: whoever waited for it is judged by when it got it.
    let settled = order.settle(row(&transaction, order.name())?, now());
    if let Some(row) = &settled.row {
        put(&transaction, order.name(), row)?;
    }
    if let (LeaseOrder::Step { lease, step }, LeaseAnswer::Granted(_)) = (order, &settled.answer) {
        let sql = "INSERT INTO service_step (service, position, at, error, epoch) VALUES (?1, ?2, ?3, ?4, ?5) \
                   ON CONFLICT (service) DO UPDATE SET position = excluded.position, at = excluded.at, \
                   error = excluded.error, epoch = excluded.epoch";
        let ServiceStep { service, position, at, error } = step;
        let values = (service, *position as i64, at.as_micros(), error, lease.epoch as i64);
        one(transaction.execute(sql, values)?, "the step of a service")?;
    }
    transaction.commit()?;
    Ok(settled.answer)
}

/// The lease of this name.
pub(super) fn row(connection: &Connection, name: &str) -> Result<Option<LeaseRow>, ReadError> {
    let mut statement =
        connection.prepare_cached("SELECT holder, epoch, until, length FROM lease WHERE name = ?1")?;
    let read = |row: &rusqlite::Row<'_>| {
        Ok(LeaseRow {
            holder: row.get(0)?,
            epoch: row.get::<_, i64>(1)? as u64,
            until: Moment::from_micros(row.get(2)?),
            length: Duration::from_micros(row.get::<_, i64>(3)? as u64),
        })
    };
    Ok(statement.query_row([name], read).optional()?)
}

/// Writes the lease of this name.
pub(super) fn put(connection: &Connection, name: &str, row: &LeaseRow) -> Result<(), ReadError> {
    let sql = "INSERT INTO lease (name, holder, epoch, until, length) VALUES (?1, ?2, ?3, ?4, ?5) \
               ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, epoch = excluded.epoch, \
               until = excluded.until, length = excluded.length";
    let values = (name, &row.holder, row.epoch as i64, row.until.as_micros(), row.length.as_micros() as i64);
    one(connection.prepare_cached(sql)?.execute(values)?, "a lease")
}

/// Every lease that was not given up.
pub(super) fn all(connection: &Connection, now: Moment) -> Result<Vec<LeaseSeen>, ReadError> {
    let mut statement = connection.prepare_cached(
        "SELECT name, holder, epoch, until, length FROM lease WHERE holder <> '' ORDER BY name",
    )?;
    collect(statement.query([])?, |row| {
        let until = Moment::from_micros(row.get(3)?);
        let lease = crate::lease::Lease {
            name: row.get(0)?,
            holder: row.get(1)?,
            epoch: row.get::<_, i64>(2)? as u64,
            until,
        };
        let length = Duration::from_micros(row.get::<_, i64>(4)? as u64);
        Ok(LeaseSeen { lease, left: until.since(now), renewed_at: until.minus(length) })
    })
}

/// The newest step of every service.
pub(super) fn steps(connection: &Connection) -> Result<Vec<ServiceStep>, ReadError> {
    let mut statement = connection
        .prepare_cached("SELECT service, position, at, error FROM service_step ORDER BY service")?;
    collect(statement.query([])?, |row| {
        Ok(ServiceStep {
            service: row.get(0)?,
            position: row.get::<_, i64>(1)? as u64,
            at: Moment::from_micros(row.get(2)?),
            error: row.get(3)?,
        })
    })
}
