//! A reason with its evidence: why an entity is in the state it is in.
//!
//! Invariant: a reason that passed `check` has a registered code, says something, is honest about its certainty, and
//! each piece of its evidence can be followed. Deliberately absent: whether the reason fits a row; `decide` knows.

use callboard_lifecycle::claim::ClaimStatus;
use callboard_lifecycle::{Evidence, EvidenceField, ReasonCode, Words};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::moment::Moment;

/// Why an entity is in its state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StateReason {
    /// The registered code.
    pub code: ReasonCode,
    /// What happened, for people.
    pub message: String,
    /// How the reason is known.
    #[serde(default = "observed")]
    pub claim_status: ClaimStatus,
    /// How sure it is that this reason explains the state.
    #[serde(default)]
    pub confidence: Confidence,
    /// The kind of another entity the reason points to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entity_type: Option<String>,
    /// The id of that entity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entity_id: Option<String>,
    /// What shows it.
    #[serde(default)]
    pub evidence: Vec<EvidenceRef>,
}

fn observed() -> ClaimStatus {
    ClaimStatus::Observed
}

impl StateReason {
    /// An observed, certain reason without evidence.
    pub fn new(code: ReasonCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            claim_status: ClaimStatus::Observed,
            confidence: Confidence::CERTAIN,
            entity_type: None,
            entity_id: None,
            evidence: Vec::new(),
        }
    }

    /// The same reason, shown by one more piece of evidence.
    #[must_use]
    pub fn shown_by(mut self, evidence: EvidenceRef) -> Self {
        // Most reasons have one piece; growing by doubling would take room for four.
        self.evidence.reserve_exact(1);
        self.evidence.push(evidence);
        self
    }

    /// The same reason, less certain.
    #[must_use]
    pub fn held(mut self, claim_status: ClaimStatus, confidence: Confidence) -> Self {
        (self.claim_status, self.confidence) = (claim_status, confidence);
        self
    }

    /// What is wrong with the reason by itself, whatever it explains.
    pub fn check(&self) -> Result<(), Flaw> {
        if self.message.chars().all(char::is_whitespace) {
            return Err(Flaw::NoMessage(self.code));
        }
        self.confidence.check()?;
        self.evidence.iter().try_for_each(EvidenceRef::check)
    }
}

/// How sure somebody is, from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Confidence(f64);

impl Confidence {
    /// No doubt.
    pub const CERTAIN: Self = Self(1.0);

    /// Reads a number; one outside 0 to 1 is refused when the command that carries it is decided.
    pub const fn new(value: f64) -> Self {
        Self(value)
    }

    /// The number.
    pub const fn get(self) -> f64 {
        self.0
    }

    fn check(self) -> Result<(), Flaw> {
        if (0.0..=1.0).contains(&self.0) { Ok(()) } else { Err(Flaw::Confidence(self.0)) }
    }
}

impl Default for Confidence {
    fn default() -> Self {
        Self::CERTAIN
    }
}

impl Serialize for Confidence {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_f64(self.0)
    }
}

impl<'de> Deserialize<'de> for Confidence {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        f64::deserialize(from).map(Self)
    }
}

/// One piece of evidence: where it is, and what it says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EvidenceRef {
    /// What it is.
    pub kind: Evidence,
    /// Its own id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The session it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The message it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// The tool call whose output it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// The artifact it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact_id: Option<String>,
    /// Where the file is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Where the resource is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The repository the file belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repo: Option<String>,
    /// The commit at which it was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit_sha: Option<String>,
    /// A hash of its bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_hash: Option<String>,
    /// When it was fetched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fetched_at: Option<Moment>,
    /// What it says, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

impl EvidenceRef {
    /// Evidence of this kind that says nothing yet.
    pub const fn bare(kind: Evidence) -> Self {
        Self {
            kind,
            id: None,
            session_id: None,
            message_id: None,
            tool_call_id: None,
            artifact_id: None,
            path: None,
            url: None,
            repo: None,
            commit_sha: None,
            content_hash: None,
            fetched_at: None,
            detail: None,
        }
    }

