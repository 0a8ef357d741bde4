//! The seven visual states of a worker, for a look that takes half a second.
//!
//! Invariant: derived from the worker's state and what is recorded of its process; never stored, and never the basis
//! of a decision. The bounds are inclusive: at exactly 60 s a spawn has timed out, at exactly 5 minutes it stalls.

use std::time::Duration;

use callboard_lifecycle::vocabulary;
use callboard_lifecycle::worker::WorkerState;

use crate::moment::Moment;

vocabulary! {
    /// What a worker looks like at a glance.
    pub enum VisualState is "visual state" in "visual" {
        /// Its process is launching.
        Spawning = "spawning" ("Spawning", Warning, Clock),
        /// At work, with a recent heartbeat.
        Running = "running" ("Running", Success, Activity),
        /// At work by its own account, without a heartbeat for too long.
        Stalled = "stalled" ("Stalled", Stale, Half),
        /// Committing, pushing or merging.
        Merging = "merging" ("Merging", Running, Merge),
        /// Ended, or never came up.
        Dead = "dead" ("Dead", Error, Unlink),
        /// Ready for a task.
        Idle = "idle" ("Idle", Neutral, Archive),
        /// What is recorded does not fit together.
        Unknown = "unknown" ("Unknown", Neutral, Question),
    }
}

impl VisualState {
    /// The indicator that people of this field know it by.
    pub const fn indicator(self) -> char {
        match self {
            Self::Spawning => '◔',
            Self::Running => '●',
            Self::Stalled => '◐',
            Self::Merging => '⇄',
            Self::Dead => '○',
            Self::Idle => '□',
            Self::Unknown => '◌',
        }
    }
}

/// What is recorded of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VisualFacts {
    /// Its state, if what was recorded is one.
    pub state: Option<WorkerState>,
    /// When it was spawned.
    pub spawned_at: Option<Moment>,
    /// Its last heartbeat.
    pub heartbeat_at: Option<Moment>,
    /// Does it say that it is committing, pushing or merging?
    pub merging: bool,
}

/// When a look turns worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VisualThresholds {
    /// Without a heartbeat for this long it stalls.
    pub stall: Duration,
    /// Not up after this long it is dead.
    pub spawn: Duration,
}

impl Default for VisualThresholds {
    fn default() -> Self {
        Self { stall: Duration::from_secs(300), spawn: Duration::from_secs(60) }
    }
}

/// What a worker looks like now.
pub fn visual_state(facts: &VisualFacts, thresholds: &VisualThresholds, now: Moment) -> VisualState {
    match (facts.state, facts.spawned_at, facts.heartbeat_at) {
        (Some(WorkerState::Starting), Some(spawned), _) => {
            if now.since(spawned) < thresholds.spawn {
                VisualState::Spawning
            } else {
                VisualState::Dead
            }
        }
        (Some(WorkerState::Working), _, Some(heartbeat)) => {
            if facts.merging {
                VisualState::Merging
            } else if now.since(heartbeat) < thresholds.stall {
                VisualState::Running
            } else {
                VisualState::Stalled
            }
        }
        (Some(WorkerState::Idle), _, _) => VisualState::Idle,
        (Some(WorkerState::Dead), _, _) => VisualState::Dead,
        (Some(WorkerState::Starting), None, _) | (Some(WorkerState::Working), _, None) | (None, _, _) => {
            VisualState::Unknown
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_of_the_mapping_holds_at_its_bounds() {
        let now = Moment::from_micros(1_000_000_000_000);
        let ago = |seconds: i64| Some(Moment::from_micros(now.as_micros() - seconds * 1_000_000));
        use VisualState::{Dead, Idle, Merging, Running, Spawning, Stalled, Unknown};
        use WorkerState as W;
        let cases = [
            (Some(W::Starting), ago(59), None, false, Spawning),
            (Some(W::Starting), ago(60), None, false, Dead),
            (Some(W::Starting), None, None, false, Unknown),
            (Some(W::Working), ago(900), ago(299), false, Running),
            (Some(W::Working), ago(900), ago(300), false, Stalled),
            (Some(W::Working), ago(900), ago(10), true, Merging),
            (Some(W::Working), ago(900), None, false, Unknown),
            (Some(W::Idle), ago(900), ago(800), false, Idle),
            (Some(W::Dead), ago(900), ago(10), true, Dead),
            (None, ago(1), ago(1), false, Unknown),
        ];
        for (state, spawned_at, heartbeat_at, merging, expected) in cases {
            let facts = VisualFacts { state, spawned_at, heartbeat_at, merging };
            assert_eq!(visual_state(&facts, &VisualThresholds::default(), now), expected, "{facts:?}");
        }
    }
}
