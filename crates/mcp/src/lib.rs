//! The task board as tools and resources of the Model Context Protocol.
//!
//! Invariant: who calls decides what a tool does, by the rules of `engine::tasks::Acting`; a call that is not done is a tool error that says
//! what to do next, never an error of the protocol. Nothing of the SDK is seen outside of this crate, because its majors change
//! often. Deliberately absent: recognising a caller, which the command line and the server do; starting runs.

mod answer;
mod handler;
mod http_service;
mod over_stdio;
mod resource;
mod surroundings;
mod tool;

pub use callboard_engine::tasks::Caller;
pub use http_service::{HttpAnswer, HttpService};
pub use over_stdio::{StdioError, serve_over, serve_stdio};
pub use surroundings::{OwnSurroundings, Surroundings};