    /// Something a tool or the supervisor read.
    pub fn tool_result(detail: impl Into<String>) -> Self {
        Self { detail: Some(detail.into()), ..Self::bare(Evidence::ToolResult) }
    }

    /// Something a person vouches for.
    pub fn human_assertion(detail: impl Into<String>) -> Self {
        Self { detail: Some(detail.into()), ..Self::bare(Evidence::HumanAssertion) }
    }

    /// A message of a conversation.
    pub fn message(message_id: impl Into<String>) -> Self {
        Self { message_id: Some(message_id.into()), ..Self::bare(Evidence::Message) }
    }

    /// A file that was produced.
    pub fn artifact(path: impl Into<String>) -> Self {
        Self { path: Some(path.into()), ..Self::bare(Evidence::Artifact) }
    }

    fn check(&self) -> Result<(), Flaw> {
        for choice in self.kind.requires() {
            if !choice.iter().any(|field| self.has(*field)) {
                return Err(Flaw::Evidence { kind: self.kind, fields: choice });
            }
        }
        Ok(())
    }

    fn has(&self, field: EvidenceField) -> bool {
        let value = match field {
            EvidenceField::MessageId => &self.message_id,
            EvidenceField::ArtifactId => &self.artifact_id,
            EvidenceField::Path => &self.path,
            EvidenceField::Url => &self.url,
            EvidenceField::Detail => &self.detail,
        };
        value.as_deref().is_some_and(|text| !text.chars().all(char::is_whitespace))
    }
}

/// What is wrong with a reason by itself.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Flaw {
    /// It says nothing.
    #[error("the reason {0} has no message")]
    NoMessage(ReasonCode),
    /// Its confidence is no probability.
    #[error("a confidence of {0} is not between 0 and 1")]
    Confidence(f64),
    /// Its evidence cannot be followed.
    #[error("evidence of kind {kind} needs {}", one_of(.fields))]
    Evidence {
        /// The kind of the evidence.
        kind: Evidence,
        /// One of these is needed.
        fields: &'static [EvidenceField],
    },
}

fn one_of(fields: &[EvidenceField]) -> String {
    let names: Vec<&str> = fields.iter().map(|field| field.name()).collect();
    names.join(" or ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use callboard_lifecycle::reason;

    fn sound() -> StateReason {
        StateReason::new(reason("run.failed.oom").unwrap(), "killed at 2 GiB")
    }

    #[test]
    fn each_kind_of_evidence_is_refused_without_its_field_and_taken_with_it() {
        for kind in Evidence::ALL {
            let mut evidence = EvidenceRef::bare(*kind);
            assert!(evidence.check().is_err(), "{kind} says nothing and was taken");
            evidence.message_id = Some("m1".to_owned());
            evidence.detail = Some("it said so".to_owned());
            evidence.path = Some("review.md".to_owned());
            evidence.url = Some("https://example.org".to_owned());
            assert_eq!(evidence.check(), Ok(()), "{kind}");
        }
    }

    #[test]
    fn doubt_is_between_none_and_all() {
        for (value, sound_value) in
            [(0.0, true), (1.0, true), (1.01, false), (-0.1, false), (f64::NAN, false)]
        {
            let reason = sound().held(ClaimStatus::Inferred, Confidence::new(value));
            assert_eq!(reason.check().is_ok(), sound_value, "{value}");
        }
    }

    #[test]
    fn a_reason_reads_back_and_an_unregistered_one_does_not() {
        let reason = sound().shown_by(EvidenceRef::tool_result("memory.events oom_kill 1"));
        let text = serde_json::to_string(&reason).unwrap();
        assert_eq!(serde_json::from_str::<StateReason>(&text).unwrap(), reason);
        assert!(
            serde_json::from_str::<StateReason>(r#"{"code":"run.failed.bad_luck","message":"m"}"#).is_err()
        );
    }
}
