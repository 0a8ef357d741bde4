//! The visual state of a worker: whether it starts, works, stalls, hands in its work, waits or is gone.
//!
//! Invariant: derived when it is read, never stored. A worker whose process is seen to be gone is dead, whatever is recorded; one
//! whose process cannot be seen is judged by its lease, and without a lease it is unknown. Deliberately absent: looking at processes and
//! leases, which come in as values.

use std::time::Duration;

use callboard_lifecycle::worker::WorkerState;
use callboard_lifecycle::{Token, words};

use super::process::{Hold, Liveness, Vantage};
use super::session::told;
use super::thresholds::Thresholds;

words! {
    /// How a worker is shown.
    pub enum WorkerVisual is "visual state" {
        /// It has joined, or claimed its first task, and has not begun to work.
        Spawning = "spawning",
        /// At work on a task whose lease is in force.
        Running = "running",
        /// It has a task and shows no sign of life, or its process is held.
        Stalled = "stalled",
        /// Its work is being verified or merged.
        Merging = "merging",
        /// Its process is gone.
        Dead = "dead",
        /// Ready for another task.
        Idle = "idle",
        /// It cannot be told from here.
        Unknown = "unknown",
    }
}

impl WorkerVisual {
    /// One character of width one that stands for it.
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

    /// What people read.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Spawning => "Spawning",
            Self::Running => "Running",
            Self::Stalled => "Stalled",
            Self::Merging => "Merging",
            Self::Dead => "Dead",
            Self::Idle => "Idle",
            Self::Unknown => "Unknown",
        }
    }

    /// The colour.
    pub const fn token(self) -> Token {
        match self {
            Self::Spawning => Token::Warning,
            Self::Running => Token::Success,
            Self::Stalled => Token::Stale,
            Self::Merging => Token::Running,
            Self::Dead => Token::Error,
            Self::Idle | Self::Unknown => Token::Neutral,
        }
    }
}

/// What a look showed of the process of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerProcess {
    /// None is recorded: somebody works by hand.
    NotRecorded,
    /// It is alive.
    Alive,
    /// It is alive, and held.
    Held(Hold),
    /// It is gone.
    Gone,
    /// It cannot be seen from here.
    Unseen(Vantage),
}

impl WorkerProcess {
    /// What a look says of a recorded process.
    pub fn seen(liveness: Liveness, vantage: Vantage, hold: Option<Hold>) -> Self {
        match (liveness, hold) {
            (Liveness::Alive, None) => Self::Alive,
            (Liveness::Alive, Some(hold)) => Self::Held(hold),
            (Liveness::Dead, _) => Self::Gone,
            (Liveness::Unknown, _) => Self::Unseen(vantage),
        }
    }
}

/// How a worker stands to the task that it claimed last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grip {
    /// It has none.
    NoTask,
    /// Its lease is in force.
    Leased,
    /// It has a task, and the lease is over or somebody else's.
    LeaseOver,
    /// It reported the task as done, which is being verified or merged.
    HandedIn,
}

/// What is known of a worker at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerFacts {
    /// Where its machine stands; nothing if this program does not know the state.
    pub state: Option<WorkerState>,
    /// Its process.
    pub process: WorkerProcess,
    /// Its task.
    pub grip: Grip,
    /// How long ago it joined, or claimed the task that it has not begun.
    pub spawning_for: Duration,
    /// How long ago its lease was renewed; nothing if it has none.
    pub silent_for: Option<Duration>,
}

