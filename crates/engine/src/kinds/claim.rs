//! A claim: as severe as it is unsure, whatever its outcome.

use callboard_kernel::{Confidence, Entity, claim_severity, fact};
use callboard_lifecycle::claim::ClaimStatus;
use callboard_lifecycle::{Lifecycle, Severity, Tone};

use super::rules::{KindRules, typed};

pub(super) struct Rules;

impl KindRules for Rules {
    fn severity(&self, entity: &Entity, state: Lifecycle) -> Option<(Severity, Tone)> {
        let recorded = entity.facts.read(fact::CONFIDENCE);
        let of_reason = || entity.reasons.first().map(|reason| reason.confidence);
        let confidence = recorded.map(Confidence::new).or_else(of_reason).unwrap_or_default();
        Some(claim_severity(typed::<ClaimStatus>(state), confidence))
    }
}
