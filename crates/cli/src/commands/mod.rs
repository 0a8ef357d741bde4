//! The verbs: one file each, with its arguments, whose doc comment is its help, and what it does.
//!
//! Invariant: the name of the verb, of its file and of its `…Args` are the same word. Deliberately absent: parsing,
//! which the declarations are enough for, and colours.

pub(crate) mod attention;
pub(crate) mod completions;
pub(crate) mod create;
pub(crate) mod demo;
pub(crate) mod derive;
pub(crate) mod doctor;
pub(crate) mod events;
pub(crate) mod export;
pub(crate) mod heartbeat;
pub(crate) mod import;
pub(crate) mod inspect;
pub(crate) mod logs;
pub(crate) mod machines;
pub(crate) mod man;
pub(crate) mod note;
pub(crate) mod ps;
pub(crate) mod reap;
pub(crate) mod reasons;
pub(crate) mod retry;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod shim;
pub(crate) mod stop;
pub(crate) mod store;
pub(crate) mod token;
pub(crate) mod transition;
pub(crate) mod verify;
pub(crate) mod wait;
pub(crate) mod why;
