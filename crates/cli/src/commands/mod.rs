//! The verbs: one file each, with its arguments, whose doc comment is its help, and what it does.
//!
//! Invariant: the name of the verb, of its file and of its `…Args` are the same word. Deliberately absent: parsing,
//! which the declarations are enough for, and colours.

pub(crate) mod completions;
pub(crate) mod derive;
pub(crate) mod machines;
pub(crate) mod man;
pub(crate) mod reasons;
