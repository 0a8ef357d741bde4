//! The invocation machine: one call of a named command that owns sessions.

use crate::machine;

machine! {
    /// One call of a named command that owns the sessions it started.
    Invocation "inv" as "invocation" with "invocation" reasons;
    nature Ending;

    states InvocationState is "invocation state" in "invocation" {
        /// Recorded; nothing is started yet.
        Pending = "pending" ("Pending", Neutral, Clock),
        /// At least one session is at work, or is about to be.
        Running = "running" ("Running", Running, Activity),
        /// Every session it owns ended well.
        Succeeded = "succeeded" ("Succeeded", Success, Check),
        /// A session it owns failed, or the call itself did.
        Failed = "failed" ("Failed", Error, XCircle),
        /// A time bound was reached.
        TimedOut = "timed_out" ("Timed out", Warning, Hourglass),
        /// Called off.
        Cancelled = "cancelled" ("Cancelled", Neutral, Slash),
        /// Passed over on purpose.
        Skipped = "skipped" ("Skipped", Neutral, Skip),
    }
    old names { "completed" => Succeeded, "aborted" => Cancelled }
    triggers InvocationTrigger is "invocation trigger" {
        /// The first session was started.
        Started = "started",
        /// The call could not begin.
        StartFailed = "start_failed",
        /// Every session ended, and the worst of them decides.
        ChildrenEnded = "children_ended",
        /// A time bound was reached.
        DeadlineReached = "deadline_reached",
        /// Somebody called it off.
        StopAsked = "stop_asked",
        /// A condition said that it need not run.
        PassedOver = "passed_over",
    }

    start [Pending];
    ends [Succeeded, Failed, TimedOut, Cancelled, Skipped];

    rows {
        Pending => Running   on [Started]         by [Supervisor, System];
        Pending => Failed    on [StartFailed]     by [Supervisor, System] because ["invocation.failed.*"] shown by [ToolResult];
        Pending => Cancelled on [StopAsked]       by [Operator, System]   because ["invocation.cancelled.*"];
        Pending => Skipped   on [PassedOver]      by [Operator, System]   because ["invocation.skipped.*"];
        Running => Succeeded on [ChildrenEnded]   by [Supervisor, System] because ["invocation.succeeded.*"] shown by [ToolResult];
        Running => Failed    on [ChildrenEnded]   by [Supervisor, System] because ["invocation.failed.*"] shown by [ToolResult];
        Running => TimedOut  on [DeadlineReached, ChildrenEnded] by [Supervisor, System] because ["invocation.timed_out.*"] shown by [ToolResult];
        Running => Cancelled on [StopAsked, ChildrenEnded] by [Operator, Supervisor, System] because ["invocation.cancelled.*"];
        Running => Skipped   on [PassedOver]      by [Operator, System]   because ["invocation.skipped.*"];
    }
    requires { TimedOut: "timeout_s", "elapsed_s"; }

    reasons {
        "invocation.running.started": "The first session was started.";
        "invocation.succeeded.all_children": "Every session it owns completed.";
        "invocation.failed.child_failed": "A session it owns failed.";
        "invocation.failed.start": "Nothing could be started.";
        "invocation.failed.exception": "The call itself broke.";
        "invocation.timed_out.deadline" was ["schedule_run.timed_out.deadline"]: "The time bound of the call was reached.";
        "invocation.timed_out.child_timed_out": "A session it owns timed out.";
        "invocation.timed_out.no_session": "No session appeared within the bound.";
        "invocation.cancelled.operator" by choice: "An operator called it off.";
        "invocation.cancelled.child_stopped": "A session it owns was stopped.";
        "invocation.cancelled.parent" by choice: "What started it was stopped.";
        "invocation.skipped.precondition": "Its condition did not hold.";
        "invocation.skipped.duplicate": "The same call was already made.";
    }
}
