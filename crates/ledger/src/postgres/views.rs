//! The views: checked against the log, and written anew from it.
//!
//! Invariant: both go through the fold that every other view goes through. A rebuilt view is that of the log's end,
//! whoever wrote meanwhile. Deliberately absent: changing a record.

use tokio_postgres::Client;

use super::columns::{self, BEGIN};
use super::connection::connect::{Role, StoreServer};
use super::rows::{Rows, ViewRow, Written};
use super::snapshot::Snapshot;
use crate::error::ReadError;
use crate::mutant;
use crate::proof::verify::Problem;
use crate::reading::views::Share;
use crate::store::Stored;

/// View rows sent at once.
const ROWS_MAX: usize = 1000;

/// View rows that are not what the log says, in every column.
pub(super) fn problems(snapshot: &Snapshot<'_>, mut share: Share) -> Result<Vec<Problem>, ReadError> {
    share.catch_up(|last, each| {
        let sql = format!("SELECT {} WHERE l.seq > {last} ORDER BY l.seq", columns::RECORD);
        snapshot.walk(&sql, &mut |row| each(&columns::record(row)?.borrowed()))
    })?;
    let sql =
        format!("{} WHERE id BETWEEN '{}' AND '{}' ORDER BY id", columns::ENTITY, share.low, share.high);
    let mut comparison = share.compare();
    snapshot.walk(&sql, &mut |row| {
        Ok(comparison.row(row.try_get(0)?, row.try_get(1)?, |stored| columns::is_view_of(row, stored))?)
    })?;
    Ok(comparison.finish())
}

/// Writes the view anew under the lock, after folding in what was written since the caller folded.
pub(super) async fn rebuild(place: &StoreServer, mut folded: Share) -> Result<(), ReadError> {
    let client = place.connect(Role::Writer).await?;
    client.batch_execute(BEGIN).await?;
    let sql = format!("SELECT {} WHERE l.seq > $1 ORDER BY l.seq", columns::RECORD);
    let late = client.query(&sql, &[&(folded.last as i64)]).await?;
    folded.catch_up(|_, each| late.iter().try_for_each(|row| each(&columns::record(row)?.borrowed())))?;
    let view = folded.settle()?;
    client.batch_execute("DELETE FROM entity").await?;
    mutant::point("inside_rebuild");
    insert(&client, view.iter()).await?;
    Ok(client.batch_execute("COMMIT").await?)
}

/// Writes view rows that are not there yet.
pub(super) async fn insert(
    client: &Client,
    view: impl Iterator<Item = &Stored>,
) -> Result<(), tokio_postgres::Error> {
    let insert = client.prepare(columns::INSERT_ENTITIES).await?;
    let rows: Vec<ViewRow<'_>> = view.map(|stored| ViewRow { stored, facts: Written::Anew }).collect();
    for part in rows.chunks(ROWS_MAX) {
        client.execute(&insert, &[&Rows(part)]).await?;
    }
    Ok(())
}
