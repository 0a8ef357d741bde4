//! The agent programs: how each is launched in surroundings of its own.
//!
//! Invariant: a program has an emptied environment, a home of its own, a made-up key, and the model server as its base URL
//! and its proxy. Retries are set as low as the program allows. Not here: installing them; `cargo xtask test` does that.

mod aider;
mod claude;
mod codex;
mod gemini;
mod opencode;
mod qwen;
mod table;

pub(crate) use table::{Launch, Program};
