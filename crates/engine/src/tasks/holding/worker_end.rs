//! Why a worker is gone, as it is recorded.

use callboard_kernel::StateReason;
use callboard_lifecycle::ReasonCode;
use callboard_lifecycle::worker::{AbortReason, WorkerTrigger};

use crate::tasks::asking::shown;

/// Why a worker is gone.
#[derive(Clone, Copy, Debug)]
pub enum WorkerEnd<'a> {
    /// It had nothing to do any more, or its place was needed.
    Recycled(&'a str),
    /// There is nothing left to do, and its process goes.
    Finished(&'a str),
    /// It could not begin.
    SpawnFailed(&'a str),
    /// Its process ended or is gone.
    Gone(AbortReason, &'a str),
    /// It has no process that could be seen, and was not heard of any more.
    Silent(&'a str),
}

impl WorkerEnd<'_> {
    pub(super) fn parts(self) -> (WorkerTrigger, StateReason, Option<AbortReason>) {
        match self {
            Self::Recycled(seen) => {
                let code = const { ReasonCode::of("worker.dead.recycled") };
                (WorkerTrigger::Recycled, shown(code, "it had nothing to do", seen), None)
            }
            Self::Finished(seen) => {
                let code = const { ReasonCode::of("worker.dead.completed") };
                (WorkerTrigger::ProcessGone, shown(code, "it finished and exited", seen), None)
            }
            Self::SpawnFailed(seen) => {
                let code = const { ReasonCode::of("worker.dead.spawn_failed") };
                (WorkerTrigger::SpawnFailed, shown(code, "it could not begin", seen), None)
            }
            Self::Gone(abort, seen) => {
                let code = callboard_lifecycle::reason(abort.code())
                    .unwrap_or(const { ReasonCode::of("worker.dead.unknown") });
                (WorkerTrigger::ProcessGone, shown(code, "its process is gone", seen), Some(abort))
            }
            Self::Silent(seen) => {
                let code = const { ReasonCode::of("worker.dead.unknown") };
                let why = shown(code, "it was not heard of any more", seen);
                (WorkerTrigger::ProcessGone, why, Some(AbortReason::Unknown))
            }
        }
    }
}
