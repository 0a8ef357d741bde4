//! Everything that is derived from the tables for people and programs: descriptions, diagrams, reference pages.
//!
//! Invariant: what is rendered is read from the tables alone, so a page, a diagram and a JSON document cannot
//! disagree. Deliberately absent: files, terminals and JSON text; the callers write and encode.

mod catalogue;
mod description;
mod markdown;
mod mermaid;
mod page;
mod reference;

pub use catalogue::{Catalogue, Legacy, Theme, TokenDescription, ValueDescription, VocabularyDescription};
pub use description::{Also, Description, Edge, Meaning, RowDescription, StateDescription, describe};
pub use mermaid::mermaid;
pub use page::page;
pub use reference::{reasons_page, vocabulary_page};
