//! A model on loopback for agent programs that must not reach a real one. It speaks four vendors' streams and fails on
//! request.

mod chat;
mod dialect;
mod gemini;
mod http;
mod messages;
mod responses;
mod server;

pub(crate) use dialect::{CACHED_TOKENS, INPUT_TOKENS, MODEL, OUTPUT_TOKENS};
pub(crate) use server::{Act, ModelServer, Step};
