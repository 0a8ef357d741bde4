//! A row asks a guard that only runs can answer.
//! expect: machine task: a guard that cannot be asked of this kind: open -> closed: no_living_supervisor

callboard_lifecycle::machine! {
    /// Something that ends.
    Task "tsk" as "task" with "task" reasons;
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
        Open => Closed on [Go] by [System] when [NoLivingSupervisor] because ["task.closed.*"];
    }
    reasons {
        "task.closed.ok": "It ended well.";
    }
}
