//! Verbs about this host: the server, its tokens, the tools for agents, the checks of `doctor`, the demonstration.

pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod mcp;
pub(crate) mod serve;
pub(crate) mod token;
