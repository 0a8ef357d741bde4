//! A machine that says it can always go on has an end.
//! expect: machine session: declares itself perpetual and has an end

callboard_lifecycle::machine! {
    /// Something that goes on for ever.
    Session "ses" as "run" with "run" reasons;
    nature Perpetual;
    states State is "state" in "state" {
        /// It waits.
        Open = "open" ("Open", Neutral, Clock),
        /// It has ended.
        Closed = "closed" ("Closed", Success, Check),
    }
    triggers Trigger is "trigger" {
        /// It goes on.
        Go = "go",
    }
    start [Open];
    ends [Closed];
    rows {
        Open => Closed on [Go] by [System] because ["run.closed.*"];
    }
    reasons { "run.closed.ok": "It ended well."; }
}
