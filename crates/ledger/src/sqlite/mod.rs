//! The embedded engine: SQLite in WAL mode with a sync before every acknowledgement.

mod archive;
mod columns;
mod connect;
mod edges;
mod exchange;
mod leases;
mod listings;
mod maintain;
mod pinned;
mod presence;
mod reader;
mod seals;
mod signers;
mod statements;
mod writer;

pub(crate) use connect::StoreFile;
pub(crate) use reader::Reader;
pub(crate) use writer::Writer;
