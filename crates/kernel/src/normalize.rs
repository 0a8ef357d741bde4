//! The normalized state: the one answer every surface shows.
//!
//! Invariant: severity and tone are derived here and nowhere else; a presenter that has this object needs no rule of
//! its own. Deliberately absent: the view of a kind (title, process, artifacts), which surrounds it.

use callboard_lifecycle::{
    Delivery, Health, Lifecycle, Outcome, PolicyVersion, ReasonCode, Severity, Tone, words,
};
use serde::Serialize;

use crate::moment::Moment;
use crate::phase::Phase;
use crate::reason::StateReason;
use crate::severity::{Signal, severity};

/// What is known on the three axes before severity is derived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Axes {
    /// The stored state; `None` for a row without a status.
    pub lifecycle: Option<Lifecycle>,
    /// How it ended, where that is known beside the lifecycle.
    pub outcome: Option<Outcome>,
    /// The judged health.
    pub health: Option<Health>,
    /// The verdict of the artifact contract.
    pub delivery: Option<Delivery>,
}

impl Axes {
    /// How it ended: as it is told, or as the lifecycle says.
    pub fn outcome(&self) -> Option<Outcome> {
        self.outcome.or_else(|| self.lifecycle.and_then(Lifecycle::outcome))
    }

    /// Is this a row without a status, taken over from before there were any?
    pub const fn is_legacy(&self) -> bool {
        self.lifecycle.is_none() && self.outcome.is_none() && self.health.is_none() && self.delivery.is_none()
    }

    /// Severity and tone, given the reason of the state.
    pub fn severity(&self, policy: PolicyVersion, reason: Option<ReasonCode>) -> (Severity, Tone) {
        let signal = Signal {
            need: self.lifecycle.and_then(|lifecycle| lifecycle.def().need),
            outcome: self.outcome(),
            health: self.health,
            delivery: self.delivery,
            chosen: reason.is_some_and(|code| code.def().chosen),
        };
        severity(policy, &signal)
    }
}

words! {
    /// Who evaluated a state.
    pub enum Source is "source" {
        /// The kernel.
        Backend = "backend",
        /// A client that filled in what an older server did not send.
        FrontendCompat = "frontend_compat",
    }
}

/// The state of an entity as every surface shows it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NormalizedState {
    /// The stored state: did the work finish?
    pub lifecycle: Option<Lifecycle>,
    /// How it ended, or nothing.
    pub outcome: Option<Outcome>,
    /// What a run is doing while it has not ended.
    pub phase: Option<Phase>,
    /// Is the runtime okay?
    pub health: Option<Health>,
    /// Did it produce what it promised?
    pub delivery: Option<Delivery>,
    /// Does it need somebody?
    pub severity: Severity,
    /// How its badge is coloured.
    pub tone: Tone,
    /// Why.
    pub reasons: Vec<StateReason>,
    /// When this was judged.
    pub evaluated_at: Moment,
    /// Under which policy.
    pub policy_version: PolicyVersion,
    /// By whom.
    pub source: Source,
}

/// Derives the state that is shown from what is known.
pub fn normalize(
    axes: Axes,
    reasons: Vec<StateReason>,
    policy: PolicyVersion,
    now: Moment,
) -> NormalizedState {
    let (severity, tone) = axes.severity(policy, reasons.first().map(|reason| reason.code));
    NormalizedState {
        lifecycle: axes.lifecycle,
        outcome: axes.outcome(),
        phase: None,
        health: axes.health,
        delivery: axes.delivery,
        severity,
        tone,
        reasons,
        evaluated_at: now,
        policy_version: policy,
        source: Source::Backend,
    }
}
