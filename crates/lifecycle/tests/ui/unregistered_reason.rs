//! A row names a reason that nobody registered.
//! expect: machine session: a row names an unregistered reason: open -> closed: run.closed.late

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
        Open => Closed on [Go] by [System] because ["run.closed.late"];
    }
    reasons { "run.closed.ok": "It ended well."; }
}
