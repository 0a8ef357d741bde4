//! When silence, age and lateness turn into something worth saying.

use std::time::Duration;

use callboard_lifecycle::words;

words! {
    /// What sort of run it is; long work may be silent for longer.
    pub enum RunClass is "run class" {
        /// One agent.
        Agent = "agent",
        /// One play.
        Play = "play",
        /// Several agents in a flow.
        Flow = "flow",
        /// Several agents side by side.
        Fanout = "fanout",
        /// A play of a show.
        ShowPlay = "show-play",
        /// A long-lived engine.
        Engine = "engine",
        /// Anything else.
        Other = "other",
    }
}

const HOUR: Duration = Duration::from_secs(60 * 60);

/// When something becomes worth saying; every bound is strict, but for those of workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thresholds {
    /// Silent for longer: idle.
    pub idle: Duration,
    /// At work for longer: slow, which is worth knowing and no fault.
    pub slow: Duration,
    /// Active, and without a new result for longer: stuck, which is a stall.
    pub stuck: Duration,
    /// Silent for longer: stalled. One agent or play.
    pub stalled: Duration,
    /// Silent for longer: stalled. Several agents together, which wait for each other.
    pub stalled_many: Duration,
    /// Failing again and again, this many times in a row: degraded.
    pub errors_in_row: u32,
    /// Recorded and not started for longer: stalled.
    pub pending: Duration,
    /// A time that passed by more than this without a firing: misfired.
    pub misfire: Duration,
    /// Joined or claimed, and not begun for so long: a worker that does not come up.
    pub spawn: Duration,
    /// Without a heartbeat for so long: a worker that has stalled.
    pub silent_worker: Duration,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            idle: HOUR,
            slow: HOUR,
            stuck: HOUR,
            stalled: HOUR * 6,
            stalled_many: HOUR * 12,
            errors_in_row: 3,
            pending: Duration::from_secs(60),
            misfire: Duration::from_secs(60),
            spawn: Duration::from_secs(60),
            silent_worker: Duration::from_secs(300),
        }
    }
}

impl Thresholds {
    /// How long a run of this class may be silent before it stalls.
    pub const fn stalled_for(&self, class: RunClass) -> Duration {
        match class {
            RunClass::Agent | RunClass::Play | RunClass::Other => self.stalled,
            RunClass::Flow | RunClass::Fanout | RunClass::ShowPlay | RunClass::Engine => self.stalled_many,
        }
    }
}
