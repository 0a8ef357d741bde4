//! What the events of each vendor mean.
//!
//! Invariant: a dialect knows the shapes of one vendor and nothing of bytes, bounds or other vendors. A field of an
//! unexpected shape is as good as absent, because vendors add and change fields between releases; only a line that is
//! no JSON object is refused.

mod aider;
mod claude;
mod codex;
mod fields;
mod gemini;
mod goose;
mod opencode;
mod table;

pub(crate) use table::Dialect;
