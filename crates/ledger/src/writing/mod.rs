//! On the way into the log: commands queued, decided in batches, and answered.

pub(crate) mod answers;
pub(crate) mod batch;
pub(crate) mod body;
pub(crate) mod claim;
pub(crate) mod group;
pub(crate) mod leasing;
pub(crate) mod several;
pub(crate) mod ticket;
pub(crate) mod wake_up;
