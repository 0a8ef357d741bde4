//! The sandbox of a run: what its command may reach, and the walls that keep it from the rest.
//!
//! Invariant: a wall is told to stand only if the kernel has put it up for this very command; one that the host cannot
//! give is named with why, and stops the start unless its absence was allowed. Everything is made ready before there is a
//! child, which only calls the kernel. A wall is never taken down again: what the command starts is inside, too.
//! Deliberately absent: profiles and their names, which are the caller's.

mod calls;
mod filter;
mod guard;
mod handover;
mod hosts;
mod mounts;
mod paths;
mod plan;
mod proxy;
pub(crate) mod public_address;
mod rules;
mod sightings;

pub(crate) use guard::Guard;
pub use hosts::AllowedHost;
pub use plan::{Missing, Network, Sandbox, Wall, Walls};
pub(crate) use plan::{Namespaces, Plan};
pub use sightings::{CallSeen, HostSeen, Outcome, Sightings};
