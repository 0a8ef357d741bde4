//! How a whole tree of processes is held together, so that none of it outlives its run.
//!
//! A ladder of two rungs, and each run says which one it got:
//!
//! 1. A control group (version 2, also where it is mounted beside version 1). The kernel keeps the list of members, nobody
//!    leaves it by forking or by calling `setsid`, and one write kills all of them.
//! 2. The tree: a session of its own, and we are the subreaper, so every orphan becomes our child and is found by walking
//!    the process table; the marker in the environment finds those whose supervisor died.
//!
//! There is no rung with a PID namespace: it would change what the agents see (their own pid, `/proc`, the pids in lock
//! files they share with other programs), and it needs a mount of `/proc` of its own.

mod account;
mod around;
mod cgroup;
mod hierarchy;
mod leftover;
mod limits;
mod memory;
mod tree;

pub use account::{Containment, Force, Rung, probe};
pub(crate) use account::{Held, hold};
pub(crate) use around::markers_of_groups;
pub(crate) use cgroup::{Group, find, group_members};
pub(crate) use hierarchy::groups_of;
pub use leftover::{count_empty, group_markers, remove_empty};
pub(crate) use memory::Verdict as MemoryVerdict;
pub(crate) use tree::{Roots, Tree, carries, is_our_program, markers, outermost_first};