/// How a worker is shown, and why, in one sentence.
pub fn judge_worker(facts: &WorkerFacts, thresholds: &Thresholds) -> (WorkerVisual, String) {
    use WorkerVisual::{Dead, Merging, Stalled, Unknown};
    let Some(state) = facts.state else {
        return (Unknown, "its state is not known to this program".to_owned());
    };
    match (state, facts.process, facts.grip) {
        (WorkerState::Dead, ..) => (Dead, "its end is recorded".to_owned()),
        (_, WorkerProcess::Gone, _) => {
            (Dead, "its process is gone, and its end is not recorded yet".to_owned())
        }
        (_, WorkerProcess::Held(hold), _) => {
            (Stalled, format!("its process is held: {}", told(Some(hold)).1))
        }
        (_, _, Grip::HandedIn) => (Merging, "the task that it did is being verified or merged".to_owned()),
        (WorkerState::Starting | WorkerState::Working, _, Grip::LeaseOver) => {
            (Stalled, "it has a task, and the lease is over".to_owned())
        }
        (WorkerState::Starting, ..) => starting(facts, thresholds.spawn),
        (WorkerState::Working, ..) => working(facts, thresholds.silent_worker),
        (WorkerState::Idle, ..) => idle(facts),
    }
}

/// A worker that has not begun its first task.
fn starting(facts: &WorkerFacts, bound: Duration) -> (WorkerVisual, String) {
    use WorkerVisual::{Dead, Idle, Spawning, Stalled, Unknown};
    if facts.spawning_for < bound {
        let why = match facts.grip {
            Grip::Leased => "it claimed a task and is about to begin",
            Grip::NoTask | Grip::LeaseOver | Grip::HandedIn => "it has joined and has no task yet",
        };
        return (Spawning, why.to_owned());
    }
    match (facts.process, facts.grip) {
        (_, Grip::Leased) => (Stalled, format!("it did not begin its task within {} s", bound.as_secs())),
        (WorkerProcess::Alive, _) => (Idle, "it waits for its first task".to_owned()),
        (WorkerProcess::Unseen(from), _) => (Unknown, unseen(from)),
        (WorkerProcess::NotRecorded | WorkerProcess::Held(_) | WorkerProcess::Gone, _) => {
            (Dead, format!("it did not begin a task within {} s, and has no process", bound.as_secs()))
        }
    }
}

fn working(facts: &WorkerFacts, bound: Duration) -> (WorkerVisual, String) {
    use WorkerVisual::{Running, Stalled, Unknown};
    match (facts.grip, facts.process) {
        // A person says nothing for as long as the lease allows.
        (Grip::Leased, WorkerProcess::NotRecorded) => (Running, "its lease is in force".to_owned()),
        (Grip::Leased, _) if facts.silent_for.is_some_and(|silent| silent >= bound) => {
            (Stalled, format!("it sent no heartbeat for {} s", bound.as_secs()))
        }
        (Grip::Leased, WorkerProcess::Unseen(_)) => {
            (Running, "it sends heartbeats; its process cannot be seen from here".to_owned())
        }
        (Grip::Leased, WorkerProcess::Alive | WorkerProcess::Held(_) | WorkerProcess::Gone) => {
            (Running, "its process is alive and sends heartbeats".to_owned())
        }
        (Grip::NoTask | Grip::LeaseOver | Grip::HandedIn, _) => {
            (Unknown, "it is recorded as working, and no task is recorded for it".to_owned())
        }
    }
}

fn idle(facts: &WorkerFacts) -> (WorkerVisual, String) {
    use WorkerVisual::{Idle, Unknown};
    match (facts.grip, facts.process) {
        (Grip::Leased | Grip::LeaseOver, _) => {
            (Unknown, "it is recorded as idle, and a task is recorded for it".to_owned())
        }
        (Grip::NoTask | Grip::HandedIn, WorkerProcess::Unseen(from)) => (Unknown, unseen(from)),
        (
            Grip::NoTask | Grip::HandedIn,
            WorkerProcess::NotRecorded | WorkerProcess::Alive | WorkerProcess::Held(_) | WorkerProcess::Gone,
        ) => (Idle, "it is ready for another task".to_owned()),
    }
}

fn unseen(from: Vantage) -> String {
    let obstacle = from.obstacle().unwrap_or("the process table cannot be read");
    format!("it holds no lease, and {obstacle}")
}

#[cfg(test)]
mod tests {
    use callboard_lifecycle::Words;

