//! The claim machine: a learned fact with its evidence. Its states are also how sure a reason is of itself.

use crate::machine;

machine! {
    /// A learned fact with its evidence.
    Claim "clm" as "claim" with "knowledge" reasons;
    nature Ending;

    states ClaimStatus is "claim status" in "claim" {
        /// Seen directly.
        Observed = "observed" ("Observed", Running, Check),
        /// Concluded from what was seen.
        Inferred = "inferred" ("Inferred", Running, Half),
        /// Supposed, and not tested.
        Hypothesis = "hypothesis" ("Hypothesis", Neutral, Question),
        /// Confirmed by stronger evidence or by a person.
        Verified = "verified" ("Verified", Success, Check),
        /// Contradicted by evidence or by a person.
        Disputed = "disputed" ("Disputed", Warning, Alert),
        /// Replaced by a newer fact.
        Superseded = "superseded" ("Superseded", Neutral, Archive),
    }
    triggers ClaimTrigger is "claim trigger" {
        /// Stronger evidence, or a person, confirmed it.
        Confirmed = "confirmed",
        /// Evidence, or a person, contradicts it.
        Contradicted = "contradicted",
        /// A newer fact takes its place.
        Replaced = "replaced",
        /// What was supposed has been seen.
        Seen = "seen",
    }

    start [Observed, Inferred, Hypothesis];
    ends [Superseded];

    rows {
        Observed   => Verified   on [Confirmed]    by [Operator, System, Agent] shown by [ToolResult, Artifact, Url, File, HumanAssertion];
        Observed   => Disputed   on [Contradicted] by [Operator, System, Agent];
        Observed   => Superseded on [Replaced]     by [Operator] because ["knowledge.superseded.*"];
        Inferred   => Verified   on [Confirmed]    by [Operator, System, Agent] shown by [ToolResult, Artifact, Url, File, HumanAssertion];
        Inferred   => Disputed   on [Contradicted] by [Operator, System, Agent];
        Inferred   => Superseded on [Replaced]     by [Operator] because ["knowledge.superseded.*"];
        Hypothesis => Observed   on [Seen]         by [Operator, System, Agent];
        Hypothesis => Disputed   on [Contradicted] by [Operator, System, Agent];
        Hypothesis => Superseded on [Replaced]     by [Operator] because ["knowledge.superseded.*"];
        Verified   => Disputed   on [Contradicted] by [Operator, System, Agent];
        Verified   => Superseded on [Replaced]     by [Operator] because ["knowledge.superseded.*"];
        Disputed   => Verified   on [Confirmed]    by [Operator, System] shown by [ToolResult, Artifact, Url, File, HumanAssertion];
        Disputed   => Superseded on [Replaced]     by [Operator] because ["knowledge.superseded.*"];
    }

    reasons {
        "knowledge.observed.seen": "What was supposed has been seen.";
        "knowledge.verified.evidence": "Stronger evidence confirmed it.";
        "knowledge.verified.person" by choice: "A person confirmed it.";
        "knowledge.disputed.conflicting_evidence": "Its evidence supports contradictory positions.";
        "knowledge.disputed.user_rejection" by choice: "A person disputed it.";
        "knowledge.superseded.newer_observation": "A newer claim with stronger evidence replaced it.";
        "knowledge.stale.unverified_too_long": "It grew old without being confirmed.";
    }
}
