//! What the judge of a run is asked with.

use callboard_lifecycle::PhaseName;
use callboard_lifecycle::session::SessionState;

use crate::health::process::{Hold, Liveness, Presence};
use crate::health::thresholds::RunClass;
use crate::moment::Moment;

/// What is recorded of a run, and what a look at its processes showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionFacts {
    /// Where it stands.
    pub state: SessionState,
    /// What sort of run it is.
    pub class: RunClass,
    /// When it was recorded.
    pub created_at: Moment,
    /// When its process was started.
    pub started_at: Option<Moment>,
    /// When anything was last heard of it: bytes, pings, heartbeats.
    pub last_activity_at: Option<Moment>,
    /// When it last produced something new, where its stream tells.
    pub last_progress_at: Option<Moment>,
    /// Is the process that answers for it alive?
    pub liveness: Liveness,
    /// What else was seen of its processes.
    pub presence: Presence,
    /// The pid of its command.
    pub pid: Option<u32>,
    /// Until when its host vouches for it.
    pub lease_until: Option<Moment>,
    /// Does it have anything to show: artifacts, messages, output?
    pub has_traces: bool,
    /// Locks and processes that it left; nothing if nobody looked for them when it was ended.
    pub leftovers: Option<u32>,
    /// Processes were alive after they had been killed.
    pub kill_unconfirmed: bool,
    /// How its command ended after the log had said that the run ended.
    pub later_end: Option<String>,
    /// It completed, and somebody should know more than that.
    pub warning: Option<CompletedWith>,
    /// Failures in a row, such as a provider's refusals.
    pub errors_in_row: u32,
    /// What it waits for a person to do, where its stream tells.
    pub waits_for: Option<Since<String>>,
    /// That it waits was interpreted, and not said in as many words.
    pub waits_inferred: bool,
    /// Until when its provider lets it wait.
    pub limited_until: Option<Since<Moment>>,
    /// Its agent tries again after failures: how often, and what the last failure was.
    pub retrying: Option<(u32, Option<String>)>,
    /// Its agent repeats itself: for how many steps.
    pub looping: Option<u32>,
    /// What holds its command, as its supervisor recorded it.
    pub held: Option<Since<Option<Hold>>>,
    /// A stop that has begun.
    pub stopping: Option<Since<Stopping>>,
    /// How its command ended, read by its supervisor before the end of the run.
    pub exited: Option<Since<String>>,
    /// What its supervisor does after the command has exited.
    pub after_exit: Option<Since<PhaseName>>,
    /// When the store was restored from a backup that was made while it ran.
    pub restored_at: Option<Moment>,
}

/// Something that holds since a moment, where that is recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Since<T> {
    /// What holds.
    pub what: T,
    /// Since when.
    pub at: Option<Moment>,
}

/// What somebody should know of a run that completed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompletedWith {
    /// Its agent was not allowed to use these tools.
    Denied(String),
    /// The model's output limit cut the answer.
    CutAnswer,
}

/// A stop that has begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stopping {
    /// Why: `operator`, `deadline`, `sigint` and the like.
    pub cause: String,
    /// Who asked for it.
    pub by: Option<String>,
}

#[cfg(test)]
pub(crate) mod samples {
    use super::*;

    pub(crate) const NOW: Moment = Moment::from_micros(1_800_000_000_000_000);
    pub(crate) const MINUTE: i64 = 60;

    pub(crate) fn before(seconds: i64) -> Moment {
        Moment::from_micros(NOW.as_micros() - seconds * 1_000_000)
    }

    pub(crate) fn running() -> SessionFacts {
        SessionFacts {
            state: SessionState::Running,
            class: RunClass::Agent,
            created_at: before(31 * MINUTE),
            started_at: Some(before(30 * MINUTE)),
            last_activity_at: Some(before(5)),
            last_progress_at: None,
            liveness: Liveness::Alive,
            presence: Presence::default(),
            pid: Some(42),
            lease_until: None,
            has_traces: true,
            leftovers: Some(0),
            kill_unconfirmed: false,
            warning: None,
            later_end: None,
            errors_in_row: 0,
            waits_for: None,
            waits_inferred: false,
            limited_until: None,
            retrying: None,
            looping: None,
            held: None,
            stopping: None,
            exited: None,
            after_exit: None,
            restored_at: None,
        }
    }
}
