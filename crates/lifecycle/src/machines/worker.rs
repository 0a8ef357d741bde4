//! The worker machine: one process that works on tasks, and how an abnormal end of it is classified.

use crate::machine;
use crate::words;

machine! {
    /// One process that works on tasks.
    Worker "wrk" as "worker" with "worker" reasons;
    nature Ending;

    states WorkerState is "worker state" in "worker" {
        /// Spawned; it has not confirmed that it is ready.
        Starting = "starting" ("Starting", Running, Clock),
        /// At work on a task.
        Working = "working" ("Working", Running, Activity),
        /// Finished its task and ready for another.
        Idle = "idle" ("Idle", Neutral, Pause),
        /// Its process is gone.
        Dead = "dead" ("Dead", Neutral, Slash),
    }
    triggers WorkerTrigger is "worker trigger" {
        /// Its first heartbeat came.
        Ready = "ready",
        /// It could not be started, or exited at once.
        SpawnFailed = "spawn_failed",
        /// A task was assigned to it.
        TaskAssigned = "task_assigned",
        /// It finished its task.
        TaskFinished = "task_finished",
        /// Its process is gone.
        ProcessGone = "process_gone",
        /// Its place was needed and it had nothing to do.
        Recycled = "recycled",
    }

    start [Starting];
    ends [Dead];

    rows {
        Starting => Working on [Ready]        by [Supervisor, System, Worker];
        Starting => Dead    on [SpawnFailed, ProcessGone] by [Supervisor, System] because ["worker.dead.*", "system.health.*"] shown by [ToolResult];
        Working  => Idle    on [TaskFinished] by [Supervisor, System, Worker];
        Working  => Dead    on [ProcessGone]  by [Supervisor, System] because ["worker.dead.*", "system.health.*"] shown by [ToolResult];
        Idle     => Working on [TaskAssigned] by [Supervisor, System, Worker];
        Idle     => Dead    on [Recycled, ProcessGone] by [Supervisor, System, Operator] because ["worker.dead.*", "system.health.*"] shown by [ToolResult, HumanAssertion];
    }

    reasons {
        "worker.working.ready": "Its first heartbeat came.";
        "worker.working.assigned": "A task was assigned to it.";
        "worker.idle.finished": "It finished its task.";
        "worker.dead.completed": "It finished and exited.";
        "worker.dead.recycled" by choice: "Its place was needed and it had nothing to do.";
        "worker.dead.spawn_failed": "It could not be started, or exited at once.";
        "worker.dead.user_interrupt" by choice: "A person pressed Ctrl-C.";
        "worker.dead.shutdown_signal" by choice: "It was told to terminate.";
        "worker.dead.timeout": "Its time bound was reached.";
        "worker.dead.oom": "Memory ran out.";
        "worker.dead.permission_denied": "It was not permitted to execute.";
        "worker.dead.provider_error": "The provider refused for good.";
        "worker.dead.bash_error": "A shell tool broke it.";
        "worker.dead.sibling_aborted": "A sibling was aborted and took it along.";
        "worker.dead.parent_aborted": "Its parent was aborted and took it along.";
        "worker.dead.compact_failure": "Its context could not be compacted.";
        "worker.dead.unknown": "Nothing tells why it ended.";
    }
    vocabularies { "abort_reasons": AbortReason }
}

words! {
    /// Why a process ended abnormally.
    pub enum AbortReason is "abort reason" {
        /// A person pressed Ctrl-C.
        UserInterrupt = "user_interrupt",
        /// It was told to terminate.
        ShutdownSignal = "shutdown_signal",
        /// A watchdog's time bound was reached.
        Timeout = "timeout",
        /// Memory ran out.
        Oom = "oom",
        /// It was not permitted to execute.
        PermissionDenied = "permission_denied",
        /// The provider refused for good.
        ProviderError = "provider_error",
        /// A shell tool broke it.
        BashError = "bash_error",
        /// A sibling was aborted and took it along.
        SiblingAborted = "sibling_aborted",
        /// Its parent was aborted and took it along.
        ParentAborted = "parent_aborted",
        /// Its context could not be compacted.
        CompactFailure = "compact_failure",
        /// Nothing tells why.
        Unknown = "unknown",
    }
}

impl AbortReason {
    /// The reason code a worker's death is recorded with.
    pub const fn code(self) -> &'static str {
        match self {
            Self::UserInterrupt => "worker.dead.user_interrupt",
            Self::ShutdownSignal => "worker.dead.shutdown_signal",
            Self::Timeout => "worker.dead.timeout",
            Self::Oom => "worker.dead.oom",
            Self::PermissionDenied => "worker.dead.permission_denied",
            Self::ProviderError => "worker.dead.provider_error",
            Self::BashError => "worker.dead.bash_error",
            Self::SiblingAborted => "worker.dead.sibling_aborted",
            Self::ParentAborted => "worker.dead.parent_aborted",
            Self::CompactFailure => "worker.dead.compact_failure",
            Self::Unknown => "worker.dead.unknown",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Words, reason};

    #[test]
    fn every_abort_reason_has_a_registered_code() {
        for abort in AbortReason::ALL {
            assert_eq!(reason(abort.code()).unwrap().as_str(), format!("worker.dead.{abort}"));
        }
    }
}
