//! Two triggers have one name.
//! expect: machine session: two triggers are called go

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
        /// It goes on too.
        Onward = "go",
    }
    start [Open];
    ends [Closed];
    rows {
        Open => Closed on [Go, Onward] by [System] because ["run.closed.*"];
    }
    reasons { "run.closed.ok": "It ended well."; }
}
