//! The stages of a run, from free to gone. The watching loop moves between them; only here is said what each waits for.

use std::time::Duration;

/// Where a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// It does what it does.
    Free,
    /// It was asked to end; KILL follows at this moment.
    Polite {
        /// When, from the start of the run.
        kill_at: Duration,
    },
    /// The main process has ended by itself, and somebody outlives it, or holds its output; they may until this moment.
    Lingering {
        /// Until when, from the start of the run.
        until: Duration,
    },
    /// Those who outlived it were asked to end; KILL follows at this moment.
    Parting {
        /// When, from the start of the run.
        kill_at: Duration,
    },
    /// KILL was sent; who is there after this moment is reported as left.
    Killed {
        /// Until when, from the start of the run.
        give_up: Duration,
    },
    /// Nobody is waited for.
    Over,
}

impl Stage {
    /// The moment at which the stage ends by itself.
    pub(crate) const fn deadline(self) -> Option<Duration> {
        match self {
            Self::Free | Self::Over => None,
            Self::Polite { kill_at } | Self::Parting { kill_at } => Some(kill_at),
            Self::Lingering { until } => Some(until),
            Self::Killed { give_up } => Some(give_up),
        }
    }
}

/// How long a KILL may take until it counts as not confirmed.
pub(crate) const CONFIRM: Duration = Duration::from_secs(5);
