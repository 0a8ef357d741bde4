//! Severity and tone: pure functions of what is known about an entity.
//!
//! Invariant: every value of every axis is listed, so a new word cannot slip through as harmless; the most severe
//! axis wins. `v1` is the first cascade to the letter and never changes. Deliberately absent: thresholds and clocks;
//! what they say is in the health before it comes here.

use callboard_lifecycle::claim::ClaimStatus;
use callboard_lifecycle::{Delivery, Health, Need, Outcome, PolicyVersion, Severity, Tone};

use crate::reason::Confidence;

/// What severity is derived from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signal {
    /// Why a person may be needed while the lifecycle state lasts.
    pub need: Option<Need>,
    /// How it ended.
    pub outcome: Option<Outcome>,
    /// Is the runtime okay?
    pub health: Option<Health>,
    /// Did it produce what it promised?
    pub delivery: Option<Delivery>,
    /// Did a person choose this end?
    pub chosen: bool,
}

/// How loud one axis is; the loudest of them decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Loudness {
    Quiet,
    Success,
    /// Info without colour: passed over on purpose.
    Aside,
    Info,
    Warning,
    Critical,
}

impl Loudness {
    const fn verdict(self) -> (Severity, Tone) {
        match self {
            Self::Quiet => (Severity::Neutral, Tone::Neutral),
            Self::Success => (Severity::Neutral, Tone::Success),
            Self::Aside => (Severity::Info, Tone::Neutral),
            Self::Info => (Severity::Info, Tone::Info),
            Self::Warning => (Severity::Warning, Tone::Warning),
            Self::Critical => (Severity::Critical, Tone::Danger),
        }
    }
}

/// Severity and tone under a policy.
pub fn severity(policy: PolicyVersion, signal: &Signal) -> (Severity, Tone) {
    let outcome = signal.outcome.map_or(Loudness::Quiet, |outcome| match policy {
        PolicyVersion::V1 => outcome_v1(outcome),
        PolicyVersion::V2 => outcome_v2(outcome, signal.chosen),
    });
    let health = signal.health.map_or(Loudness::Quiet, |health| match policy {
        PolicyVersion::V1 => health_v1(health),
        PolicyVersion::V2 => health_v2(health),
    });
    let delivery = signal.delivery.map_or(Loudness::Quiet, delivery);
    let need = match (policy, signal.need) {
        (PolicyVersion::V1, _) | (PolicyVersion::V2, None) => Loudness::Quiet,
        (PolicyVersion::V2, Some(Need::Blocked | Need::Decision)) => Loudness::Warning,
    };
    outcome.max(health).max(delivery).max(need).verdict()
}

const fn outcome_v1(outcome: Outcome) -> Loudness {
    match outcome {
        Outcome::Failed | Outcome::Aborted => Loudness::Critical,
        Outcome::TimedOut => Loudness::Warning,
        Outcome::Skipped => Loudness::Aside,
        Outcome::Succeeded | Outcome::Completed | Outcome::Merged => Loudness::Success,
        Outcome::Cancelled | Outcome::Unknown => Loudness::Quiet,
        // Words that came after the first cascade: it has no rule for them.
        Outcome::Partial
        | Outcome::PartialFailed
        | Outcome::Interrupted
        | Outcome::Stopped
        | Outcome::Archived
        | Outcome::Closed
        | Outcome::Dead
        | Outcome::Reaped
        | Outcome::Superseded
        | Outcome::Answered
        | Outcome::Expired
        | Outcome::Withdrawn
        | Outcome::Revoked => Loudness::Quiet,
    }
}

const fn outcome_v2(outcome: Outcome, chosen: bool) -> Loudness {
    match outcome {
        // A person's own Ctrl-C needs no follow-up; a process that died without a word does.
        Outcome::Aborted if chosen => Loudness::Quiet,
        Outcome::Aborted | Outcome::Failed | Outcome::PartialFailed => Loudness::Critical,
        Outcome::TimedOut | Outcome::Partial => Loudness::Warning,
        Outcome::Skipped => Loudness::Aside,
        Outcome::Succeeded | Outcome::Completed | Outcome::Merged | Outcome::Closed => Loudness::Success,
        Outcome::Cancelled
        | Outcome::Interrupted
        | Outcome::Stopped
        | Outcome::Archived
        | Outcome::Dead
        | Outcome::Reaped
        | Outcome::Superseded
        | Outcome::Answered
        | Outcome::Expired
        | Outcome::Withdrawn
        | Outcome::Revoked
        | Outcome::Unknown => Loudness::Quiet,
    }
}

