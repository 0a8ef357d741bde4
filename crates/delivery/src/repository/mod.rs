//! Git repositories: where one is, how git is asked about it without its configuration, and what it looked like.

mod asking;
mod location;
mod snapshot;

pub use snapshot::Repository;
