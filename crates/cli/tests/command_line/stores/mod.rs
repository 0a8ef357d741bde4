//! The store: on PostgreSQL, archived, changed, and while it cannot be written.

pub(crate) mod archive;
pub(crate) mod postgres;
pub(crate) mod proof;
pub(crate) mod unwritable;
