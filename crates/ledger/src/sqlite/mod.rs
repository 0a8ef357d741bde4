//! The embedded engine: SQLite in WAL mode with a sync before every acknowledgement.

mod archive;
mod columns;
mod connect;
mod edges;
mod exchange;
mod maintain;
mod pen;
mod pieces;
mod pinned;
mod presence;
mod reader;
mod seals;
mod signers;
mod writer;

pub(crate) use connect::Place;
pub(crate) use reader::Reader;
pub(crate) use writer::Writer;
