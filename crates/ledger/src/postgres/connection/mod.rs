//! Connections to the server: made, kept, lost, and what became of a commit on the way.

pub(in crate::postgres) mod connect;
pub(in crate::postgres) mod fence;
pub(in crate::postgres) mod listener;
pub(in crate::postgres) mod session;
pub(in crate::postgres) mod tls;
pub(in crate::postgres) mod trouble;
pub(in crate::postgres) mod worker;
