//! What a child writes: read from its pipes, kept in files, passed on.
//!
//! Invariant: the child is never kept waiting for a reader or a disk, and no output is held in memory. A slow reader's
//! backlog goes to an unlinked file of at most 4 GiB; what does not fit is dropped and counted. A full disk costs what
//! could not be written, which is counted, and nothing else. When the reader is gone, the child's pipe is closed, so that
//! its next write ends as it would have ended without us.
//!
//! A kept log is a directory of segments, each with three files. `NNNNNNNN.out` and `NNNNNNNN.err` hold what the child
//! wrote, byte for byte; `NNNNNNNN.idx` says when, and in which order the two belong together. The first segment stays
//! for ever, the others are removed from the oldest on when the quota is used up. [`Log`] reads them, also while they
//! are being written.

mod keep;
mod layout;
mod outlets;
mod pass;
mod reader;
mod screen;
mod spill;
mod whole;

pub(crate) use keep::prepare;
pub(crate) use outlets::Outlets;
pub use reader::{Log, Piece, Pieces, What};
pub use whole::Whole;
