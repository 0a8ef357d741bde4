//! The task machine: one piece of work on the board, with its canonical transition reasons.
//!
//! `pending_approval` is terminal for every program: only the approval desk leads there and only a person leads out.

use super::worker::AbortReason;
use crate::machine;
use crate::words;

machine! {
    /// One piece of work on the board.
    Task "tsk" as "task" with "task" reasons;
    nature Ending;

    states TaskState is "task state" in "task" {
        /// Part of a plan that a person has not approved yet.
        Planned = "planned" ("Planned", Review, Hand),
        /// Ready to be claimed.
        Open = "open" ("Open", Neutral, Clock),
        /// A worker has it and has not begun.
        Claimed = "claimed" ("Claimed", Running, Clock),
        /// A worker is at work on it.
        InProgress = "in_progress" ("In progress", Running, Activity),
        /// The worker says it is done; nobody has verified it.
        Done = "done" ("Done, unverified", Review, Half),
        /// Verified and merged.
        Closed = "closed" ("Closed", Success, Check),
        /// The worker or the verification failed it; it can be retried.
        Failed = "failed" ("Failed", Error, XCircle),
        /// It waits for something outside.
        Blocked = "blocked" ("Blocked", Warning, Blocked),
        /// It waits for the tasks it was split into.
        WaitingForSubtasks = "waiting_for_subtasks" ("Waiting for subtasks", Neutral, Pause),
        /// Called off.
        Cancelled = "cancelled" ("Cancelled", Neutral, Slash),
        /// Its worker crashed; recovery is under way.
        Orphaned = "orphaned" ("Orphaned", Stale, Unlink),
        /// Finished, and held until a person has judged it.
        PendingApproval = "pending_approval" ("Waits for approval", Review, Hand),
    }
    triggers TaskTrigger is "task trigger" {
        /// A person approved the plan.
        PlanApproved = "plan_approved",
        /// A person rejected the plan.
        PlanRejected = "plan_rejected",
        /// A worker claimed it.
        Claimed = "claimed",
        /// It was split into subtasks.
        Decomposed = "decomposed",
        /// Somebody called it off.
        CancelAsked = "cancel_asked",
        /// The worker began.
        Started = "started",
        /// The claim was given back or taken away.
        Released = "released",
        /// The worker says it is done.
        WorkReported = "work_reported",
        /// The worker says it failed.
        FailureReported = "failure_reported",
        /// Something it needs is not there.
        DependencyFound = "dependency_found",
        /// What it needed is there.
        DependencyResolved = "dependency_resolved",
        /// The worker stopped beating.
        HeartbeatLost = "heartbeat_lost",
        /// What the crashed worker left could be used.
        WorkRecovered = "work_recovered",
        /// What the crashed worker left could not be used.
        RecoveryFailed = "recovery_failed",
        /// Every subtask is done.
        SubtasksDone = "subtasks_done",
        /// A subtask takes too long.
        SubtaskOverdue = "subtask_overdue",
        /// It is tried again.
        Retried = "retried",
        /// Verification passed and its branch is merged.
        Verified = "verified",
        /// Verification rejected it.
        VerificationRejected = "verification_rejected",
        /// It needs a person's judgement.
        ApprovalAsked = "approval_asked",
        /// A person approved it.
        Approved = "approved",
        /// A person rejected it.
        Rejected = "rejected",
        /// A person sent it back to be done again.
        SentBack = "sent_back",
    }

    start [Planned, Open];
    ends [Closed, Cancelled, PendingApproval];
    settled [Failed];
    blocked [Blocked];
    undecided [Planned, PendingApproval];

    rows {
        Planned => Open               on [PlanApproved]    by [Operator];
        Planned => Cancelled          on [PlanRejected]    by [Operator] because ["task.cancelled.*"];

        Open => Claimed               on [Claimed]         by [Worker, Agent] when [DependenciesMet, Due, FilesFree, HasNextMove];
        Open => Claimed               on [Claimed]         by [System] when [HasNextMove];
        Open => WaitingForSubtasks    on [Decomposed]      by [Operator, System] when [HasNextMove];
        Open => Cancelled             on [CancelAsked]     by [Operator, System] because ["task.cancelled.*"];

        Claimed => InProgress         on [Started]         by [Worker, Agent] when [HeldByActor];
        Claimed => Open               on [Released]        by [Worker, Agent] when [HeldByActor];
        Claimed => Open               on [Released]        by [System] when [LeaseExpired];
        Claimed => Open               on [Released]        by [Operator];
        Claimed => Done               on [WorkReported]    by [Worker, Agent] when [HeldByActor] because ["task.done.*"] shown by [ToolResult, Artifact, File, Message];
        Claimed => Failed             on [FailureReported] by [Worker, Agent] when [HeldByActor] because ["task.failed.*"];
        Claimed => Failed             on [FailureReported] by [System] when [LeaseExpired] because ["task.failed.*"];
        Claimed => Cancelled          on [CancelAsked]     by [Operator, System] because ["task.cancelled.*"];
        Claimed => WaitingForSubtasks on [Decomposed]      by [Worker, Agent] when [HeldByActor, HasNextMove];
        Claimed => Blocked            on [DependencyFound] by [Worker, Agent] when [HeldByActor, HasNextMove];
        Claimed => Blocked            on [DependencyFound] by [System] when [HasNextMove];

        InProgress => Done            on [WorkReported]    by [Worker, Agent] when [HeldByActor] because ["task.done.*"] shown by [ToolResult, Artifact, File, Message];
        InProgress => Failed          on [FailureReported] by [Worker, Agent] when [HeldByActor] because ["task.failed.*"];
        InProgress => Blocked         on [DependencyFound] by [Worker, Agent] when [HeldByActor, HasNextMove];
        InProgress => WaitingForSubtasks on [Decomposed]   by [Worker, Agent] when [HeldByActor, HasNextMove];
        InProgress => Open            on [Released]        by [Worker, Agent] when [HeldByActor];
        InProgress => Open            on [Released]        by [Operator];
        InProgress => Cancelled       on [CancelAsked]     by [Operator, System] because ["task.cancelled.*"];
        InProgress => Orphaned        on [HeartbeatLost]   by [System, Supervisor] when [LeaseExpired] because ["task.orphaned.*", "system.health.*"];

        Orphaned => Done              on [WorkRecovered]   by [System] because ["task.done.*"] shown by [ToolResult, Artifact, File];
        Orphaned => Failed            on [RecoveryFailed]  by [System] because ["task.failed.*"];
        Orphaned => Open              on [Retried]         by [System] when [RetriesLeft];
        Orphaned => Open              on [Retried]         by [Operator];

        Blocked => Open               on [DependencyResolved] by [Operator, System];
        Blocked => Cancelled          on [CancelAsked]     by [Operator, System] because ["task.cancelled.*"];

        WaitingForSubtasks => Done      on [SubtasksDone]   by [System] when [SubtasksSettled] because ["task.done.*"];
        WaitingForSubtasks => Blocked   on [SubtaskOverdue] by [System] when [HasNextMove];
        WaitingForSubtasks => Cancelled on [CancelAsked]    by [Operator, System] because ["task.cancelled.*"];

        Failed => Open                on [Retried]         by [System] when [RetriesLeft];
        Failed => Open                on [Retried]         by [Operator];

        Done => Closed                on [Verified]        by [System, Operator] because ["task.closed.*"] shown by [ToolResult, Artifact, File, HumanAssertion];
        Done => Failed                on [VerificationRejected] by [System, Operator] because ["task.failed.*"] shown by [ToolResult, Artifact, File, HumanAssertion];
    }
    desk {
        Done => PendingApproval       on [ApprovalAsked]   by [ApprovalDesk] because ["task.pending_approval.*"];
        PendingApproval => Closed     on [Approved]        by [Operator] because ["task.closed.approved"] shown by [HumanAssertion];
        PendingApproval => Failed     on [Rejected]        by [Operator] because ["task.failed.rejected"] shown by [HumanAssertion];
        PendingApproval => Open       on [SentBack]        by [Operator] because ["task.open.sent_back"] shown by [HumanAssertion];
        PendingApproval => Cancelled  on [CancelAsked]     by [Operator] because ["task.cancelled.*"] shown by [HumanAssertion];
    }

    reasons {
        "task.open.plan_approved" by choice: "A person approved the plan.";
        "task.open.released": "Its worker gave it back.";
        "task.open.reassigned" by choice: "It was taken from its worker for another.";
        "task.open.retry": "It is tried again after a failure.";
        "task.open.orphan_recovered": "Its worker crashed and it is tried again.";
        "task.open.unblocked": "What it waited for is there.";
        "task.open.sent_back" by choice: "A person sent it back to be done again.";
        "task.claimed.ok": "A worker claimed it.";
        "task.in_progress.started": "The worker began.";
        "task.waiting_for_subtasks.decomposed": "It was split into subtasks.";
        "task.done.completed": "The worker says it is done.";
        "task.done.recovered": "What the crashed worker left could be used.";
        "task.done.subtasks": "Every subtask is done.";
        "task.closed.verified": "Verification passed and its branch is merged.";
        "task.closed.approved" by choice: "A person approved it.";
        "task.failed.aborted": "It was aborted.";
        "task.failed.reported": "The worker says it failed.";
        "task.failed.verification": "Verification rejected it.";
        "task.failed.rejected" by choice: "A person rejected it.";
        "task.failed.recovery": "What the crashed worker left could not be used.";
        "task.failed.prompt_too_long": "The input was longer than the model's window.";
        "task.failed.max_output_tokens": "The model reached its output limit.";
        "task.failed.max_turns": "The agent used up its turns.";
        "task.failed.provider_413": "The provider said that the payload is too large.";
        "task.failed.provider_529": "The provider said that it is overloaded.";
        "task.failed.compaction_failed": "Its context could not be compacted.";
        "task.failed.permission_denied": "The agent was not permitted to do what it needed.";
        "task.failed.sibling_aborted": "A sibling was aborted and took it along.";
        "task.failed.timeout": "Its time bound was reached.";
        "task.open.limit": "The provider's usage limit holds it until a moment.";
        "task.claimed.held_back" : "It is held back, because what it depends on will not come by itself.";
        "task.blocked.dependency": "Something it needs is not there.";
        "task.blocked.dependency_failed": "Something it needs has failed or was called off.";
        "task.blocked.subtask_failed": "A subtask has failed or was called off.";
        "task.failed.conflict": "Its branch and the target changed the same lines.";
        "task.failed.spawn": "Its agent could not be started.";
        "task.failed.provider_error": "The provider refused for good.";
        "task.blocked.stop_hook_blocked": "A stop hook holds it.";
        "task.blocked.subtask_overdue": "A subtask takes too long.";
        "task.orphaned.heartbeat_lost": "Its worker stopped beating.";
        "task.orphaned.worker_crashed": "Its worker crashed.";
        "task.pending_approval.risk": "Its risk asks for a person's judgement.";
        "task.pending_approval.policy": "A rule asks for a person's judgement.";
        "task.cancelled.operator" by choice: "An operator called it off.";
        "task.cancelled.plan_rejected" by choice: "A person rejected the plan.";
        "task.cancelled.sibling": "A task beside it, below the same parent, was aborted or failed.";
        "task.cancelled.child": "A part of it failed, and its abort policy ends the whole of it.";
        "task.cancelled.parent" by choice: "What it belonged to was called off.";
    }
    vocabularies { "transition_reasons": TransitionReason, "abort_reasons": AbortReason }
}

