//! The table: every group of situations, and the mutant that shows that its rows can fail.

mod ends;
mod supervision;
mod work;

use super::row::Row;

/// Situations of one kind.
pub(crate) struct Group {
    pub(crate) name: &'static str,
    /// Safeguards whose removal makes at least one of its rows fail.
    pub(crate) mutants: &'static [&'static str],
    pub(crate) rows: fn() -> Vec<Row>,
}

pub(crate) const GROUPS: &[Group] = &[
    Group { name: "exits", mutants: &["wait_status"], rows: ends::exits::rows },
    Group { name: "signals", mutants: &["wait_status"], rows: ends::signals::rows },
    Group { name: "clocks", mutants: &["whose_doing"], rows: ends::clocks::rows },
    Group { name: "stops", mutants: &["whose_doing"], rows: ends::stops::rows },
    Group { name: "keys", mutants: &["whose_doing"], rows: ends::keys::rows },
    Group { name: "supervisors", mutants: &["see_the_dead"], rows: supervision::supervisors::rows },
    Group { name: "still", mutants: &["gap_is_noticed"], rows: supervision::still::rows },
    Group { name: "paused", mutants: &["pause_is_seen"], rows: supervision::paused::rows },
    Group { name: "namespaces", mutants: &["namespaces"], rows: supervision::namespaces::rows },
    Group { name: "nested", mutants: &["stop_of_the_parent"], rows: supervision::nested::rows },
    Group { name: "waits", mutants: &["first_failure_wins"], rows: ends::waits::rows },
    Group { name: "agents", mutants: &["agents_own_end"], rows: work::agents::rows },
    Group { name: "talk", mutants: &["agents_conditions"], rows: work::talk::rows },
    Group { name: "hands", mutants: &["kill_is_confirmed"], rows: ends::hands::rows },
    Group { name: "starts", mutants: &["why_not_started"], rows: supervision::starts::rows },
    Group { name: "artifacts", mutants: &["written_by_the_run"], rows: work::artifacts::rows },
    Group { name: "memory", mutants: &["oom_of_the_command"], rows: ends::memory::rows },
    Group { name: "output", mutants: &["follow_reader"], rows: work::output::rows },
    Group { name: "store", mutants: &["ends_are_kept"], rows: work::store::rows },
];

/// Every mutant of every group, once.
pub(crate) const MUTANTS: &[&str] = &[
    "wait_status",
    "whose_doing",
    "see_the_dead",
    "gap_is_noticed",
    "pause_is_seen",
    "namespaces",
    "stop_of_the_parent",
    "first_failure_wins",
    "agents_own_end",
    "agents_conditions",
    "kill_is_confirmed",
    "why_not_started",
    "written_by_the_run",
    "oom_of_the_command",
    "follow_reader",
    "ends_are_kept",
];