    use super::*;

    const STATES: [Option<WorkerState>; 5] = [
        None,
        Some(WorkerState::Starting),
        Some(WorkerState::Working),
        Some(WorkerState::Idle),
        Some(WorkerState::Dead),
    ];
    const PROCESSES: [WorkerProcess; 5] = [
        WorkerProcess::NotRecorded,
        WorkerProcess::Alive,
        WorkerProcess::Held(Hold::Signal),
        WorkerProcess::Gone,
        WorkerProcess::Unseen(Vantage::OtherMachine),
    ];
    const GRIPS: [Grip; 4] = [Grip::NoTask, Grip::Leased, Grip::LeaseOver, Grip::HandedIn];

    /// The visual state of every combination: a line for each state, process and age, a letter for each grip in the order of `GRIPS`.
    /// S spawning, R running, T stalled, M merging, D dead, I idle, U unknown.
    const TABLE: &str = "
        unknown:  none UUUU UUUU  alive UUUU UUUU  held UUUU UUUU  gone UUUU UUUU  unseen UUUU UUUU
        starting: none SSTM DTTM  alive SSTM ITTM  held TTTT TTTT  gone DDDD DDDD  unseen SSTM UTTM
        working:  none URTM URTM  alive URTM UTTM  held TTTT TTTT  gone DDDD DDDD  unseen URTM UTTM
        idle:     none IUUM IUUM  alive IUUM IUUM  held TTTT TTTT  gone DDDD DDDD  unseen UUUM UUUM
        dead:     none DDDD DDDD  alive DDDD DDDD  held DDDD DDDD  gone DDDD DDDD  unseen DDDD DDDD";

    const fn letter(visual: WorkerVisual) -> char {
        match visual {
            WorkerVisual::Spawning => 'S',
            WorkerVisual::Running => 'R',
            WorkerVisual::Stalled => 'T',
            WorkerVisual::Merging => 'M',
            WorkerVisual::Dead => 'D',
            WorkerVisual::Idle => 'I',
            WorkerVisual::Unknown => 'U',
        }
    }

    #[test]
    fn every_combination_has_the_visual_state_of_the_table() {
        let thresholds = Thresholds::default();
        let mut drawn = String::new();
        let mut seen = std::collections::BTreeSet::new();
        for (state, name) in STATES.into_iter().zip(["unknown", "starting", "working", "idle", "dead"]) {
            drawn += &format!("\n        {:10}", format!("{name}:"));
            let mut cells = Vec::new();
            for (process, name) in PROCESSES.into_iter().zip(["none", "alive", "held", "gone", "unseen"]) {
                let mut cell = name.to_owned();
                for is_old in [false, true] {
                    cell.push(' ');
                    for grip in GRIPS {
                        let (spawn, silent) = (thresholds.spawn, thresholds.silent_worker);
                        let short = |bound: Duration| bound - Duration::from_millis(1);
                        let facts = WorkerFacts {
                            state,
                            process,
                            grip,
                            spawning_for: if is_old { spawn } else { short(spawn) },
                            silent_for: Some(if is_old { silent } else { short(silent) }),
                        };
                        let (visual, why) = judge_worker(&facts, &thresholds);
                        assert!(!why.is_empty() && !why.ends_with('.'), "{facts:?}: {why}");
                        seen.insert(visual);
                        cell.push(letter(visual));
                    }
                }
                cells.push(cell);
            }
            drawn += &cells.join("  ");
        }
        assert_eq!(drawn, TABLE, "{drawn}");
        assert_eq!(seen.len(), WorkerVisual::ALL.len(), "every visual state is reached");
    }

    #[test]
    fn each_has_an_indicator_of_its_own() {
        let all: String = WorkerVisual::ALL.iter().map(|visual| visual.indicator()).collect();
        assert_eq!(all, "◔●◐⇄○□◌");
        for visual in WorkerVisual::ALL {
            assert_eq!(visual.label().to_lowercase(), visual.name());
        }
    }
}
