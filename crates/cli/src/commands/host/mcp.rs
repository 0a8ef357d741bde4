//! `callboard mcp`: the task board as tools, for an agent program that starts this one.
//!
//! Invariant: inside a run it acts as that run's agent, and else as the person at the terminal. Nothing but the protocol is written to
//! standard output. Deliberately absent: the tools (`callboard-mcp`) and HTTP, which `serve` has.

use std::sync::Arc;

use callboard_lifecycle::ActorClass;
use callboard_mcp::{Caller, OwnSurroundings, serve_stdio};
use clap::Args;

use crate::clock::Real;
use crate::error::{Error, Exit};
use crate::store::Store;
use crate::store::sending::actor;

/// Offer the task board as MCP tools on standard input and output.
///
/// An agent program starts it: docs/mcp.md says how each is told to. Inside a run its tools reach the task of that run; outside of one
/// they work by hand for you.
#[derive(Args, Debug)]
pub(crate) struct McpArgs {}

impl McpArgs {
    /// Serves until the client goes.
    pub(crate) fn run(&self, store: &Store) -> Result<Exit, Error> {
        let ledger = store.open()?;
        let asks = actor(&ledger)?;
        let caller = match asks.class {
            ActorClass::Operator => Caller::Person(asks.id),
            ActorClass::Agent
            | ActorClass::System
            | ActorClass::Supervisor
            | ActorClass::Worker
            | ActorClass::ApprovalDesk => Caller::Agent(asks.id),
        };
        let place = OwnSurroundings::new(ledger, Arc::new(Real));
        serve_stdio(Arc::new(place), caller).map_err(Error::Mcp)?;
        Ok(Exit::DONE)
    }
}
