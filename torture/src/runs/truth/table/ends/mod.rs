//! Ways in which a command ends, and who or what brought it about.

pub(super) mod clocks;
pub(super) mod exits;
pub(super) mod hands;
pub(super) mod keys;
pub(super) mod memory;
pub(super) mod signals;
pub(super) mod stops;
pub(super) mod waits;
