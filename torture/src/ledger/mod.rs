//! Tortures of the ledger: crashes, faults of the disk and the network, edits behind its back.

pub(crate) mod archive;
pub(crate) mod crash;
pub(crate) mod crashpoints;
pub(crate) mod ioerr;
pub(crate) mod leases;
pub(crate) mod migrate;
pub(crate) mod model;
pub(crate) mod nemesis;
pub(crate) mod pg_model;
pub(crate) mod powerloss;
pub(crate) mod processes;
pub(crate) mod tamper;
pub(crate) mod vfs;
