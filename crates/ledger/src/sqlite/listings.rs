//! Long listings piece by piece, and how many stand where.
//!
//! Invariant: a piece goes on exactly behind the id that the piece before it ended with, so a listing that is read in
//! pieces shows each entity once. Deliberately absent: judging, which happens when a piece is shown.

pub(super) mod offers;

use callboard_kernel::EntityId;
use callboard_lifecycle::{Kind, Words};
use rusqlite::Connection;

use super::columns;
use super::reader::{collect, listed};
use crate::error::ReadError;
use crate::store::{Sequence, Slice, StateCount, Stored};

/// A piece of the listing.
pub(super) fn slice(connection: &Connection, slice: &Slice) -> Result<Vec<Stored>, ReadError> {
    // Each shape is its own statement, so that each gets the plan that fits it.
    let (beyond, order) = match slice.order {
        Sequence::Newest => ("AND e.id < ?3", "DESC"),
        Sequence::Oldest => ("AND e.id > ?3", "ASC"),
    };
    let kind = if slice.kind.is_some() { "AND e.kind = ?1" } else { "AND ?1 IS NULL" };
    let parent = if slice.parent.is_some() { "AND e.parent = ?2" } else { "AND ?2 IS NULL" };
    let beyond = if slice.beyond.is_some() { beyond } else { "AND ?3 IS NULL" };
    let live = if slice.live { "AND e.ended_at IS NULL" } else { "" };
    let sql = format!(
        "SELECT {} WHERE true {kind} {parent} {beyond} {live} ORDER BY e.id {order} LIMIT ?4",
        columns::STORED
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let (parent, beyond) = (slice.parent.map(|id| id.to_string()), slice.beyond.map(EntityId::uuid));
    let rows = statement.query((
        slice.kind.map(Kind::name),
        parent,
        beyond.as_ref().map(|uuid| uuid.as_bytes()),
        i64::try_from(slice.limit).unwrap_or(i64::MAX),
    ))?;
    listed(rows)
}

/// How many entities stand in each state.
pub(super) fn standings(connection: &Connection) -> Result<Vec<StateCount>, ReadError> {
    let sql = "SELECT kind, state, count(*) FROM entity GROUP BY kind, state ORDER BY kind, state";
    let mut statement = connection.prepare_cached(sql)?;
    collect(statement.query([])?, |row| {
        Ok(StateCount { kind: row.get(0)?, state: row.get(1)?, count: row.get::<_, i64>(2)? as u64 })
    })
}

const ENDED_COUNTS: &str = "SELECT state, count FROM ended_count WHERE count > 0 ORDER BY state";

fn ended(beyond: Option<EntityId>) -> String {
    let behind = if beyond.is_some() { "AND e.id < ?2" } else { "AND ?2 IS NULL" };
    format!(
        "SELECT {} WHERE e.kind = 'task' AND e.ended_at IS NOT NULL AND e.state = ?1 {behind} \
         ORDER BY e.id DESC LIMIT ?3",
        columns::STORED
    )
}

/// How many tasks have ended in each state.
pub(super) fn ended_counts(connection: &Connection) -> Result<Vec<(String, u64)>, ReadError> {
    let mut statement = connection.prepare_cached(ENDED_COUNTS)?;
    collect(statement.query([])?, |row| Ok((row.get(0)?, row.get::<_, i64>(1)? as u64)))
}

/// Tasks that ended in a state, the newest first.
pub(super) fn ended_tasks(
    connection: &Connection,
    state: &str,
    beyond: Option<EntityId>,
    limit: usize,
) -> Result<Vec<Stored>, ReadError> {
    let sql = ended(beyond);
    let mut statement = connection.prepare_cached(&sql)?;
    let beyond = beyond.map(EntityId::uuid);
    let beyond = beyond.as_ref().map(|uuid| uuid.as_bytes());
    listed(statement.query((state, beyond, i64::try_from(limit).unwrap_or(i64::MAX)))?)
}

#[cfg(test)]
mod tests {
    use callboard_kernel::{Actor, Command, Create, Facts, Moment, Order, StateReason, Transition};
    use callboard_lifecycle::task::TaskState;
    use callboard_lifecycle::{ActorClass, ReasonCode};
    use rusqlite::StatementStatus;
    use uuid::Uuid;

    use super::*;
    use crate::ledger::{Ledger, Options};
    use crate::store::Request;

    /// Steps of the database to count so many tasks that have ended and to list the 20 newest of them.
    fn steps(tasks: u128) -> i32 {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("board.db");
        let ledger = Ledger::open(&path, Options::default()).unwrap();
        let submit = |number, order| {
            let command = Command::new(EntityId::new(Kind::Task, Uuid::from_u128(number)), order);
            let actor = Actor::new(ActorClass::Operator, "ann");
            ledger.submit(Request { command, actor, now: Moment::from_micros(1), cause: None })
        };
        let end = || {
            let why = StateReason::new(const { ReasonCode::of("task.cancelled.operator") }, "not needed");
            Order::Transition(Transition::to(TaskState::Cancelled, why))
        };
        let open =
            || Order::Create(Create { at: TaskState::Open.into(), reasons: vec![], data: Facts::none() });
        let tickets: Vec<_> =
            (0..tasks).flat_map(|number| [submit(number, open()), submit(number, end())]).collect();
        assert!(tickets.into_iter().all(|ticket| ticket.wait().is_ok()));
        let connection = Connection::open(&path).unwrap();
        let cancelled = TaskState::Cancelled.name();
        assert_eq!(ended_counts(&connection).unwrap(), [(cancelled.to_owned(), tasks as u64)]);
        assert_eq!(ended_tasks(&connection, cancelled, None, 20).unwrap().len(), 20);
        let steps = |sql: &str| {
            let statement = connection.prepare_cached(sql).unwrap();
            statement.get_status(StatementStatus::VmStep)
        };
        steps(ENDED_COUNTS) + steps(&ended(None))
    }

    #[test]
    fn a_board_costs_the_same_however_many_tasks_have_ended() {
        assert_eq!(steps(2_000), steps(100));
    }
}
