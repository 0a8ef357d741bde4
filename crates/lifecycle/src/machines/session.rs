//! The session machine: what can happen to one supervised execution of one command.

use crate::machine;
use crate::word::Words;

machine! {
    /// One supervised execution of one agent command, shown as a run.
    Session "ses" as "run" with "run" reasons;
    nature Ending;
    health [Ok, Running, Idle, Degraded, Stalled, ProcessDead, Orphaned, Disconnected, Unknown] and [Paused];
    delivery [Passed, Partial, Missing, Invalid, NotExpected];

    states SessionState is "session state" in "session" {
        /// Recorded; the process is not started yet.
        Pending = "pending" ("Pending", Neutral, Clock),
        /// The process was started and its end has not been read.
        Running = "running" ("Running", Running, Activity),
        /// The command ended well and delivered what it promised.
        Completed = "completed" ("Completed", Success, Check),
        /// The command ended with an error, or without what it promised.
        Failed = "failed" ("Failed", Error, XCircle),
        /// A configured bound was reached and the run was ended.
        TimedOut = "timed_out" ("Timed out", Warning, Hourglass),
        /// A person broke it off, or its process died and wrote no end.
        Aborted = "aborted" ("Aborted", Neutral, Stop),
        /// The system, a parent or an operator called it off.
        Cancelled = "cancelled" ("Cancelled", Neutral, Slash),
    }
    old names { "killed" => Cancelled, "canceled" => Cancelled, "timeout" => TimedOut, "completed_empty" => Completed }
    triggers SessionTrigger is "session trigger" {
        /// The process exists.
        Spawned = "spawned",
        /// The process could not be started.
        SpawnFailed = "spawn_failed",
        /// The process exited with 0 and the contract holds.
        ExitedClean = "exited_clean",
        /// The process exited with another code or by a signal.
        ExitedDirty = "exited_dirty",
        /// The process exited with 0 and something required is missing.
        ContractBroken = "contract_broken",
        /// One of the run's own timers fired.
        DeadlineReached = "deadline_reached",
        /// A person pressed Ctrl-C or Ctrl-\.
        Interrupted = "interrupted",
        /// The supervisor was told to stop it.
        StopAsked = "stop_asked",
        /// The reaper found it dead.
        Reaped = "reaped",
        /// An operator ended it by hand.
        EndedByHand = "ended_by_hand",
    }

    start [Pending];
    ends [Completed, Failed, TimedOut, Aborted, Cancelled];

    rows {
        Pending => Running   on [Spawned]        by [Supervisor, System] because ["run.started.*"];
        Pending => Failed    on [SpawnFailed]    by [Supervisor, System] because ["run.failed.*"] shown by [ToolResult];
        Pending => Failed    on [EndedByHand]    by [Operator]   when [NoLivingSupervisor] because ["run.failed.*", "system.health.*"] shown by [HumanAssertion];
        Pending => Aborted   on [Interrupted]    by [Supervisor, System] because ["run.aborted.*"] shown by [ToolResult];
        Pending => Aborted   on [Reaped]         by [System]     when [NoLivingSupervisor] because ["system.health.*"] shown by [ToolResult];
        Pending => Aborted   on [EndedByHand]    by [Operator]   when [NoLivingSupervisor] because ["run.aborted.*", "system.health.*"] shown by [HumanAssertion];
        Pending => Cancelled on [StopAsked]      by [Supervisor, System] because ["run.cancelled.*"] shown by [ToolResult, HumanAssertion];
        Pending => Cancelled on [EndedByHand]    by [Operator]   when [NoLivingSupervisor] because ["run.cancelled.*", "system.health.*"] shown by [HumanAssertion];

        Running => Completed on [ExitedClean]    by [Supervisor, System] because ["run.completed.*"] shown by [ToolResult];
        Running => Failed    on [ExitedDirty]    by [Supervisor, System] because ["run.failed.*"] shown by [ToolResult];
        Running => Failed    on [ContractBroken] by [Supervisor, System] because ["run.failed.missing_artifact", "run.failed.invalid_artifact"] shown by [Artifact];
        Running => Failed    on [EndedByHand]    by [Operator]   when [NoLivingSupervisor] because ["run.failed.*", "system.health.*"] shown by [HumanAssertion];
        Running => TimedOut  on [DeadlineReached] by [Supervisor, System] because ["run.timed_out.*"] shown by [ToolResult];
        Running => Aborted   on [Interrupted]    by [Supervisor, System] because ["run.aborted.*"] shown by [ToolResult];
        Running => Aborted   on [Reaped]         by [System]     when [NoLivingSupervisor] because ["system.health.*"] shown by [ToolResult];
        Running => Aborted   on [EndedByHand]    by [Operator]   when [NoLivingSupervisor] because ["run.aborted.*", "system.health.*"] shown by [HumanAssertion];
        Running => Cancelled on [StopAsked]      by [Supervisor, System] because ["run.cancelled.*"] shown by [ToolResult, HumanAssertion];
        Running => Cancelled on [EndedByHand]    by [Operator]   when [NoLivingSupervisor] because ["run.cancelled.*", "system.health.*"] shown by [HumanAssertion];
    }
    requires { TimedOut: "timeout_s", "elapsed_s"; }

    reasons {
        "run.started.ok": "The process was started.";
        "run.completed.ok": "The command exited with 0 and delivered what it promised.";
        "run.completed.denied": "The command exited with 0, and its agent was not allowed to use a tool it asked for.";
        "run.completed.truncated": "The command exited with 0, and the model's output limit cut the answer.";
        "run.failed.exit_nonzero": "The command exited with a code other than 0.";
        "run.failed.signal": "The command was ended by a signal nobody here sent.";
        "run.failed.closed_output": "The reader of its output went away, and the command was killed by SIGPIPE.";
        "run.failed.output_refused": "The command exited with 0 and some of its output could not be passed on.";
        "run.failed.core_dump": "The command crashed and left a core dump.";
        "run.failed.oom": "The kernel killed the command because memory ran out.";
        "run.failed.exception": "The agent reported an error it could not handle.";
        "run.failed.missing_artifact" was ["run.failed.artifact_contract"]: "The command exited with 0 and something it promised is missing.";
        "run.failed.invalid_artifact": "The command exited with 0 and something it promised is wrong.";
        "run.failed.artifact_write": "What it produced could not be kept.";
        "run.failed.not_found": "The command does not exist.";
        "run.failed.not_executable": "The command exists and cannot be executed.";
        "run.failed.interpreter": "The command exists, and the interpreter or loader that it needs does not.";
        "run.failed.spawn": "The process could not be started.";
        "run.failed.sandbox": "The sandbox could not be made, so nothing was started.";
        "run.failed.missing_cwd": "The directory to run in does not exist.";
        "run.failed.no_end_event": "The process exited with 0 and the agent's stream has no end.";
        "run.failed.provider_retryable": "The provider refused, and trying again may help.";
        "run.failed.provider_nonretryable": "The provider refused, and trying again will not help.";
        "run.failed.output_limit": "The model's output limit cut the answer.";
        "run.failed.escalated": "The agent gave up and asked for help.";
        "run.failed.never_dispatched": "It was recorded and nobody started it.";
        "run.timed_out.deadline": "The total time bound was reached.";
        "run.timed_out.first_output": "Nothing was heard before the bound for the first output.";
        "run.timed_out.silence": "Nothing was heard for longer than the silence bound.";
        "run.timed_out.waiting": "It waited for a person for longer than its bound.";
        "run.timed_out.tool": "A tool call took longer than its bound.";
        "run.aborted.sigint" was ["run.cancelled.sigint", "run.aborted.user"] by choice: "A person pressed Ctrl-C.";
        "run.aborted.sigquit" by choice: "A person pressed Ctrl-\\.";
        "run.aborted.operator" by choice: "An operator broke it off.";
        "run.cancelled.sigterm" by choice: "The supervisor received SIGTERM.";
        "run.cancelled.sighup" by choice: "Its terminal was closed.";
        "run.cancelled.signal" by choice: "A program sent the supervisor SIGINT, SIGQUIT or SIGHUP.";
        "run.cancelled.operator" was ["run.cancelled.manual_kill", "run.cancelled.force_kill"] by choice: "An operator stopped it.";
        "run.cancelled.agent": "An agent stopped it, from inside of a run.";
        "run.cancelled.parent" was ["run.cancelled.orchestrator"] by choice: "What started it was stopped.";
        "run.cancelled.sibling": "A run beside it, below the same parent, was aborted or failed.";
        "run.cancelled.child": "A run that it started failed, and its abort policy ends the whole tree.";
        "run.cancelled.system" was ["run.cancelled.stale_auto"]: "The system called it off.";
        "run.cancelled.budget": "A budget was used up.";
        "run.tool.aborted": "The processes of its tool call were ended, and the run goes on.";
        "run.tool.absent": "A tool call was to be aborted, and none was open.";
        "run.health.process_dead": "The recorded process is gone.";
        "run.health.orphaned": "No process, no artifacts and no messages: nobody holds it.";
        "run.health.stalled": "Silent for longer than the threshold of its kind.";
        "run.health.stuck": "Active, and without a new result for longer than the threshold.";
        "run.health.slow": "At work for longer than most runs.";
        "run.health.idle": "Silent for longer than the idle threshold.";
        "run.health.erroring": "Alive, and failing again and again.";
        "run.health.waiting": "Alive, and waiting for a person to answer.";
        "run.health.limited": "Alive, and waiting until its provider's limit is over.";
        "run.health.retrying": "Alive, and trying again after failures.";
        "run.health.looping": "Alive, and repeating itself without a change.";
        "run.health.paused": "Alive, and held by a signal or a frozen control group.";
        "run.health.unsupervised": "The supervisor is gone, and processes of the run are alive.";
        "run.health.supervisor_stopped": "The supervisor is held, so nobody watches the command.";
        "run.health.kill_unconfirmed": "Processes of the run are alive although they were killed.";
        "run.health.alive_after_end": "The log says that it ended, and its process is alive.";
        "run.health.later_end": "The log says that it ended, and its command ended later.";
        "run.health.denied": "It completed, and its agent was not allowed to use a tool it asked for.";
        "run.health.truncated": "It completed, and the model's output limit cut the answer.";
        "run.health.leftovers" was ["session.zombie.stale_locks"]: "It ended and left locks or processes behind.";
        "run.health.disconnected": "Its host has not renewed its lease.";
        "run.health.unknown": "Nothing that was recorded tells whether it is alive.";
        "run.delivery.missing": "Expected files were not found.";
        "run.delivery.partial": "Some of the expected files were not found.";
        "run.delivery.invalid": "Expected files were found and are wrong.";
    }
}