words! {
    /// The canonical reasons of the task board's transitions, as other task boards know them.
    pub enum TransitionReason is "transition reason" {
        /// Finished as it should.
        Completed = "completed",
        /// Aborted on request.
        Aborted = "aborted",
        /// Tried again after a failure.
        Retry = "retry",
        /// The input was longer than the model's window.
        PromptTooLong = "prompt_too_long",
        /// The model reached its output limit.
        MaxOutputTokens = "max_output_tokens",
        /// The agent used up its turns.
        MaxTurns = "max_turns",
        /// The provider said that the payload is too large.
        Provider413 = "provider_413",
        /// The provider said that it is overloaded.
        Provider529 = "provider_529",
        /// The context could not be compacted.
        CompactionFailed = "compaction_failed",
        /// A stop hook held it.
        StopHookBlocked = "stop_hook_blocked",
        /// A permission was missing.
        PermissionDenied = "permission_denied",
        /// A sibling was aborted and took it along.
        SiblingAborted = "sibling_aborted",
        /// A crashed worker's task was recovered.
        OrphanRecovered = "orphan_recovered",
    }
}

impl TransitionReason {
    /// The registered reason code that says the same.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Completed => "task.done.completed",
            Self::Aborted => "task.failed.aborted",
            Self::Retry => "task.open.retry",
            Self::PromptTooLong => "task.failed.prompt_too_long",
            Self::MaxOutputTokens => "task.failed.max_output_tokens",
            Self::MaxTurns => "task.failed.max_turns",
            Self::Provider413 => "task.failed.provider_413",
            Self::Provider529 => "task.failed.provider_529",
            Self::CompactionFailed => "task.failed.compaction_failed",
            Self::StopHookBlocked => "task.blocked.stop_hook_blocked",
            Self::PermissionDenied => "task.failed.permission_denied",
            Self::SiblingAborted => "task.failed.sibling_aborted",
            Self::OrphanRecovered => "task.open.orphan_recovered",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ActorClass, Words, reason};

    #[test]
    fn every_transition_reason_has_a_registered_code() {
        for why in TransitionReason::ALL {
            assert!(reason(why.code()).unwrap().as_str().ends_with(&format!(".{why}")), "{why}");
        }
    }

    #[test]
    fn no_program_can_leave_or_enter_pending_approval() {
        let held = TaskState::PendingApproval as u8;
        for row in MACHINE.rows.iter().filter(|row| row.from == held || row.to == held) {
            assert!(row.desk && row.actors.is_people_only());
        }
        for row in MACHINE.rows_from(held) {
            assert!(row.actors.classes().eq([ActorClass::Operator]), "only a person leads out");
        }
    }
}
