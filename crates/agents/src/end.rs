//! How an agent says it ended.
//!
//! Invariant: an end is read from an event that means an end, or from an exit code the vendor documents; never from
//! silence, a closed stream or the last text. A word the vendor added later means failure with the word kept, because
//! a word nobody knows must not pass for success.

use serde::Serialize;

/// The agent's own account of its end.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum AgentEnd {
    /// It reached an answer.
    Completed {
        /// Whether the model's output limit cut the answer.
        truncated: bool,
    },
    /// Useful text came, then it failed.
    PartialFailed(Failure),
    /// It failed without useful text.
    Failed(Failure),
    /// Somebody broke it off, or it was put aside unfinished.
    Interrupted {
        /// The vendor's word for it.
        vendor: String,
    },
}

/// Why an agent failed.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Failure {
    /// What kind of failure it was.
    pub cause: Cause,
    /// What the agent said about it, cut to a bound.
    pub message: Option<String>,
    /// The vendor's word for it.
    pub vendor: String,
}

/// The kinds of failures.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Cause {
    /// The model or a filter would not answer.
    Refusal,
    /// The model's provider failed.
    Provider {
        /// Whether the same request may work later.
        retryable: bool,
    },
    /// The model's output limit cut the answer.
    OutputLimit,
    /// The provider's stream broke off before the answer was whole.
    CutStream,
    /// It used up the turns it was given.
    MaxTurns,
    /// It used up the money it was given.
    Budget,
    /// The prompt is longer than the model's window.
    ContextLimit,
    /// It has no login, or one that is not accepted.
    Login,
    /// It could not begin: settings, sandbox, folder.
    Startup,
    /// A tool broke it.
    Tool,
    /// It ended with a word that is not known here.
    UnknownEnd,
    /// It failed for another reason.
    Other,
}

impl AgentEnd {
    /// Whether it reached an answer.
    pub const fn is_success(&self) -> bool {
        matches!(self, Self::Completed { .. })
    }

    /// The failure, if it is one.
    pub const fn failure(&self) -> Option<&Failure> {
        match self {
            Self::PartialFailed(failure) | Self::Failed(failure) => Some(failure),
            Self::Completed { .. } | Self::Interrupted { .. } => None,
        }
    }
}

impl Cause {
    /// Whether text that came before still counts: a refusal takes it back, and who never began said nothing.
    pub(crate) const fn leaves_text(self) -> bool {
        !matches!(self, Self::Refusal | Self::Startup | Self::Login)
    }

    /// A few words for a sentence.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Refusal => "the model refused",
            Self::Provider { retryable: true } => "the provider failed, and a later try may work",
            Self::Provider { retryable: false } => "the provider failed",
            Self::OutputLimit => "the model's output limit cut the answer",
            Self::CutStream => "the provider's stream broke off",
            Self::MaxTurns => "its turns were used up",
            Self::Budget => "its budget was used up",
            Self::ContextLimit => "the prompt is too long for the model",
            Self::Login => "it is not logged in",
            Self::Startup => "it could not begin",
            Self::Tool => "a tool broke it",
            Self::UnknownEnd => "it ended for a reason that callboard does not know",
            Self::Other => "it failed",
        }
    }
}
