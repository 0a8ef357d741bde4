//! What agents say and deliver, who reads their output, and where it is recorded.

pub(super) mod agents;
pub(super) mod artifacts;
pub(super) mod output;
pub(super) mod store;
pub(super) mod talk;
