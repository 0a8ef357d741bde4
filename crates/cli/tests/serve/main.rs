//! Drives the real server over a real socket: what it answers, whom it lets in, and what it survives.

#![cfg(test)]

mod access;
mod commands;
mod deaths;
mod faults;
mod feed;
mod floods;
mod host;
mod looks;
mod mcp;
mod schema;
mod services;
mod store;
mod traces;
mod wire;
