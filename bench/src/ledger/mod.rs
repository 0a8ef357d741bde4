//! The ledger's figures: durable transitions beside bare databases and peers, questions and upkeep of large stores.

mod bare;
mod fleet;
mod large;
mod peers;
mod transitions;
mod upkeep;

pub(crate) use transitions::run;
