//! A row leaves the reason to its target, and the target has none.
//! expect: machine session: no reason is registered for the target: open -> busy

callboard_lifecycle::machine! {
    /// Something that ends.
    Session "ses" as "run" with "run" reasons;
    nature Ending;
    states State is "state" in "state" {
        /// It waits.
        Open = "open" ("Open", Neutral, Clock),
        /// At work.
        Busy = "busy" ("Busy", Running, Activity),
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
        Open => Busy on [Go] by [System];
        Busy => Closed on [Go] by [System] because ["run.closed.*"];
    }
    reasons { "run.closed.ok": "It ended well."; }
}
