//! Verbs of the crew: workers that do tasks, and the worktrees they do them in.

mod profiles;
pub(crate) mod timeouts;
pub(crate) mod work;
pub(crate) mod workers;
