//! On the way through the log: records where they lie, folded into entities on all cores.

pub(crate) mod borrowed;
pub(crate) mod entities;
pub(crate) mod fold;
pub(crate) mod ranges;
pub(crate) mod record_shape;
pub(crate) mod views;
