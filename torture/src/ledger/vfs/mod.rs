//! A disk in memory for SQLite, which fails on request and knows what a power cut would leave of it.
//!
//! Invariant: without a fault it behaves as the file system SQLite expects, locks and shared memory between the
//! connections of this process included; what was synced and what was only written is never mixed up. Deliberately
//! absent: real files, other processes, and any SQL of the ledger beyond what the checks afterwards ask for.

mod aftermath;
mod disk;
mod fault;
mod lock;
mod methods;
mod platter;
mod register;
mod shm;
mod traffic;

pub(crate) use aftermath::{Sound, chain, in_parallel, missing, open_store, records};
pub(crate) use disk::{Disk, Op};
pub(crate) use fault::{Call, Effect, Fault, Lasts};
pub(crate) use platter::{Image, Platter};
pub(crate) use register::Mount;
pub(crate) use traffic::{Traffic, together};
