//! What proves the log: hashes, decisions made anew, seals, and the second place that remembers them.

pub(crate) mod audit;
pub(crate) mod checkpoint;
pub(crate) mod guarded;
pub(crate) mod leased;
pub(crate) mod legal;
pub(crate) mod redecide;
pub(crate) mod sealed;
pub(crate) mod verify;
pub(crate) mod witness;
