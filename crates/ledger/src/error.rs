//! What can go wrong, by operation.
//!
//! Invariant: a refusal (the kernel said no) is never mixed with a fault (the world failed); a caller that gets a
//! fault knows whether the write may still be there. Deliberately absent: panics and retries.

use std::path::PathBuf;

use callboard_kernel::Refusal;
use rusqlite::ErrorCode;

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The bundled SQLite is one that can corrupt a log with two writers.
    #[error("SQLite {found} can corrupt a log with two writers; at least {needed} is needed")]
    OldSqlite {
        /// The version that is linked.
        found: &'static str,
        /// The oldest safe version.
        needed: &'static str,
    },
    /// A newer program wrote this store.
    #[error("the store at {path} has format {found}, and this program knows formats up to {known}")]
    Newer {
        /// Where the store is.
        path: PathBuf,
        /// Its format.
        found: i64,
        /// The newest format this program knows.
        known: i64,
    },
    /// An older program wrote this store, and whoever only reads does not bring it up to date.
    #[error("the store at {path} has format {found}, and this program reads format {known}")]
    Older {
        /// Where the store is.
        path: PathBuf,
        /// Its format.
        found: i64,
        /// The format that this program reads.
        known: i64,
    },
    /// Records are in a WAL that cannot be read without writing beside it.
    #[error("the WAL of the store at {path} holds records, and cannot be read without writing beside it")]
    WalOutOfReach {
        /// Where the store is.
        path: PathBuf,
        /// What the database said.
        source: rusqlite::Error,
    },
    /// The directory of the store cannot be made.
    #[error("failed to make the directory of the store at {path}")]
    Directory {
        /// Where the store should be.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The format of the store could not be brought up to date.
    #[error("failed to bring the format of the store at {path} up to date")]
    Migrate {
        /// Where the store is.
        path: PathBuf,
        /// What the migration said.
        source: Box<refinery::Error>,
    },
    /// The database said no.
    #[error("failed to open the store at {path}")]
    Database {
        /// Where the store is.
        path: PathBuf,
        /// What the database said.
        source: rusqlite::Error,
    },
    /// The URL of a store names no engine.
    #[error("unknown store URL scheme {scheme}://; known are {}://", crate::address::SCHEMES.join(":// and "))]
    Scheme {
        /// What stands before `://`.
        scheme: String,
    },
    /// The URL of a store cannot be understood.
    #[error("the URL of the store cannot be used")]
    Url {
        /// What is wrong with it.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// An encrypted connection cannot be set up.
    #[error("failed to set up TLS for the store at {store}")]
    Tls {
        /// Where the store is.
        store: String,
        /// What is wrong.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The server of the store said no, or is not there.
    #[error("failed to open the store at {store}")]
    Server {
        /// Where the store is.
        store: String,
        /// What the server said.
        source: Box<tokio_postgres::Error>,
    },
    /// There is no store, and none is to be made.
    #[error("there is no store at {path}")]
    Missing {
        /// Where it should be.
        path: PathBuf,
    },
    /// The files at the path are not those of the store that was opened there.
    #[error("the store is not the one that was opened: {told}")]
    Replaced {
        /// Where it should be.
        path: PathBuf,
        /// What was replaced.
        told: String,
    },
    /// How far the store is sealed cannot be read, or not brought up to date.
    #[error("failed to read how far the store at {path} is sealed")]
    Seal {
        /// Where the store is.
        path: PathBuf,
        /// Why.
        source: Box<ReadError>,
    },
    /// The key that signs checkpoints cannot be read or made.
    #[error("failed to read or make the checkpoint key at {path}")]
    Key {
        /// Where the key is.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

/// Why a command was not recorded.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// The kernel refused it; nothing was changed.
    #[error(transparent)]
    Refused(Box<Refusal>),
    /// The world failed.
    #[error("the store did not take the record")]
    Fault(#[from] Fault),
}

/// Why a group was not recorded; nothing of it was.
#[derive(Debug, thiserror::Error)]
pub enum GroupError {
    /// The kernel refused one of its commands.
    #[error("command {} of the group was refused", .at + 1)]
    Refused {
        /// Which one, counted from 0.
        at: usize,
        /// Why.
        #[source]
        refusal: Box<Refusal>,
    },
    /// The world failed.
    #[error("the store did not take the group")]
    Fault(#[from] Fault),
}

/// How the world failed while writing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Another process held the store for longer than the bounded wait.
    #[error("another writer holds the store")]
    Busy,
    /// No space is left; the record was not written.
    #[error("the disk is full")]
    Full,
    /// The store cannot be written; the record was not written.
    #[error("the store cannot be written: {0}")]
    ReadOnly(String),
    /// The sync failed, or its answer never came, and reading back did not show the record.
    #[error("the store failed while it wrote, and the record is not there: {0}")]
    NotWritten(String),
    /// The sync failed and the store cannot be read back: the record may or may not be there.
    #[error("the store failed while it wrote, and cannot be read back: {0}")]
    Unknown(String),
    /// The store at the path is not the one that was opened. Nothing more is written; what was being written may be in
    /// the file that was opened, and is not in the one at the path.
    #[error("the store is not the one that was opened: {0}")]
    Replaced(String),
    /// Something in the store contradicts itself.
    #[error("the store contradicts itself: {0}")]
    Corrupt(String),
    /// The ledger was closed.
    #[error("the ledger is closed")]
    Closed,
}

/// Why a store that is open cannot be relied on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotReady {
    /// The store at the path is not the one that was opened.
    #[error("the store is not the one that was opened: {0}")]
    Replaced(String),
    /// It answers questions and takes no records.
    #[error("the store cannot be written: {0}")]
    Unwritable(String),
    /// It does not answer.
    #[error("the store does not answer: {0}")]
    Silent(String),
}

impl NotReady {
    pub(crate) fn of_reading(error: ReadError) -> Self {
        if let ReadError::Replaced(told) = error { Self::Replaced(told) } else { Self::Silent(chain(&error)) }
    }

    pub(crate) fn of_writing(error: ReadError) -> Self {
        if let ReadError::Replaced(told) = error {
            return Self::Replaced(told);
        }
        Self::Unwritable(chain(&error))
    }

    /// What is the matter, without where the store is.
    pub const fn summary(&self) -> &'static str {
        match self {
            Self::Replaced(_) => "the store is not the one that was opened",
            Self::Unwritable(_) => "the store cannot be written",
            Self::Silent(_) => "the store does not answer",
        }
    }
}

/// Why something could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The database said no.
    #[error("failed to read the store")]
    Sqlite(#[from] rusqlite::Error),
    /// The server said no.
    #[error("failed to read the store on its server")]
    Postgres(#[from] tokio_postgres::Error),
    /// There is no connection to the server.
    #[error("failed to reach the server of the store")]
    Pool(#[from] deadpool_postgres::PoolError),
    /// The store at the path is not the one that was opened.
    #[error("the store is not the one that was opened: {0}")]
    Replaced(String),
    /// The database took a statement and did not do what it says.
    #[error("the database did not write what it was told to: {0}")]
    NotWritten(&'static str),
    /// A file beside the store could not be read or written.
    #[error("failed to reach a file of the store")]
    File(#[from] std::io::Error),
    /// What is stored cannot be understood.
    #[error("the store holds something unreadable")]
    Unreadable(#[from] crate::record::Unreadable),
    /// The history does not follow the tables.
    #[error("the history does not follow the tables")]
    Misfit(#[from] callboard_kernel::Misfit),
    /// Records that were archived, and their file cannot be used.
    #[error("records {first} to {last} are archived in {}, which cannot be used: {problem}", .path.display())]
    Segment {
        /// The first of them.
        first: u64,
        /// The last of them.
        last: u64,
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The engine of this store cannot do it.
    #[error("this sort of store does not support {what}")]
    Unsupported {
        /// What it cannot do.
        what: &'static str,
        /// What does it instead.
        instead: &'static str,
    },
}

impl OpenError {
    /// Does another process hold the store?
    pub fn is_busy(&self) -> bool {
        matches!(self, Self::Database { source, .. } if is_busy(source))
            || matches!(self, Self::Server { source, .. } if is_held(source))
    }
}

impl ReadError {
    /// Is it a word that only a newer program knows?
    pub(crate) const fn is_of_newer(&self) -> bool {
        matches!(self, Self::Unreadable(crate::record::Unreadable::Word(_)))
    }

    /// Does another process hold the store?
    pub fn is_busy(&self) -> bool {
        matches!(self, Self::Sqlite(source) if is_busy(source))
            || matches!(self, Self::Postgres(source) if is_held(source))
    }

    /// Is the server away, and may come back?
    pub fn is_away(&self) -> bool {
        crate::postgres::is_away(self)
    }
}

fn is_held(error: &tokio_postgres::Error) -> bool {
    error.code() == Some(&tokio_postgres::error::SqlState::LOCK_NOT_AVAILABLE)
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// What an error says, with everything that led to it.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text.push_str(": ");
        text.push_str(&error.to_string());
        source = error.source();
    }
    text
}
