//! The tasks that can be claimed, and the files in use, on this engine.
//!
//! Invariant: both are read from partial indexes, so they cost what is open and under way, not what there is. Deliberately absent:
//! what is offered; the kernel says that, and a test compares it with the indexes.

use callboard_kernel::{EntityId, Moment};
use callboard_lifecycle::Kind;
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use super::super::columns;
use super::super::reader::collect;
use crate::error::ReadError;
use crate::writing::claim::{ClaimQuery, Listed, PAGE, Place};

const PRIORITY: &str = "coalesce(nullif(facts, '') ->> '$.priority', 2)";
const OFFERED: &str =
    "kind = 'task' AND state = 'open' AND coalesce(json_array_length(nullif(facts, ''), '$.unmet'), 0) = 0";
const IN_USE: &str = "kind = 'task' AND state IN ('claimed', 'in_progress', 'done', 'orphaned', 'pending_approval') \
                      AND nullif(facts, '') ->> '$.files' IS NOT NULL";

/// The next offers behind a place. A role has its own ones and those for nobody in particular.
pub(in crate::sqlite) fn listed(
    connection: &Connection,
    query: &ClaimQuery,
    now: Moment,
    after: Option<Place>,
) -> Result<Vec<Listed>, ReadError> {
    let Some(role) = &query.role else { return some(connection, "", Vec::new(), now, after) };
    let mut own =
        some(connection, "nullif(facts, '') ->> '$.role' = ? AND", vec![role.clone().into()], now, after)?;
    own.extend(some(connection, "nullif(facts, '') ->> '$.role' IS NULL AND", Vec::new(), now, after)?);
    own.sort_unstable();
    own.truncate(PAGE);
    Ok(own)
}

fn some(
    connection: &Connection,
    role: &str,
    mut values: Vec<Value>,
    now: Moment,
    after: Option<Place>,
) -> Result<Vec<Listed>, ReadError> {
    let mut sql = format!(
        "SELECT {PRIORITY}, id FROM entity WHERE {role} {OFFERED} \
         AND (nullif(facts, '') ->> '$.not_before' IS NULL OR nullif(facts, '') ->> '$.not_before' <= ?)"
    );
    values.push(now.to_string().into());
    if let Some((priority, id)) = after {
        sql.push_str(&format!(" AND ({PRIORITY}, id) > (?, ?)"));
        values.push(priority.into());
        values.push(id.as_bytes().to_vec().into());
    }
    sql.push_str(&format!(" ORDER BY {PRIORITY}, id LIMIT {PAGE}"));
    let mut statement = connection.prepare_cached(&sql)?;
    collect(statement.query(params_from_iter(values))?, |row| {
        Ok(Listed { priority: row.get(0)?, id: columns::uuid(row, 1)? })
    })
}

/// The files that tasks under way hold.
pub(in crate::sqlite) fn files_in_use(connection: &Connection) -> Result<Vec<(EntityId, String)>, ReadError> {
    let sql = format!("SELECT id, nullif(facts, '') ->> '$.files' FROM entity WHERE {IN_USE}");
    let mut statement = connection.prepare_cached(&sql)?;
    let tasks = collect(statement.query([])?, |row| {
        let paths: Vec<String> =
            serde_json::from_str(row.get_ref(1)?.as_str().unwrap_or("[]")).unwrap_or_default();
        Ok((EntityId::new(Kind::Task, columns::uuid(row, 0)?), paths))
    })?;
    Ok(tasks.into_iter().flat_map(|(id, paths)| paths.into_iter().map(move |path| (id, path))).collect())
}
