//! A state requires a fact that nobody registered.
//! expect: machine session: a state requires an unregistered fact: moon_phase

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
    requires { Closed: "moon_phase"; }
    reasons { "run.closed.ok": "It ended well."; }
}
