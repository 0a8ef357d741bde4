//! The verbs: what each prints, accepts and refuses.

pub(crate) mod bad_input;
pub(crate) mod checkup;
pub(crate) mod derive;
pub(crate) mod exchange;
pub(crate) mod feed;
pub(crate) mod filters;
pub(crate) mod help;
pub(crate) mod ids;
pub(crate) mod lists;
pub(crate) mod lives;
pub(crate) mod machines;
pub(crate) mod notices;
pub(crate) mod output;
pub(crate) mod past;
pub(crate) mod reasons;
