//! Verbs that show what is recorded: lists, one entity, why it is in its state, its records.

pub(crate) mod attention;
pub(crate) mod events;
pub(crate) mod inspect;
pub(crate) mod ps;
pub(crate) mod why;
