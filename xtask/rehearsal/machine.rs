//! The rehearsal machine: a made-up kind, which `cargo xtask test kind` adds to a copy of the workspace.

use crate::machine;

machine! {
    /// A rehearsal, which begins once whoever called it has the stage.
    Rehearsal "reh" as "rehearsal" with "rehearsal" reasons;
    nature Ending;

    states RehearsalState is "rehearsal state" in "rehearsal" {
        /// It waits for the stage.
        Called = "called" ("Called", Neutral, Clock),
        /// It is under way.
        Playing = "playing" ("Playing", Running, Activity),
        /// It was played to its end.
        Completed = "completed" ("Completed", Success, Check),
    }
    triggers RehearsalTrigger is "rehearsal trigger" {
        /// The curtain went up.
        CurtainUp = "curtain_up",
        /// The curtain came down.
        CurtainDown = "curtain_down",
    }

    start [Called];
    ends [Completed];

    rows {
        Called  => Playing   on [CurtainUp]   by [Operator] when [HeldByActor];
        Playing => Completed on [CurtainDown] by [Operator] because ["rehearsal.completed.*"];
    }

    reasons {
        "rehearsal.playing.on_stage" by choice: "Whoever called it has the stage.";
        "rehearsal.completed.to_the_end" by choice: "It was played to its end.";
    }
}
