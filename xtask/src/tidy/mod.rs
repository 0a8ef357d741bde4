//! `cargo xtask tidy`: the project's rules that rustc and clippy cannot know, each in its own file.
//!
//! Invariant: a rule is a pure function of what it is given (paths, texts, cargo's metadata) and returns
//! findings; only `run` and `source` touch the disk, so every rule is tested on made-up input.
//!
//! Not here: formatting, which is rustfmt's, and anything clippy has a lint for.

mod deny;
mod facts;
mod headers;
mod layers;
mod links;
mod names;
mod orphans;
mod run;
mod rust;
mod size;
mod source;
mod spdx;
mod words;

pub(crate) use run::run;
