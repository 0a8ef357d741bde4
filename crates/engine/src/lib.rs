//! The running system: what a run promised, and whether it was delivered.
//!
//! Invariant: nothing here decides a state; the kernel does, from what is found here. Deliberately absent: starting a
//! process, which is the supervisor's.

pub mod delivery;

#[cfg(feature = "mutants")]
pub mod mutant;
#[cfg(not(feature = "mutants"))]
mod mutant;
