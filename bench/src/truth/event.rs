//! What is done to a run, and how each surface tells it.

use serde_json::Value;

/// One thing that is done to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    Exits,
    Fails,
    CommandKilled,
    SupervisorKilled,
    BothKilled,
    StopAsked,
    Paused,
    Continued,
}

impl Event {
    pub(super) const ALL: [Self; 8] = [
        Self::Exits,
        Self::Fails,
        Self::CommandKilled,
        Self::SupervisorKilled,
        Self::BothKilled,
        Self::StopAsked,
        Self::Paused,
        Self::Continued,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Exits => "the command exits with 0",
            Self::Fails => "the command exits with 3",
            Self::CommandKilled => "the command is killed",
            Self::SupervisorKilled => "the supervisor is killed",
            Self::BothKilled => "supervisor and command are killed",
            Self::StopAsked => "a stop is asked for",
            Self::Paused => "the command is stopped (SIGSTOP)",
            Self::Continued => "the command is continued (SIGCONT)",
        }
    }

    /// Does what happened need somebody, so that it is in the list of attention?
    pub(super) const fn is_urgent(self) -> bool {
        match self {
            Self::Fails | Self::CommandKilled | Self::SupervisorKilled | Self::BothKilled => true,
            Self::Exits | Self::StopAsked | Self::Paused | Self::Continued => false,
        }
    }

    /// Does a view tell it? `before` is the chain from before it happened.
    pub(super) fn is_told(self, view: &Value, before: &str) -> bool {
        let is = |state: &str| view["state"]["lifecycle"] == state;
        match self {
            Self::Exits => is("completed"),
            Self::Fails | Self::CommandKilled => is("failed"),
            Self::SupervisorKilled | Self::BothKilled | Self::StopAsked | Self::Paused | Self::Continued => {
                view["chain"] != before
            }
        }
    }

    /// Does a record of the run tell it?
    pub(super) fn is_recorded(self, record: &Value) -> bool {
        let moved = record["from"] != record["to"];
        match self {
            Self::Exits => record["to"] == "completed",
            Self::Fails | Self::CommandKilled => record["to"] == "failed",
            Self::SupervisorKilled | Self::BothKilled => moved,
            // The first thing that is recorded is the wish.
            Self::StopAsked => true,
            Self::Paused | Self::Continued => !record["data"]["is_stopped"].is_null(),
        }
    }
}
