//! Supervisors and the reaper: what is said of a run while its supervisor is late, gone or elsewhere.

pub(crate) mod aborting;
pub(crate) mod conditions;
pub(crate) mod gaps;
pub(crate) mod hanging;
pub(crate) mod leftovers;
pub(crate) mod reaping;
pub(crate) mod silence;
pub(crate) mod unconfirmed;
pub(crate) mod vantage;
