//! What a person types: ids, moments, words of the vocabularies, filters, plans, and JSON lines on standard input.
//!
//! Invariant: what cannot be read is an error with the text as it was typed. Deliberately absent: what a verb does with it.

pub(crate) mod derivation;
pub(crate) mod filter_args;
pub(crate) mod ids;
pub(crate) mod jsonl;
pub(crate) mod moment;
pub(crate) mod plan;
pub(crate) mod word;
