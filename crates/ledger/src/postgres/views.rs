//! The views: checked against the log, and written anew from it.
//!
//! Invariant: both go through the fold that every other view goes through. A rebuilt view is that of the log's end,
//! whoever wrote meanwhile. Deliberately absent: changing a record.

use std::collections::HashMap;

use callboard_kernel::EntityId;
use callboard_lifecycle::Words;
use tokio_postgres::Client;
use uuid::Uuid;

use super::columns::{self, BEGIN};
use super::connect::{Place, Role};
use super::rows::{Rows, ViewRow, Written};
use super::snapshot::Snapshot;
use crate::error::ReadError;
use crate::mutant;
use crate::record::Record;
use crate::store::Stored;
use crate::verify::Problem;

/// View rows sent at once.
const ROWS_MAX: usize = 1000;

/// View rows that are not what the log says, in every column.
pub(super) fn problems(snapshot: &Snapshot<'_>, most: usize) -> Result<Vec<Problem>, ReadError> {
    let mut folded: HashMap<Uuid, Fold> = HashMap::new();
    let read = snapshot.walk(&format!("SELECT {} ORDER BY l.seq", columns::RECORD), &mut |row| {
        let record = columns::record(row)?;
        folded.entry(record.entity).or_insert_with(|| Fold::before(&record)).take(&record);
        Ok(())
    });
    if let Err(error) = read {
        let problem = format!("the views cannot be checked, as the log cannot be read: {error}");
        return Ok(vec![Problem { seq: None, entity: None, problem }]);
    }
    let mut problems = Vec::new();
    snapshot.walk(&format!("{} ORDER BY id", columns::ENTITY), &mut |row| {
        let id = row.try_get(0)?;
        let kind: String = row.try_get(1)?;
        let fold = folded.remove(&id);
        // The log knows the kind better than a row that may have been changed.
        let kind = fold.as_ref().and_then(Fold::kind).map_or(kind, str::to_owned);
        let is_right = match fold {
            Some(Fold::Known(stored)) => columns::is_view_of(row, &stored)?,
            Some(Fold::Unknown) => true,
            None => false,
        };
        if !is_right && !mutant::removed("fold_the_views") {
            problems.push(Problem::of_view(&kind, id));
        }
        Ok(())
    })?;
    problems.extend(folded.into_iter().map(|(id, fold)| Problem::of_view(fold.kind().unwrap_or(""), id)));
    problems.truncate(most);
    Ok(problems)
}

/// What the log says of one entity.
enum Fold {
    Known(Box<Stored>),
    /// It has a record that only a newer program can read, or one that does not follow, which the log's check names.
    Unknown,
}

impl Fold {
    fn before(first: &Record) -> Self {
        first.id().map_or(Self::Unknown, |id| Self::Known(Box::new(Stored::unborn(id))))
    }

    fn kind(&self) -> Option<&'static str> {
        match self {
            Self::Known(stored) => Some(stored.entity.state.id.kind().name()),
            Self::Unknown => None,
        }
    }

    fn take(&mut self, record: &Record) {
        if let Self::Known(stored) = self
            && stored.follow(record).is_err()
        {
            *self = Self::Unknown;
        }
    }
}

/// Writes the view anew under the lock, after folding in what was written since the caller folded.
pub(super) async fn rebuild(place: &Place, folded: Vec<Stored>) -> Result<(), ReadError> {
    let client = place.connect(Role::Writer).await?;
    client.batch_execute(BEGIN).await?;
    let after = folded.iter().map(|stored| stored.last_seq).max().unwrap_or(0);
    let mut view: HashMap<EntityId, Stored> =
        folded.into_iter().map(|stored| (stored.entity.state.id, stored)).collect();
    let sql = format!("SELECT {} WHERE l.seq > $1 ORDER BY l.seq", columns::RECORD);
    for row in client.query(&sql, &[&(after as i64)]).await? {
        let record = columns::record(&row)?;
        let id = record.id()?;
        view.entry(id).or_insert_with(|| Stored::unborn(id)).follow(&record)?;
    }
    client.batch_execute("DELETE FROM entity").await?;
    mutant::point("inside_rebuild");
    insert(&client, view.values()).await?;
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
