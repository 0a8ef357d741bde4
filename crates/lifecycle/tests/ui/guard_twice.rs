//! A row asks the same guard twice.
//! expect: machine session: a guard that is asked twice: open -> closed: no_living_supervisor

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
        Open => Closed on [Go] by [System] when [NoLivingSupervisor, NoLivingSupervisor] because ["run.closed.*"];
    }
    reasons {
        "run.closed.ok": "It ended well.";
    }
}
