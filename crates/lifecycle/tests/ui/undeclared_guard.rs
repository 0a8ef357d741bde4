//! A row asks a guard that is not declared.
//! expect: no variant or associated item named `Sunshine` found for enum `Guard` in the current scope

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
        Open => Closed on [Go] by [System] when [Sunshine] because ["run.closed.*"];
    }
    reasons {
        "run.closed.ok": "It ended well.";
    }
}
