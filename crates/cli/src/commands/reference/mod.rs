//! Verbs that print what is declared: machines, reasons, derived states, manual pages, completions.

pub(crate) mod completions;
pub(crate) mod derive;
pub(crate) mod machines;
pub(crate) mod man;
pub(crate) mod reasons;