impl SessionState {
    /// The exit code that tells this end to a shell; `None` while it has not ended. A failed run passes on its
    /// command's own code where that is not 0.
    pub const fn exit_code(self) -> Option<u8> {
        match self {
            Self::Pending | Self::Running => None,
            Self::Completed => Some(0),
            Self::Failed => Some(1),
            Self::TimedOut => Some(124),
            Self::Aborted => Some(130),
            Self::Cancelled => Some(143),
        }
    }

    /// Every end with its exit code.
    pub fn exit_codes() -> impl Iterator<Item = (Self, u8)> {
        Self::ALL.iter().filter_map(|state| state.exit_code().map(|code| (*state, code)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operator_may_only_fail_abort_or_cancel() {
        let targets: Vec<&str> = MACHINE.admin_targets().into_iter().map(|s| MACHINE.state_name(s)).collect();
        assert_eq!(targets, ["failed", "aborted", "cancelled"]);
    }

    #[test]
    fn ends_and_only_ends_have_exit_codes() {
        for state in SessionState::ALL {
            assert_eq!(state.is_terminal(), state.exit_code().is_some(), "{state}");
        }
    }

    #[test]
    fn an_illegal_move_says_what_is_legal() {
        let error = SessionState::Completed.transition_to(SessionState::Running).unwrap_err();
        assert_eq!(
            error.to_string(),
            "invalid state transition: completed -> running (from completed: nowhere, it has ended)"
        );
    }
}
