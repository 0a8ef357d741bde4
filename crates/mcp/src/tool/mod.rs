//! The tools: what each is called, whom it is for, what it takes, and what it does.
//!
//! Invariant: the schema of a tool is the one of its wire type, so a tool takes what the HTTP API takes.

mod asking;
mod call;
mod catalogue;
mod schema;

pub(crate) use call::call;
pub(crate) use catalogue::{offered, tool};
