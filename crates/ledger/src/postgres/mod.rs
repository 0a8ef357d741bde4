//! The engine for many machines: PostgreSQL, where a database lock puts the writers of all hosts in one order.
//!
//! Deliberately absent: changing the server's configuration, and poolers that share one session between clients.

mod columns;
mod connection;
mod defence;
mod exchange;
mod leases;
mod listings;
mod maintain;
mod reader;
mod rows;
mod schema;
mod seals;
mod snapshot;
mod text;
mod transaction;
mod views;
mod writer;

pub(crate) use connection::connect::StoreServer;
pub(crate) use connection::trouble::is_away;
pub(crate) use reader::Reader;
pub(crate) use writer::Writer;
