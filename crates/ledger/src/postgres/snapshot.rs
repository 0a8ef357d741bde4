//! One snapshot of the store for a long walk: every row that is read was there at the same moment.
//!
//! Invariant: the rows are worked on by the caller's own thread, while the next ones are on their way. Deliberately
//! absent: beginning again on another connection, which would be another snapshot.

use std::sync::Arc;

use tokio_postgres::{Client, Row};

use super::connection::connect::{Role, StoreServer};
use super::connection::worker::{Pending, Worker};
use crate::error::ReadError;

/// Rows that are on their way at once.
const ROWS_MAX: usize = 4096;

/// A store as it was at one moment.
pub(super) struct Snapshot<'a> {
    worker: &'a Worker,
    client: Arc<Client>,
}

impl<'a> Snapshot<'a> {
    pub(super) fn open(worker: &'a Worker, place: &Arc<StoreServer>) -> Result<Self, ReadError> {
        let place = Arc::clone(place);
        let opening = worker.start(async move {
            let client = place.connect(Role::Reader).await?;
            client.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
            // The caller may think about a page for longer than a lost client would be silent.
            client.batch_execute("SET idle_in_transaction_session_timeout = 0").await?;
            Ok::<_, ReadError>(client)
        });
        Ok(Self { worker, client: Arc::new(opening.wait()?) })
    }

    /// Calls `each` with every row of a query, in its order.
    pub(super) fn walk(
        &self,
        query: &str,
        each: &mut dyn FnMut(&Row) -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        let (client, declare) =
            (Arc::clone(&self.client), format!("DECLARE walk NO SCROLL CURSOR FOR {query}"));
        self.worker.start(async move { client.batch_execute(&declare).await }).wait()?;
        let mut page = self.fetch().wait()?;
        while !page.is_empty() {
            let next = self.fetch();
            page.iter().try_for_each(&mut *each)?;
            page = next.wait()?;
        }
        let client = Arc::clone(&self.client);
        Ok(self.worker.start(async move { client.batch_execute("CLOSE walk").await }).wait()?)
    }

    fn fetch(&self) -> Pending<Result<Vec<Row>, tokio_postgres::Error>> {
        let client = Arc::clone(&self.client);
        self.worker.start(async move { client.query(&format!("FETCH {ROWS_MAX} FROM walk"), &[]).await })
    }
}
