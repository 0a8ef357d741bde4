//! What an error of the server means for a batch.
//!
//! Invariant: an error the server answered with means that nothing was committed; a lost connection means that
//! nobody knows. The two are never mixed. Deliberately absent: what to do about it; the writer knows.

use deadpool_postgres::{PoolError, TimeoutType};
use tokio_postgres::error::{Severity, SqlState};

pub(in crate::postgres) use crate::error::chain;
use crate::error::{Fault, ReadError};

/// What is said of a server that is as good as gone.
pub(in crate::postgres) const SILENCE: &str = "the server did not answer in time";

/// What became of an attempt that did not end well.
pub(in crate::postgres) enum Trouble {
    /// It collided with another transaction and may be tried again.
    Again,
    /// The connection is gone, or of no use any more.
    Lost(String),
    /// One of the records, or what is stored of its entity, is at fault; the others may be fine.
    Statement(String),
    /// The world failed for all of them.
    Fault(Fault),
}

pub(in crate::postgres) fn of(error: &ReadError) -> Trouble {
    let text = chain(error);
    if let ReadError::Replaced(told) = error {
        return Trouble::Fault(Fault::Replaced(told.clone()));
    }
    let ReadError::Postgres(error) = error else { return Trouble::Statement(text) };
    if is_lost(error) {
        return Trouble::Lost(text);
    }
    let Some(code) = error.code() else { return Trouble::Statement(text) };
    match *code {
        SqlState::T_R_SERIALIZATION_FAILURE | SqlState::T_R_DEADLOCK_DETECTED => Trouble::Again,
        SqlState::LOCK_NOT_AVAILABLE => Trouble::Fault(Fault::Busy),
        SqlState::DISK_FULL => Trouble::Fault(Fault::Full),
        SqlState::READ_ONLY_SQL_TRANSACTION | SqlState::INSUFFICIENT_PRIVILEGE => {
            Trouble::Fault(Fault::ReadOnly(text))
        }
        SqlState::DATA_CORRUPTED | SqlState::INDEX_CORRUPTED => Trouble::Fault(Fault::Corrupt(text)),
        // A value the server cannot hold, or a constraint or trigger that said no.
        _ if ["22", "23", "54"].contains(&&code.code()[..2]) => Trouble::Statement(text),
        _ => Trouble::Fault(Fault::NotWritten(text)),
    }
}

/// Did the connection end? A fatal error of the server ends it too, whatever was under way.
pub(in crate::postgres) fn is_lost(error: &tokio_postgres::Error) -> bool {
    error.is_closed()
        || error.as_db_error().is_some_and(|error| {
            matches!(error.parsed_severity(), Some(Severity::Fatal | Severity::Panic))
                || error.code().code().starts_with("08")
        })
}

/// Was it the connection to the server, and not the question?
pub(crate) fn is_away(error: &ReadError) -> bool {
    matches!(error, ReadError::Postgres(error) if is_lost(error))
        || matches!(error, ReadError::Pool(PoolError::Backend(error)) if may_come_back(error))
        || matches!(error, ReadError::Pool(PoolError::Timeout(TimeoutType::Create)))
}

/// Can a connection that could not be made be made a little later? A wrong password or name stays wrong.
pub(in crate::postgres) fn may_come_back(error: &tokio_postgres::Error) -> bool {
    error.code().is_none_or(|code| !["28", "3D", "42"].contains(&&code.code()[..2]))
}
