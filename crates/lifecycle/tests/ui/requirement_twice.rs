//! A state lists the facts it requires twice.
//! expect: machine session: two lists of required facts for closed

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
        Open => Closed on [Go] by [System] because ["run.closed.*"];
    }
    requires { Closed: "pid"; Closed: "summary"; }
    reasons { "run.closed.ok": "It ended well."; }
}
