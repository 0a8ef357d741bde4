//! The rule machine: a standing answer that a person gave for all questions of one sort.

use crate::machine;

machine! {
    /// A standing answer of a person to every question with the same key.
    Rule "rul" as "standing rule" with "rule" reasons;
    nature Ending;

    states RuleState is "rule state" in "rule" {
        /// It answers.
        InForce = "in_force" ("In force", Running, Check),
        /// It answers nothing any more.
        Revoked = "revoked" ("Revoked", Neutral, Slash),
    }
    triggers RuleTrigger is "rule trigger" {
        /// A person revoked it.
        RevocationAsked = "revocation_asked",
    }

    start [InForce] by [Operator];
    ends [Revoked];

    rows {
        InForce => Revoked on [RevocationAsked] by [Operator] because ["rule.revoked.*"];
    }

    reasons {
        "rule.revoked.operator" by choice: "A person revoked it.";
    }
}
