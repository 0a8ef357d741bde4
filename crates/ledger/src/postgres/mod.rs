//! The engine for many machines: PostgreSQL, where a database lock puts the writers of all hosts in one order.
//!
//! Deliberately absent: changing the server's configuration, and poolers that share one session between clients.

mod columns;
mod connect;
mod defence;
mod exchange;
mod fence;
mod listener;
mod maintain;
mod pieces;
mod reader;
mod rows;
mod schema;
mod seals;
mod session;
mod snapshot;
mod text;
mod tls;
mod transaction;
mod trouble;
mod views;
mod worker;
mod writer;

pub(crate) use connect::Place;
pub(crate) use reader::Reader;
pub(crate) use trouble::is_away;
pub(crate) use writer::Writer;
