//! The subagent machine: a child session under a parent, with the durable evidence each end requires.
//!
//! `detached` is settled, not an end: the child may still be controlled again.

use crate::machine;

machine! {
    /// A child session under a parent.
    Subagent "sub" as "subagent" with "subagent" reasons;
    nature Ending;

    states SubagentState is "subagent state" in "subagent" {
        /// Asked for; it has not begun.
        Queued = "queued" ("Queued", Neutral, Clock),
        /// The child session is at work.
        Running = "running" ("Running", Running, Activity),
        /// The child completed and returned something usable.
        Completed = "completed" ("Completed", Success, Check),
        /// The child ended with a failure.
        Failed = "failed" ("Failed", Error, XCircle),
        /// The child used up its time.
        TimedOut = "timed_out" ("Timed out", Warning, Hourglass),
        /// Broken off while it worked.
        Interrupted = "interrupted" ("Interrupted", Neutral, Stop),
        /// Called off by its parent or an operator.
        Cancelled = "cancelled" ("Cancelled", Neutral, Slash),
        /// Its parent does not control it any more; it may be found again.
        Detached = "detached" ("Detached", Stale, Unlink),
    }
    triggers SubagentTrigger is "subagent trigger" {
        /// The child session began.
        Started = "started",
        /// The child session completed.
        ChildCompleted = "child_completed",
        /// The child session, or its start, failed.
        ChildFailed = "child_failed",
        /// Its time bound was reached.
        DeadlineReached = "deadline_reached",
        /// Somebody broke it off.
        Interrupted = "interrupted",
        /// The parent or an operator called it off.
        CancelAsked = "cancel_asked",
        /// The parent lost hold of it.
        Lost = "lost",
        /// The parent has hold of it again.
        Found = "found",
    }

    start [Queued];
    ends [Completed, Failed, TimedOut, Interrupted, Cancelled];
    settled [Detached];
    undecided [Detached];

    rows {
        Queued   => Running     on [Started]         by [System, Supervisor];
        Queued   => Failed      on [ChildFailed]     by [System, Supervisor] because ["subagent.failed.*"];
        Queued   => Cancelled   on [CancelAsked]     by [Operator, System, Agent] because ["subagent.cancelled.*"];
        Running  => Completed   on [ChildCompleted]  by [System, Supervisor] because ["subagent.completed.*"];
        Running  => Failed      on [ChildFailed]     by [System, Supervisor] because ["subagent.failed.*"];
        Running  => TimedOut    on [DeadlineReached] by [System, Supervisor] because ["subagent.timed_out.*"];
        Running  => Interrupted on [Interrupted]     by [Operator, System, Agent] because ["subagent.interrupted.*"];
        Running  => Cancelled   on [CancelAsked]     by [Operator, System, Agent] because ["subagent.cancelled.*"];
        Running  => Detached    on [Lost]            by [System, Supervisor];
        Detached => Running     on [Found]           by [Operator, System, Supervisor];
        Detached => Completed   on [ChildCompleted]  by [System, Supervisor] because ["subagent.completed.*"];
        Detached => Failed      on [ChildFailed]     by [System, Supervisor] because ["subagent.failed.*"];
        Detached => TimedOut    on [DeadlineReached] by [System, Supervisor] because ["subagent.timed_out.*"];
        Detached => Cancelled   on [CancelAsked]     by [Operator, System, Agent] because ["subagent.cancelled.*"];
    }
    requires {
        Completed: "child_session", "summary";
        Failed: "child_session", "next_actions";
        TimedOut: "child_session", "timeout_ms", "elapsed_ms", "next_actions";
        Interrupted: "child_session";
        Cancelled: "child_session";
        Detached: "child_session", "next_actions";
    }

    reasons {
        "subagent.running.started": "The child session began.";
        "subagent.running.found": "Its parent has hold of it again.";
        "subagent.completed.ok": "The child completed and returned something usable.";
        "subagent.failed.child_failed": "The child ended with a failure.";
        "subagent.failed.start": "The child could not be started.";
        "subagent.failed.refused": "The child was refused: too deep, too many, or not allowed.";
        "subagent.timed_out.deadline": "The child used up its time.";
        "subagent.interrupted.operator" by choice: "A person broke it off.";
        "subagent.interrupted.parent" by choice: "Its parent's turn was broken off.";
        "subagent.cancelled.parent" by choice: "Its parent called it off.";
        "subagent.cancelled.operator" by choice: "An operator called it off.";
        "subagent.detached.parent_gone": "Its parent is gone and the child may live.";
        "subagent.detached.asked" by choice: "It was let go on purpose.";
    }
}
