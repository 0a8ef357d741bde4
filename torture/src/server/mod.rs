//! Tortures of the server: whoever may hold something like a token, a browser or a listener.

pub(crate) mod authz;
pub(crate) mod hostile_agent;
pub(crate) mod idem;
pub(crate) mod origin;
pub(crate) mod secrets;
pub(crate) mod services;
pub(crate) mod silence;
pub(crate) mod sse;
