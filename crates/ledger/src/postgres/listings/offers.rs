//! The tasks that can be claimed, and the files in use, on this engine.
//!
//! Invariant: both are read from tables that hold what is open and under way, not what there is. They are read under the lock of the
//! writers. Deliberately absent: what is offered; the kernel says that, and a test compares it with the tables.

use callboard_kernel::{EntityId, Moment};
use callboard_lifecycle::Kind;
use tokio_postgres::Client;

use super::super::text;
use crate::error::ReadError;
use crate::writing::claim::{ClaimQuery, Listed};

/// The most urgent offers. A role has its own ones and those for nobody in particular.
pub(in crate::postgres) async fn listed(
    client: &Client,
    query: &ClaimQuery,
    now: Moment,
    limit: usize,
) -> Result<Vec<Listed>, ReadError> {
    let some = |role: &str| {
        format!(
            "(SELECT priority, id FROM offered WHERE {role} (not_before IS NULL OR not_before <= $1) \
             ORDER BY priority, id LIMIT $2)"
        )
    };
    let (now, limit) = (now.to_string(), i64::try_from(limit).unwrap_or(i64::MAX));
    let rows = match &query.role {
        None => client.query(&some(""), &[&now, &limit]).await?,
        Some(role) => {
            let sql = format!(
                "SELECT * FROM ({} UNION ALL {}) both_of ORDER BY priority, id LIMIT $2",
                some("role = $3 AND"),
                some("role IS NULL AND")
            );
            client.query(&sql, &[&now, &limit, &text::stored(role)]).await?
        }
    };
    rows.iter().map(|row| Ok(Listed { priority: row.try_get(0)?, id: row.try_get(1)? })).collect()
}

/// The files that tasks under way hold.
pub(in crate::postgres) async fn files_in_use(client: &Client) -> Result<Vec<(EntityId, String)>, ReadError> {
    let rows = client.query("SELECT task, path FROM held_file", &[]).await?;
    rows.iter().map(|row| Ok((EntityId::new(Kind::Task, row.try_get(0)?), row.try_get(1)?))).collect()
}
