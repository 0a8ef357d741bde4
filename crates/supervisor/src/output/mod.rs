//! What a child writes: read from its pipes, kept in files, passed on.
//!
//! Invariant: the child is never kept waiting for a reader or a disk, and no output is held in memory.

mod outlets;

pub(crate) use outlets::Outlets;
