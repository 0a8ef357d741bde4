//! The name of an end says no outcome.
//! expect: machine session: an end that is no outcome: gone

callboard_lifecycle::machine! {
    /// Something that ends.
    Session "ses" as "run" with "run" reasons;
    nature Ending;
    states State is "state" in "state" {
        /// It waits.
        Open = "open" ("Open", Neutral, Clock),
        /// It has ended.
        Gone = "gone" ("Gone", Neutral, Slash),
    }
    triggers Trigger is "trigger" {
        /// It goes on.
        Go = "go",
    }
    start [Open];
    ends [Gone];
    rows {
        Open => Gone on [Go] by [System] because ["run.gone.*"];
    }
    reasons { "run.gone.ok": "It ended well."; }
}
