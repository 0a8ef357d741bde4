//! A row asks a guard that only tasks can answer.
//! expect: machine session: a guard that cannot be asked of this kind: open -> closed: retries_left

callboard_lifecycle::machine! {
    /// Something that ends.
    Session "ses" as "run" with "run" reasons;
    nature Ending;
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
        Open => Closed on [Go] by [System] when [RetriesLeft] because ["run.closed.*"];
    }
    reasons {
        "run.closed.ok": "It ended well.";
    }
}
