//! Verbs of whoever holds a task: claiming it, saying how it goes, and how it ended.
//!
//! Invariant: they act under the lease of the task, so a holder that lost it is refused. A person acts as the worker that holds the task;
//! inside a run the agent acts, for the task of that run alone.

mod block;
mod claim;
mod done;
mod fail;
mod heartbeat;
mod holder;
mod progress;
mod release;
mod split;
mod start;

pub(super) use self::block::BlockArgs;
pub(super) use self::claim::ClaimArgs;
pub(super) use self::done::DoneArgs;
pub(super) use self::fail::FailArgs;
pub(super) use self::heartbeat::HeartbeatArgs;
pub(super) use self::progress::ProgressArgs;
pub(super) use self::release::ReleaseArgs;
pub(super) use self::split::SplitArgs;
pub(super) use self::start::StartArgs;
