//! A state leads nowhere and is not an end.
//! expect: machine session: a state that cannot reach an end: stuck

callboard_lifecycle::machine! {
    /// Something that ends.
    Session "ses" as "run" with "run" reasons;
    nature Ending;
    states State is "state" in "state" {
        /// It waits.
        Open = "open" ("Open", Neutral, Clock),
        /// Nothing leads out.
        Stuck = "stuck" ("Stuck", Warning, Blocked),
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
        Open => Stuck on [Go] by [System];
    }
    reasons {
        "run.closed.ok": "It ended well.";
        "run.stuck.lost": "It lost its way.";
    }
}
