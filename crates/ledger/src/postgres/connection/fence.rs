//! What became of a commit that was on its way when its connection was lost.
//!
//! Invariant: never guessed. The server's process of the lost session is ended, and seen to be gone, before anything
//! is read: a statement still on its way to it cannot arrive afterwards. Then the lock is taken, and what is read
//! under it is final.

use std::collections::HashMap;

use super::session::{Backend, Patience, Session};
use crate::error::ReadError;
use crate::postgres::columns::{self, BEGIN};
use crate::record::Hash;

/// A process that waits for a standby has committed already; ending it would only cut the wait short.
const END: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
     WHERE pid = $1 AND backend_start = $2::text::timestamptz AND wait_event IS DISTINCT FROM 'SyncRep'";

const IS_THERE: &str = "SELECT EXISTS (SELECT FROM pg_stat_activity \
     WHERE pid = $1 AND backend_start = $2::text::timestamptz)";

/// The hashes of the records in a range of the log, once the lost session can add nothing to them.
pub(in crate::postgres) async fn hashes(
    session: &Session,
    lost: &Backend,
    (first, last): (u64, u64),
    patience: &mut Patience,
) -> Result<HashMap<u64, Hash>, Unsettled> {
    session.client.execute(END, &[&lost.pid, &lost.since]).await?;
    while session.client.query_one(IS_THERE, &[&lost.pid, &lost.since]).await?.try_get(0)? {
        let pause = patience.next().ok_or(Unsettled::StillThere)?;
        tokio::time::sleep(pause).await;
    }
    session.client.batch_execute(BEGIN).await?;
    let rows = session.client.query(&session.hashes, &[&(first as i64 - 1), &(last as i64)]).await?;
    session.client.batch_execute("ROLLBACK").await?;
    let pair = |row: &tokio_postgres::Row| Ok((columns::number(row, 0)?, columns::hash(row, 1)?));
    rows.iter().map(pair).collect::<Result<_, ReadError>>().map_err(Unsettled::Read)
}

/// Why it could not be found out.
#[derive(Debug, thiserror::Error)]
pub(in crate::postgres) enum Unsettled {
    /// The lost session would not end.
    #[error("the lost session has not ended")]
    StillThere,
    /// The server failed again.
    #[error("the log cannot be read back")]
    Read(#[source] ReadError),
}

impl From<tokio_postgres::Error> for Unsettled {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Read(error.into())
    }
}
