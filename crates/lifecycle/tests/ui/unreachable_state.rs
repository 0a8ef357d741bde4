//! No row leads to a state that is not a start.
//! expect: machine session: unreachable state lost

callboard_lifecycle::machine! {
    /// Something that ends.
    Session "ses" as "run" with "run" reasons;
    nature Ending;
    states State is "state" in "state" {
        /// It waits.
        Open = "open" ("Open", Neutral, Clock),
        /// Nobody comes here.
        Lost = "lost" ("Lost", Stale, Unlink),
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
        Lost => Closed on [Go] by [System] because ["run.closed.*"];
    }
    reasons { "run.closed.ok": "It ended well."; }
}
