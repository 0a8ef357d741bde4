//! The schedule machine: work that starts by clock or event.

use crate::machine;

machine! {
    /// Work that starts by clock or event.
    Schedule "sch" as "schedule" with "schedule" reasons;
    nature Perpetual;
    health [Ok, Due, Running, Misfired];
    delivery [Passed, Partial, Missing, Invalid, NotExpected];

    states ScheduleState is "schedule state" in "schedule" {
        /// It fires when its time comes.
        Enabled = "enabled" ("Enabled", Success, Clock),
        /// Held for a while; missed times are not made up.
        Paused = "paused" ("Paused", Neutral, Pause),
        /// Switched off until somebody switches it on.
        Disabled = "disabled" ("Disabled", Neutral, Slash),
    }
    old names { "archived" => Disabled, "deleted" => Disabled }
    triggers ScheduleTrigger is "schedule trigger" {
        /// Somebody or a rule switched it on.
        SwitchedOn = "switched_on",
        /// Somebody holds it for a while.
        Held = "held",
        /// Somebody or a rule switched it off.
        SwitchedOff = "switched_off",
    }

    start [Enabled];
    ends [];

    rows {
        Enabled  => Paused   on [Held]        by [Operator, System];
        Enabled  => Disabled on [SwitchedOff] by [Operator, System];
        Paused   => Enabled  on [SwitchedOn]  by [Operator, System];
        Paused   => Disabled on [SwitchedOff] by [Operator, System];
        Disabled => Enabled  on [SwitchedOn]  by [Operator];
    }

    reasons {
        "schedule.enabled.operator" by choice: "An operator switched it on.";
        "schedule.enabled.resumed": "The pause is over.";
        "schedule.paused.operator" by choice: "An operator holds it.";
        "schedule.paused.failures": "It failed too often in a row and is held.";
        "schedule.disabled.operator" was ["schedule_definition.disabled.manual", "schedule.archived.operator"] by choice: "An operator switched it off.";
        "schedule.disabled.max_runs" was ["schedule_definition.disabled.max_runs"]: "It has run as often as it should.";
        "schedule.disabled.budget" was ["schedule.budget.exhausted", "schedule_definition.disabled.budget_exhausted"]: "Its budget is used up.";
        "schedule.disabled.policy": "A rule switched it off.";
        "schedule.fired.due": "Its time came and it fired.";
        "schedule.skipped.overlap": "The last firing still runs.";
        "schedule.skipped.missed_fire": "Its time passed while nobody watched.";
        "schedule.skipped.precondition": "Its condition did not hold.";
        "schedule.health.due": "Its time has come.";
        "schedule.health.misfired": "Its time passed and nothing fired.";
    }
}
