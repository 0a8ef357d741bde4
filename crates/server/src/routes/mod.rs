//! The paths of the API, by what they are about.
//!
//! Invariant: a path is declared once, with its handler and its description; the router and the OpenAPI document come
//! from the same declaration. Deliberately absent: who may use it (`access`), and judging (`engine`).

mod admin;
mod artifacts;
mod asked;
mod commands;
mod declared;
mod entities;
mod events;
mod health;
mod mcp;
mod output;
mod overview;
mod page;
mod questions;
mod reference;
mod runs;
mod services;
mod tasks;

pub(crate) use asked::body::{BODY_TIME, SAID_MAX, whole};
pub(crate) use declared::api;
pub(crate) use health::{livez, metrics, readyz};
pub(crate) use mcp::mcp;
pub(crate) use overview::{Calm, Latest, look};
pub(crate) use page::docs_page;

/// Entries on a page at the most.
const PAGE_MAX: usize = 500;
