//! A supervisor may take a row only while no supervisor is alive.
//! expect: machine session: a guard that never holds for one who may take the row: open -> closed: no_living_supervisor

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
        Open => Closed on [Go] by [System, Supervisor] when [NoLivingSupervisor] because ["run.closed.*"];
    }
    reasons {
        "run.closed.ok": "It ended well.";
    }
}
