//! Who may come in and what they may do: names of hosts, tokens, cookies, scopes and rates.
//!
//! Invariant: every path has a row in one table, and a request that fits no row is refused. Deliberately absent: what a
//! row of a machine allows, which is the kernel's.

mod doorman;
mod gate;
mod keyring;
mod rate;
mod refusals;
mod seal;
mod shares;
mod table;

pub(crate) use doorman::Doorman;
pub(crate) use doorman::Names;
pub(crate) use gate::{gate, login};
pub(crate) use keyring::Principal;
pub use keyring::{IssuedToken, KeyError, Keyring, NewToken, Scope};
pub(crate) use refusals::{Refusals, Refused};
pub(crate) use shares::{Held, Shares};
#[cfg(test)]
pub(crate) use table::rows;
pub(crate) use table::{Needs, needs};
