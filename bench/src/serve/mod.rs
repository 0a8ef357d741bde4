//! `callboard serve`: the real process on loopback, asked, listened to and ordered about as people and agents do it.
//!
//! Invariant: everything is measured against one released binary in one run; where there is a floor or another way to do
//! the same, it takes turns with the server within that run. Deliberately absent: a verdict; aims stand beside figures.

mod crowd;
mod feed;
pub(crate) mod host;
mod looks;
mod moves;
mod page;
mod parts;
mod rest;
mod store;
pub(crate) mod wire;

pub(crate) use parts::run;
