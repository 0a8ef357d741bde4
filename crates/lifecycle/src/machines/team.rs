//! The team machine: agents that share a mailbox.

use crate::machine;

machine! {
    /// Agents that share a mailbox.
    Team "tea" as "team" with "team" reasons;
    nature Ending;
    health [Ok, Orphaned];

    states TeamState is "team state" in "team" {
        /// At least one member is at work.
        Active = "active" ("Active", Running, Activity),
        /// Nobody has anything to do.
        Idle = "idle" ("Idle", Neutral, Pause),
        /// Nobody can go on.
        Blocked = "blocked" ("Blocked", Warning, Blocked),
        /// Dissolved.
        Closed = "closed" ("Closed", Neutral, Archive),
    }
    old names { "archived" => Closed }
    triggers TeamTrigger is "team trigger" {
        /// A member took up work.
        WorkTaken = "work_taken",
        /// The last member finished.
        WorkDone = "work_done",
        /// Every member waits for something outside.
        AllWaiting = "all_waiting",
        /// Somebody dissolved it, or its owner ended.
        Dissolved = "dissolved",
    }

    start [Active];
    ends [Closed];
    blocked [Blocked];

    rows {
        Active  => Idle    on [WorkDone]   by [System, Agent];
        Active  => Blocked on [AllWaiting] by [System, Agent];
        Active  => Closed  on [Dissolved]  by [Operator, System] because ["team.closed.*"];
        Idle    => Active  on [WorkTaken]  by [System, Agent];
        Idle    => Blocked on [AllWaiting] by [System, Agent];
        Idle    => Closed  on [Dissolved]  by [Operator, System] because ["team.closed.*"];
        Blocked => Active  on [WorkTaken]  by [Operator, System, Agent];
        Blocked => Idle    on [WorkDone]   by [Operator, System, Agent];
        Blocked => Closed  on [Dissolved]  by [Operator, System] because ["team.closed.*"];
    }

    reasons {
        "team.active.work_taken": "A member took up work.";
        "team.idle.work_done": "Nobody has anything to do.";
        "team.blocked.all_waiting": "Every member waits for something outside.";
        "team.closed.operator" was ["team.archived.operator"] by choice: "An operator dissolved it.";
        "team.closed.owner_ended": "The show or play it belonged to ended.";
        "team.health.orphaned": "What it belonged to has ended and the team has not.";
    }
}
