//! The turn machine: one prompt and its answer, with the durable evidence each end requires.
//!
//! `completed` means that clean evidence is in the ledger; a closed stream, a returned process or shown text is not it.

use crate::machine;

machine! {
    /// One prompt and its answer in a conversation.
    Turn "trn" as "turn" with "turn" reasons;
    nature Ending;

    states TurnState is "turn state" in "turn" {
        /// The prompt is recorded and the answer is not.
        Running = "running" ("Running", Running, Activity),
        /// A clean, whole answer is recorded.
        Completed = "completed" ("Completed", Success, Check),
        /// Useful text came, then the turn failed.
        PartialFailed = "partial_failed" ("Partial, failed", Error, Half),
        /// It failed without useful text.
        Failed = "failed" ("Failed", Error, XCircle),
        /// The operator or the presenter broke it off.
        Interrupted = "interrupted" ("Interrupted", Neutral, Stop),
        /// It used up its time.
        TimedOut = "timed_out" ("Timed out", Warning, Hourglass),
    }
    triggers TurnTrigger is "turn trigger" {
        /// The provider and tool loop reached an answer.
        Answered = "answered",
        /// The provider, a tool or the loop broke.
        Broke = "broke",
        /// Somebody broke it off.
        Interrupted = "interrupted",
        /// Its time bound was reached.
        DeadlineReached = "deadline_reached",
        /// It was found unfinished when the system came up.
        Recovered = "recovered",
    }

    start [Running];
    ends [Completed, PartialFailed, Failed, Interrupted, TimedOut];

    rows {
        Running => Completed     on [Answered]          by [System, Supervisor] because ["turn.completed.*"] shown by [Message];
        Running => PartialFailed on [Broke, Recovered]  by [System, Supervisor] because ["turn.partial_failed.*"] shown by [Message];
        Running => Failed        on [Broke, Recovered]  by [System, Supervisor] because ["turn.failed.*"] shown by [ToolResult];
        Running => Interrupted   on [Interrupted, Recovered] by [Operator, System, Supervisor] because ["turn.interrupted.*"] shown by [ToolResult, UserStatement, HumanAssertion];
        Running => TimedOut      on [DeadlineReached]   by [System, Supervisor] because ["turn.timed_out.*"] shown by [ToolResult];
    }
    requires {
        Completed: "assistant_message", "tools_paired";
        PartialFailed: "partial_message", "terminal_status", "error_kind";
        Failed: "terminal_status", "error_kind";
        Interrupted: "terminal_status", "tools_paired";
        TimedOut: "terminal_status", "timeout_ms", "next_actions";
    }

    reasons {
        "turn.completed.answered": "A clean answer was recorded.";
        "turn.completed.truncated": "The answer was recorded, and the model's output limit cut it.";
        "turn.partial_failed.provider": "The provider broke off after useful text.";
        "turn.partial_failed.stream_cut": "The stream was cut after useful text.";
        "turn.partial_failed.tool": "A tool broke the turn after useful text.";
        "turn.failed.provider": "The provider refused or broke before any useful text.";
        "turn.failed.stream_cut": "The stream was cut before any useful text.";
        "turn.failed.tool": "A tool broke the turn.";
        "turn.failed.context_limit": "The prompt is longer than the model's window.";
        "turn.failed.no_end": "It was found without an end when the system came up.";
        "turn.interrupted.operator" by choice: "A person broke it off.";
        "turn.interrupted.presenter" by choice: "The client broke it off.";
        "turn.interrupted.shutdown": "The system went down.";
        "turn.timed_out.deadline": "Its time bound was reached.";
    }
}
