//! The live feed: every record once, in the order of the log, to whoever listens.
//!
//! Invariant: a listener gets the records after the one it names, each once, none left out, however slowly it reads and
//! however often it comes back. A record is written as text once, for everybody. Memory is bounded by the ring, not by
//! the listeners. Between the records stand looks: what changed although nothing was recorded. Deliberately absent: who may
//! listen.

mod follower;
mod frames;
mod looks;
mod ring;
mod stream;

pub(crate) use follower::{Feed, FollowError, follow};
pub(crate) use stream::{Choice, Start, stream};
