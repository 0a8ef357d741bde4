//! Verbs that write or check the log, and move it between stores.

pub(crate) mod create;
pub(crate) mod export;
pub(crate) mod import;
pub(crate) mod reap;
pub(crate) mod store;
pub(crate) mod transition;
pub(crate) mod verify;
