//! The sandbox of a run: files, system calls, the network, and what `doctor` says of it.

pub(crate) mod acts;
pub(crate) mod calls;
pub(crate) mod doctor;
pub(crate) mod network;
