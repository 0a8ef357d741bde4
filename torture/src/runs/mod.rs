//! Tortures of runs: processes that escape, supervisors that die, and what every surface says of it.

pub(crate) mod flood;
pub(crate) mod kills;
pub(crate) mod orphans;
pub(crate) mod paths;
pub(crate) mod pidreuse;
pub(crate) mod trees;
pub(crate) mod truth;
