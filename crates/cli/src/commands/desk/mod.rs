//! Verbs of the desk: asking people, answering, and standing rules.
//!
//! Invariant: nothing is decided here, and nobody answers from inside a run. Deliberately absent: what an answer does, which the engine knows.

pub(crate) mod answer;
pub(crate) mod ask;
pub(crate) mod inbox;
mod question_text;
pub(crate) mod rules;
