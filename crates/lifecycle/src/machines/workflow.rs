//! The workflow machine: structure over subagents and sessions; its end is derived from the evidence of its steps.

use crate::machine;

machine! {
    /// Structure over subagents and sessions; only full completion is a success.
    Workflow "wfl" as "workflow" with "workflow" reasons;
    nature Ending;

    states WorkflowState is "workflow state" in "workflow" {
        /// Recorded; no step has begun.
        Pending = "pending" ("Pending", Neutral, Clock),
        /// Steps are at work.
        Running = "running" ("Running", Running, Activity),
        /// It needs a decision before it can go on.
        Held = "held" ("Held", Review, Hand),
        /// Every required step produced what it should.
        Completed = "completed" ("Completed", Success, Check),
        /// Something usable was produced, and not all of it.
        Partial = "partial" ("Partial", Warning, Half),
        /// Nothing usable without a rerun or a decision.
        Failed = "failed" ("Failed", Error, XCircle),
        /// Steps timed out, and full completion cannot be claimed.
        TimedOut = "timed_out" ("Timed out", Warning, Hourglass),
        /// Called off.
        Cancelled = "cancelled" ("Cancelled", Neutral, Slash),
    }
    old names { "completion_ready" => Completed, "partial_outcome_ready" => Partial, "needs_orchestrator" => Held }
    triggers WorkflowTrigger is "workflow trigger" {
        /// The first step began.
        Started = "started",
        /// It could not begin.
        StartFailed = "start_failed",
        /// Every step has settled, and together they decide.
        StepsSettled = "steps_settled",
        /// A step needs a decision.
        DecisionNeeded = "decision_needed",
        /// Somebody decided.
        Decided = "decided",
        /// Somebody called it off.
        CancelAsked = "cancel_asked",
    }

    start [Pending];
    ends [Completed, Partial, Failed, TimedOut, Cancelled];
    undecided [Held];

    rows {
        Pending => Running   on [Started]        by [System, Supervisor];
        Pending => Failed    on [StartFailed]    by [System, Supervisor] because ["workflow.failed.*"];
        Pending => Cancelled on [CancelAsked]    by [Operator, System]   because ["workflow.cancelled.*"];
        Running => Completed on [StepsSettled]   by [System]             because ["workflow.completed.*"];
        Running => Partial   on [StepsSettled]   by [System]             because ["workflow.partial.*"];
        Running => Failed    on [StepsSettled]   by [System]             because ["workflow.failed.*"];
        Running => TimedOut  on [StepsSettled]   by [System]             because ["workflow.timed_out.*"];
        Running => Held      on [DecisionNeeded] by [System];
        Running => Cancelled on [CancelAsked]    by [Operator, System]   because ["workflow.cancelled.*"];
        Held    => Running   on [Decided]        by [Operator, System];
        Held    => Partial   on [Decided]        by [Operator, System]   because ["workflow.partial.*"];
        Held    => Failed    on [Decided]        by [Operator, System]   because ["workflow.failed.*"];
        Held    => Cancelled on [CancelAsked]    by [Operator, System]   because ["workflow.cancelled.*"];
    }
    requires {
        Completed: "steps";
        Partial: "steps", "next_actions";
        Failed: "steps", "next_actions";
        TimedOut: "steps", "next_actions";
        Held: "steps", "next_actions";
    }

    reasons {
        "workflow.running.started": "The first step began.";
        "workflow.running.decided" by choice: "Somebody decided and it goes on.";
        "workflow.completed.all_steps": "Every required step produced what it should.";
        "workflow.partial.some_steps": "Some steps produced something usable.";
        "workflow.partial.accepted" by choice: "Somebody accepted what there is.";
        "workflow.failed.no_usable_step": "No step produced anything usable.";
        "workflow.failed.start": "It could not begin.";
        "workflow.failed.decided" by choice: "Somebody decided that it failed.";
        "workflow.timed_out.steps": "Steps timed out.";
        "workflow.held.decision_needed": "A step needs a decision.";
        "workflow.cancelled.operator" by choice: "An operator called it off.";
        "workflow.cancelled.parent" by choice: "What started it was stopped.";
    }
}
