//! A perpetual machine has a state that nothing leaves.
//! expect: machine session: a perpetual machine with a dead end: closed

callboard_lifecycle::machine! {
    /// Something that ends.
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
    ends [];
    rows {
        Open => Closed on [Go] by [System] because ["run.closed.*"];
    }
    reasons { "run.closed.ok": "It ended well."; }
}
