//! The tasks that can be claimed, and the files in use, on this engine.
//!
//! Invariant: both are read from tables that hold what is open and under way, not what there is. They are read under the lock of the
//! writers. Deliberately absent: what is offered; the kernel says that, and a test compares it with the tables.

use callboard_kernel::{EntityId, Moment};
use callboard_lifecycle::Kind;
use futures_util::future::{try_join_all, try_join3};
use tokio_postgres::{Client, Statement};

use super::super::text;
use crate::error::ReadError;
use crate::writing::claim::Listed;

/// What a writing session asks about offers, prepared.
pub(in crate::postgres) struct OfferStatements {
    any: Statement,
    of_role: Statement,
    files: Statement,
}

/// Whose offers are asked for: of a role or of all, from tasks that may be claimed by then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::postgres) struct Asked<'a> {
    pub(in crate::postgres) role: Option<&'a str>,
    pub(in crate::postgres) now: Moment,
}

fn some(role: &str) -> String {
    format!(
        "(SELECT priority, id FROM offered WHERE {role} (not_before IS NULL OR not_before <= $1) \
         ORDER BY priority, id LIMIT $2)"
    )
}

impl OfferStatements {
    pub(in crate::postgres) async fn prepare(client: &Client) -> Result<Self, tokio_postgres::Error> {
        let any = some("");
        let of_role = format!(
            "SELECT * FROM ({} UNION ALL {}) both_of ORDER BY priority, id LIMIT $2",
            some("role = $3 AND"),
            some("role IS NULL AND")
        );
        let (any, of_role, files) = try_join3(
            client.prepare(&any),
            client.prepare(&of_role),
            client.prepare("SELECT task, path FROM held_file"),
        )
        .await?;
        Ok(Self { any, of_role, files })
    }

    /// The most urgent offers for each who asks. A role has its own ones and those for nobody in particular.
    pub(in crate::postgres) async fn listed(
        &self,
        client: &Client,
        asked: &[Asked<'_>],
        limit: usize,
    ) -> Result<Vec<Vec<Listed>>, ReadError> {
        try_join_all(asked.iter().map(|one| self.of(client, one, limit))).await
    }

    async fn of(&self, client: &Client, asked: &Asked<'_>, limit: usize) -> Result<Vec<Listed>, ReadError> {
        let (now, limit) = (asked.now.to_string(), i64::try_from(limit).unwrap_or(i64::MAX));
        let rows = match asked.role {
            None => client.query(&self.any, &[&now, &limit]).await?,
            Some(role) => client.query(&self.of_role, &[&now, &limit, &text::stored(role)]).await?,
        };
        rows.iter().map(|row| Ok(Listed { priority: row.try_get(0)?, id: row.try_get(1)? })).collect()
    }

    /// The files that tasks under way hold.
    pub(in crate::postgres) async fn files_in_use(
        &self,
        client: &Client,
    ) -> Result<Vec<(EntityId, String)>, ReadError> {
        let rows = client.query(&self.files, &[]).await?;
        rows.iter().map(|row| Ok((EntityId::new(Kind::Task, row.try_get(0)?), row.try_get(1)?))).collect()
    }
}
