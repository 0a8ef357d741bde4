//! One trigger leads to two places, and this machine goes where the trigger leads.
//! expect: machine session: two targets for (open, go)

callboard_lifecycle::machine! {
    /// Something that ends.
    Session "ses" as "run" with "run" reasons;
    nature ByTrigger;
    states State is "state" in "state" {
        /// It waits.
        Open = "open" ("Open", Neutral, Clock),
        /// It has ended.
        Closed = "closed" ("Closed", Success, Check),
        /// It has failed.
        Failed = "failed" ("Failed", Error, XCircle),
    }
    triggers Trigger is "trigger" {
        /// It goes on.
        Go = "go",
    }
    start [Open];
    ends [Closed, Failed];
    rows {
        Open => Closed on [Go] by [System] because ["run.closed.*"];
        Open => Failed on [Go] by [System] because ["run.failed.*"];
    }
    reasons {
        "run.closed.ok": "It ended well.";
        "run.failed.broke": "It broke.";
    }
}
