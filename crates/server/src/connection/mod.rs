//! Connections: accepting them, how long each may take, which one makes room, and reading bodies to their end.
//!
//! Invariant: what one connection does or leaves undone costs a bounded amount, whoever opened it. Deliberately absent: what
//! is answered.

pub(crate) mod drained_body;
pub(crate) mod listen;
pub(crate) mod patient;
pub(crate) mod seats;
pub(crate) mod socket;
