//! The show machine: a production of several plays.

use crate::machine;

machine! {
    /// A production of several plays with dependencies, each merged when it is good.
    Show "shw" as "show" with "show" reasons;
    nature Ending;
    health [Ok, Running, Blocked];
    delivery [Passed, Partial, Missing, Invalid, NotExpected];

    states ShowState is "show state" in "show" {
        /// Being written.
        Draft = "draft" ("Draft", Neutral, Dash),
        /// The plays and their dependencies are fixed.
        Planned = "planned" ("Planned", Neutral, Clock),
        /// Plays are at work, or can be.
        Active = "active" ("Active", Running, Activity),
        /// Every play ended well and the final gate passed.
        Completed = "completed" ("Completed", Success, Check),
        /// The whole production is merged.
        Merged = "merged" ("Merged", Success, Merge),
        /// The production cannot succeed any more.
        Failed = "failed" ("Failed", Error, XCircle),
        /// Put away.
        Archived = "archived" ("Archived", Neutral, Archive),
    }
    triggers ShowTrigger is "show trigger" {
        /// The plan is written.
        PlanWritten = "plan_written",
        /// The first play may start.
        CurtainRaised = "curtain_raised",
        /// The final gate passed.
        FinalGatePassed = "final_gate_passed",
        /// The production's branch was merged.
        BranchMerged = "branch_merged",
        /// A play that everything hangs on failed.
        CriticalPathFailed = "critical_path_failed",
        /// Somebody put it away.
        PutAway = "put_away",
    }

    start [Draft];
    ends [Completed, Merged, Failed, Archived];

    rows {
        Draft   => Planned   on [PlanWritten]        by [Operator, System, Agent];
        Draft   => Archived  on [PutAway]            by [Operator]         because ["show.archived.*"];
        Planned => Active    on [CurtainRaised]      by [Operator, System];
        Planned => Archived  on [PutAway]            by [Operator]         because ["show.archived.*"];
        Active  => Completed on [FinalGatePassed]    by [Operator, System] because ["show.completed.*"] shown by [ToolResult, Artifact, HumanAssertion];
        Active  => Merged    on [BranchMerged]       by [Operator, System] because ["show.merged.*"] shown by [ToolResult, File, HumanAssertion];
        Active  => Failed    on [CriticalPathFailed] by [Operator, System] because ["show.failed.*"] shown by [ToolResult, HumanAssertion];
        Active  => Archived  on [PutAway]            by [Operator]         because ["show.archived.*"];
    }

    reasons {
        "show.planned.written": "The plan is written.";
        "show.active.started" was ["show.active.created"]: "The first play may start.";
        "show.completed.final_gate": "The final gate passed.";
        "show.completed.all_plays_merged": "Every play is merged.";
        "show.merged.ok": "The production's branch was merged.";
        "show.failed.critical_path_blocked": "A play on the critical path failed.";
        "show.failed.final_gate": "The final gate said no.";
        "show.archived.operator" was ["show.aborted.operator"] by choice: "An operator put it away.";
        "show.health.no_ready_plays" was ["show.blocked.no_ready_plays"]: "Nothing runs and no play can start.";
    }
}