const fn health_v1(health: Health) -> Loudness {
    match health {
        Health::ProcessDead | Health::Orphaned | Health::Stalled | Health::Misfired => Loudness::Critical,
        Health::Idle | Health::Degraded | Health::Disconnected => Loudness::Warning,
        Health::Running | Health::Due => Loudness::Info,
        // The first cascade has no rule for `blocked` and `paused`, which is why there is a second.
        Health::Ok | Health::Blocked | Health::Paused | Health::Unknown => Loudness::Quiet,
    }
}

const fn health_v2(health: Health) -> Loudness {
    match health {
        Health::Blocked | Health::Paused => Loudness::Warning,
        Health::Ok
        | Health::Running
        | Health::Idle
        | Health::Degraded
        | Health::Stalled
        | Health::ProcessDead
        | Health::Orphaned
        | Health::Disconnected
        | Health::Misfired
        | Health::Due
        | Health::Unknown => health_v1(health),
    }
}

const fn delivery(delivery: Delivery) -> Loudness {
    match delivery {
        Delivery::Missing => Loudness::Critical,
        Delivery::Partial | Delivery::Invalid => Loudness::Warning,
        Delivery::Passed | Delivery::NotExpected | Delivery::Unknown => Loudness::Quiet,
    }
}

/// Severity and tone of a claim: about the health of knowledge, in the words of the same queue. Never critical.
pub fn claim_severity(status: ClaimStatus, confidence: Confidence) -> (Severity, Tone) {
    match status {
        ClaimStatus::Disputed => (Severity::Warning, Tone::Warning),
        ClaimStatus::Hypothesis if confidence.get() < 0.5 => (Severity::Warning, Tone::Warning),
        ClaimStatus::Observed | ClaimStatus::Inferred => (Severity::Info, Tone::Info),
        ClaimStatus::Hypothesis => (Severity::Info, Tone::Neutral),
        ClaimStatus::Verified => (Severity::Neutral, Tone::Success),
        ClaimStatus::Superseded => (Severity::Neutral, Tone::Neutral),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use callboard_lifecycle::Words;

    fn only(outcome: Option<Outcome>, health: Option<Health>) -> Signal {
        Signal { outcome, health, ..Signal::default() }
    }

    #[test]
    fn a_ctrl_c_is_quiet_in_v2_and_critical_in_v1_to_the_letter() {
        let mut signal = only(Some(Outcome::Aborted), None);
        signal.chosen = true;
        assert_eq!(severity(PolicyVersion::V1, &signal), (Severity::Critical, Tone::Danger));
        assert_eq!(severity(PolicyVersion::V2, &signal), (Severity::Neutral, Tone::Neutral));
        signal.chosen = false;
        assert_eq!(severity(PolicyVersion::V2, &signal), (Severity::Critical, Tone::Danger));
    }

    #[test]
    fn v2_warns_of_blocked_and_paused_work_and_open_decisions() {
        let blocked = only(None, Some(Health::Blocked));
        let paused = only(None, Some(Health::Paused));
        let undecided = Signal { need: Some(Need::Decision), ..Signal::default() };
        for signal in [blocked, paused, undecided] {
            assert_eq!(severity(PolicyVersion::V1, &signal).0, Severity::Neutral);
            assert_eq!(severity(PolicyVersion::V2, &signal), (Severity::Warning, Tone::Warning));
        }
    }

    #[test]
    fn v2_is_never_quieter_than_v1_unless_a_person_chose_it() {
        for outcome in Outcome::ALL {
            for health in Health::ALL {
                let signal = only(Some(*outcome), Some(*health));
                let (v1, v2) = (severity(PolicyVersion::V1, &signal), severity(PolicyVersion::V2, &signal));
                assert!(v2.0 <= v1.0, "{outcome} {health}: {v1:?} became {v2:?}");
            }
        }
    }

    #[test]
    fn claims_speak_the_same_words() {
        let sure = Confidence::CERTAIN;
        let table = [
            (ClaimStatus::Disputed, sure, Severity::Warning, Tone::Warning),
            (ClaimStatus::Hypothesis, Confidence::new(0.49), Severity::Warning, Tone::Warning),
            (ClaimStatus::Hypothesis, Confidence::new(0.5), Severity::Info, Tone::Neutral),
            (ClaimStatus::Observed, sure, Severity::Info, Tone::Info),
            (ClaimStatus::Inferred, sure, Severity::Info, Tone::Info),
            (ClaimStatus::Verified, sure, Severity::Neutral, Tone::Success),
            (ClaimStatus::Superseded, sure, Severity::Neutral, Tone::Neutral),
        ];
        for (status, confidence, severity, tone) in table {
            assert_eq!(claim_severity(status, confidence), (severity, tone), "{status}");
        }
    }
}
