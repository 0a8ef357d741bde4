//! How things are shown: tables, colours, records in words, and a list that is shown again when it changes.
//!
//! Invariant: only `style` names a colour, and only `terminal_filter` lets a command's bytes reach a terminal.

pub(crate) mod closing;
pub(crate) mod columns;
pub(crate) mod live;
pub(crate) mod record_text;
pub(crate) mod screen;
pub(crate) mod style;
pub(crate) mod table;
pub(crate) mod terminal_filter;
