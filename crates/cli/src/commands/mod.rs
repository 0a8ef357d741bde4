//! The verbs, grouped by what they are about: one file each, with its arguments, whose doc comment is its help, and what it does.
//!
//! Invariant: the name of the verb, of its file and of its `…Args` are the same word. Deliberately absent: parsing,
//! which the declarations are enough for, and colours.

pub(crate) mod board;
pub(crate) mod crew;
pub(crate) mod desk;
pub(crate) mod host;
pub(crate) mod records;
pub(crate) mod reference;
pub(crate) mod runs;
pub(crate) mod tasks;
