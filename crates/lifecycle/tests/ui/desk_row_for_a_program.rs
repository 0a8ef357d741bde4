//! A row of the approval desk lists a program.
//! expect: machine session: a desk row that a program may take: closed -> open

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
        /// It goes back.
        Back = "back",
    }
    start [Open];
    ends [Closed];
    rows {
        Open => Closed on [Go] by [System] because ["run.closed.*"];
    }
    desk {
        Closed => Open on [Back] by [Operator, System];
    }
    reasons {
        "run.closed.ok": "It ended well.";
        "run.open.again": "It begins anew.";
    }
}
