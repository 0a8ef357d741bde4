//! The play machine: one part of a show.

use crate::machine;

machine! {
    /// One part of a show: it runs when its dependencies are merged, and is merged when it is good.
    Play "ply" as "play" with "play" reasons;
    nature Ending;
    health [Ok, Running, Stalled, Blocked];
    delivery [Passed, Partial, Missing, Invalid, NotExpected];

    states PlayState is "play state" in "play" {
        /// Listed; its dependencies are not merged yet.
        Planned = "planned" ("Planned", Neutral, Clock),
        /// Ready; waits for a place to run.
        Queued = "queued" ("Queued", Neutral, Clock),
        /// At work.
        Running = "running" ("Running", Running, Activity),
        /// The run ended; the gate has not judged it.
        RunComplete = "run_complete" ("Run complete", Review, Hand),
        /// Good, and merged.
        Merged = "merged" ("Merged", Success, Merge),
        /// The run or the gate failed it for good.
        Failed = "failed" ("Failed", Error, XCircle),
        /// A dependency failed or does not exist.
        Blocked = "blocked" ("Blocked", Warning, Blocked),
        /// A time bound was reached.
        TimedOut = "timed_out" ("Timed out", Warning, Hourglass),
        /// Called off.
        Cancelled = "cancelled" ("Cancelled", Neutral, Slash),
        /// Passed over on purpose.
        Skipped = "skipped" ("Skipped", Neutral, Skip),
    }
    old names {
        "pending" => Planned, "prepared" => Queued, "redoing" => Running, "running_complete" => RunComplete,
        "gated" => RunComplete, "gate_failed" => Failed, "escalated" => Blocked, "aborted_after_finish" => Cancelled,
    }
    triggers PlayTrigger is "play trigger" {
        /// Every dependency is merged.
        DependenciesMerged = "dependencies_merged",
        /// A dependency failed or does not exist.
        DependencyBroken = "dependency_broken",
        /// The blocking dependency was mended.
        DependencyMended = "dependency_mended",
        /// A place was free and the run began.
        Started = "started",
        /// The run ended well.
        RunEnded = "run_ended",
        /// The run failed.
        RunFailed = "run_failed",
        /// A time bound was reached.
        DeadlineReached = "deadline_reached",
        /// The gate passed it and its branch was merged.
        GatePassed = "gate_passed",
        /// The gate said no for the last time.
        GateFailed = "gate_failed",
        /// The gate said no and asks for another attempt.
        RedoAsked = "redo_asked",
        /// Somebody called it off.
        StopAsked = "stop_asked",
        /// Somebody or a condition passed it over.
        PassedOver = "passed_over",
    }

    start [Planned];
    ends [Merged, Failed, TimedOut, Cancelled, Skipped];
    blocked [Blocked];

    rows {
        Planned     => Queued      on [DependenciesMerged] by [System];
        Planned     => Blocked     on [DependencyBroken]   by [System];
        Planned     => Cancelled   on [StopAsked]          by [Operator, System]   because ["play.cancelled.*"];
        Planned     => Skipped     on [PassedOver]         by [Operator, System]   because ["play.skipped.*"];
        Queued      => Running     on [Started]            by [System, Supervisor];
        Queued      => Blocked     on [DependencyBroken]   by [System];
        Queued      => Cancelled   on [StopAsked]          by [Operator, System]   because ["play.cancelled.*"];
        Queued      => Skipped     on [PassedOver]         by [Operator, System]   because ["play.skipped.*"];
        Running     => RunComplete on [RunEnded]           by [System, Supervisor];
        Running     => Failed      on [RunFailed]          by [System, Supervisor] because ["play.failed.*"] shown by [ToolResult];
        Running     => TimedOut    on [DeadlineReached]    by [System, Supervisor] because ["play.timed_out.*"] shown by [ToolResult];
        Running     => Cancelled   on [StopAsked]          by [Operator, System, Supervisor] because ["play.cancelled.*"];
        RunComplete => Merged      on [GatePassed]         by [Operator, System]   because ["play.merged.*"] shown by [ToolResult, File, HumanAssertion];
        RunComplete => Failed      on [GateFailed]         by [Operator, System]   because ["play.failed.*"] shown by [ToolResult, Artifact, HumanAssertion];
        RunComplete => Queued      on [RedoAsked]          by [Operator, System];
        RunComplete => Cancelled   on [StopAsked]          by [Operator, System]   because ["play.cancelled.*"];
        Blocked     => Queued      on [DependencyMended]   by [Operator, System];
        Blocked     => Cancelled   on [StopAsked]          by [Operator, System]   because ["play.cancelled.*"];
        Blocked     => Skipped     on [PassedOver]         by [Operator, System]   because ["play.skipped.*"];
    }
    requires { TimedOut: "timeout_s", "elapsed_s"; }

    reasons {
        "play.queued.dependencies_merged" was ["play.pending.ready"]: "Every dependency is merged.";
        "play.queued.redo": "The gate asked for another attempt.";
        "play.queued.unblocked": "What blocked it was mended.";
        "play.running.started": "A place was free and the run began.";
        "play.run_complete.ok": "The run ended; the gate has not judged it.";
        "play.merged.ok": "The gate passed it and its branch was merged.";
        "play.failed.run_failed": "Its run failed.";
        "play.failed.gate" was ["play.gate_failed.verdict"]: "The gate said no for the last time.";
        "play.failed.merge_conflict": "Its branch cannot be merged.";
        "play.blocked.dependency_failed" was ["play.blocked.dep_failed"]: "A play it depends on failed.";
        "play.blocked.dependency_invalid" was ["play.blocked.invalid_deps"]: "A play it depends on does not exist.";
        "play.blocked.gate_twice" was ["play.escalated.gate_twice"]: "The gate said no twice; a person decides.";
        "play.timed_out.deadline": "The time bound was reached.";
        "play.cancelled.operator" by choice: "An operator called it off.";
        "play.cancelled.show_ended" by choice: "Its show ended.";
        "play.skipped.operator" by choice: "An operator passed it over.";
        "play.skipped.precondition": "Its condition did not hold.";
        "play.health.waiting" was ["play.pending.waiting_on_deps"]: "It waits for plays it depends on.";
        "play.health.stalled": "Its run makes no progress.";
        "play.health.blocked": "It cannot go on by itself.";
    }
}
