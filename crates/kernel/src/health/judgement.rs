//! A judgement: the health and why.

use callboard_lifecycle::claim::ClaimStatus;
use callboard_lifecycle::{Health, ReasonCode};

use crate::reason::{EvidenceRef, StateReason};

/// A health value and the reasons for it; none where nothing needs explaining.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// The health.
    pub health: Health,
    /// Why, with what was seen as evidence.
    pub reasons: Vec<StateReason>,
    /// What is shown instead of the health's own label, where that says too little: `Retrying (9, 401)`.
    pub shown: Option<String>,
}

impl Judgement {
    /// A health that explains itself.
    pub(super) const fn plain(health: Health) -> Self {
        Self { health, reasons: Vec::new(), shown: None }
    }

    /// A health with a registered reason and what was seen.
    pub(super) fn because(
        health: Health,
        code: ReasonCode,
        message: impl Into<String>,
        seen: impl Into<String>,
    ) -> Self {
        let reason = StateReason::new(code, message).shown_by(EvidenceRef::tool_result(seen));
        Self { health, reasons: vec![reason], shown: None }
    }

    /// The same, shown with a label of its own.
    pub(super) fn shown(self, label: String) -> Self {
        Self { shown: Some(label), ..self }
    }

    /// The same, if what was seen had to be interpreted.
    pub(super) fn inferred(mut self) -> Self {
        for reason in &mut self.reasons {
            reason.claim_status = ClaimStatus::Inferred;
        }
        self
    }
}
