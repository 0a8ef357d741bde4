//! The task turn machine: one worker's handling of one task, driven by events.
//!
//! Two rows read oddly and are kept as they are known: `compacting` is left on `verify_requested`, and `verifying`
//! goes back to `running` on `compact_needed`.

use crate::machine;

machine! {
    /// One worker's handling of one task, from the claim to the clean-up.
    TaskTurn "ttn" as "task turn" with "task_turn" reasons;
    nature ByTrigger;

    states TaskTurnState is "task turn state" in "task_turn" {
        /// No task is assigned.
        Idle = "idle" ("Idle", Neutral, Pause),
        /// A task is claimed; its worktree is being prepared.
        Claiming = "claiming" ("Claiming", Running, Clock),
        /// The process is launched and has not begun.
        Spawning = "spawning" ("Spawning", Running, Clock),
        /// The process is at work on the task.
        Running = "running" ("Running", Running, Activity),
        /// A tool is being executed.
        ToolUse = "tool_use" ("Using a tool", Running, Activity),
        /// The context is being summarised.
        Compacting = "compacting" ("Compacting", Running, Half),
        /// The work is done and being verified.
        Verifying = "verifying" ("Verifying", Review, Half),
        /// Verified; the task is being marked done.
        Completing = "completing" ("Completing", Success, Half),
        /// An error, a crash or a failed verification.
        Failed = "failed" ("Failed", Error, XCircle),
        /// Cleaned up.
        Reaped = "reaped" ("Reaped", Neutral, Archive),
    }
    triggers TaskTurnEvent is "task turn event" {
        /// A task was reserved.
        TaskClaimed = "task_claimed",
        /// The process was launched, or confirmed that it is ready.
        AgentSpawned = "agent_spawned",
        /// A tool call began.
        ToolStarted = "tool_started",
        /// A tool call returned.
        ToolCompleted = "tool_completed",
        /// The context is near its limit.
        CompactNeeded = "compact_needed",
        /// The worker says it is finished, or compaction is.
        VerifyRequested = "verify_requested",
        /// Every completion signal is confirmed.
        TaskCompleted = "task_completed",
        /// Something cannot be recovered.
        TaskFailed = "task_failed",
        /// Process and worktree are cleaned up.
        AgentReaped = "agent_reaped",
    }

    start [Idle];
    ends [Reaped];

    rows {
        Idle       => Claiming   on [TaskClaimed]     by [Worker, System];
        Claiming   => Spawning   on [AgentSpawned]    by [Worker, System, Supervisor];
        Claiming   => Failed     on [TaskFailed]      by [Worker, System, Supervisor];
        Spawning   => Running    on [AgentSpawned]    by [Worker, System, Supervisor];
        Spawning   => Failed     on [TaskFailed]      by [Worker, System, Supervisor];
        Running    => ToolUse    on [ToolStarted]     by [Worker, System, Supervisor];
        Running    => Compacting on [CompactNeeded]   by [Worker, System, Supervisor];
        Running    => Verifying  on [VerifyRequested] by [Worker, Agent, System];
        Running    => Failed     on [TaskFailed]      by [Worker, System, Supervisor];
        ToolUse    => Running    on [ToolCompleted]   by [Worker, System, Supervisor];
        ToolUse    => Failed     on [TaskFailed]      by [Worker, System, Supervisor];
        Compacting => Running    on [VerifyRequested] by [Worker, System, Supervisor];
        Compacting => Failed     on [TaskFailed]      by [Worker, System, Supervisor];
        Verifying  => Completing on [TaskCompleted]   by [System];
        Verifying  => Running    on [CompactNeeded]   by [Worker, System];
        Verifying  => Failed     on [TaskFailed]      by [Worker, System, Supervisor];
        Completing => Reaped     on [AgentReaped]     by [System, Supervisor] because ["task_turn.reaped.*"];
        Failed     => Reaped     on [AgentReaped]     by [System, Supervisor] because ["task_turn.reaped.*"];
    }

    reasons {
        "task_turn.claiming.claimed": "A task was reserved.";
        "task_turn.spawning.launched": "The process was launched.";
        "task_turn.running.ready": "The process confirmed that it is ready.";
        "task_turn.running.tool_returned": "The tool returned.";
        "task_turn.running.compacted": "The context was summarised.";
        "task_turn.running.context_grew": "The context grew during verification.";
        "task_turn.tool_use.started": "A tool call began.";
        "task_turn.compacting.context_limit": "The context is near its limit.";
        "task_turn.verifying.requested": "The worker says it is finished.";
        "task_turn.completing.verified": "Every completion signal is confirmed.";
        "task_turn.failed.setup": "The worktree could not be prepared.";
        "task_turn.failed.spawn": "The process could not be started.";
        "task_turn.failed.runtime": "It broke while it ran.";
        "task_turn.failed.tool": "A tool broke it.";
        "task_turn.failed.compaction": "The context could not be summarised.";
        "task_turn.failed.verification": "The result was rejected.";
        "task_turn.failed.given_back": "It ended without a result: the task was given back, blocked, split or called off.";
        "task_turn.failed.lease_lost": "Its worker lost the task.";
        "task_turn.reaped.cleaned": "Process and worktree are cleaned up.";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_event_gives_the_target() {
        use TaskTurnEvent::{AgentSpawned, ToolStarted};
        assert_eq!(TaskTurnState::Claiming.after(AgentSpawned), Some(TaskTurnState::Spawning));
        assert_eq!(TaskTurnState::Spawning.after(AgentSpawned), Some(TaskTurnState::Running));
        assert_eq!(TaskTurnState::Verifying.after(ToolStarted), None);
    }
}
