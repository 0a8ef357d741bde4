//! What is recorded of telling: a claim before anything is sent, and what became of it.
//!
//! Invariant: of one condition there is one mark, and it says whether another try is due. A claim that was never resolved
//! belongs to a sender that died; it is taken over after a while, with the id that the message has, so that a receiver
//! can tell a repetition. Deliberately absent: writing it.

use std::time::Duration;

use callboard_kernel::fact::{self, Text};
use callboard_kernel::{Fact, Facts, Moment};

use crate::judging::attention::condition;
use crate::judging::view::View;
use crate::mutant;

/// How often one condition is tried to be told.
pub(super) const TRIES_MAX: u32 = 5;
/// How long after a failure it is tried again; twice as long after each further one.
const PAUSE: Duration = Duration::from_secs(30);
/// After how long a sender that said nothing more is dead. Every channel has a bound far below it.
const ABANDONED: Duration = Duration::from_secs(60);

/// What became of telling a condition on one way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ChannelState {
    /// It was not wanted, or not tried yet.
    #[default]
    Open,
    Sent,
    Failed,
}

impl ChannelState {
    const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Sent => "sent",
            Self::Failed => "failed",
        }
    }

    fn of(mark: &Facts, way: Fact<Text>) -> Self {
        match mark.read(way) {
            Some("sent") => Self::Sent,
            Some("failed") => Self::Failed,
            Some(_) | None => Self::Open,
        }
    }
}

/// One mark.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct NotificationMark {
    pub(super) tries: u32,
    pub(super) desktop: ChannelState,
    pub(super) webhook: ChannelState,
    pub(super) problem: Option<String>,
}

/// What is to be done about a condition.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Due {
    /// It was told, or it cannot be told.
    No,
    /// Somebody is telling it, or it is tried again after a while.
    Later,
    /// It is to be told, on the ways that are still open.
    Yes(NotificationMark),
}

impl NotificationMark {
    /// Is the present condition of a view to be told?
    pub(super) fn due(view: &View<'_>, now: Moment) -> Due {
        let Some(mark) = view.recorded_facts().read(fact::NOTIFIED) else { return Due::Yes(Self::default()) };
        let is_same = mark.read(fact::CONDITION) == Some(condition(view))
            && mark.read(fact::SINCE) == view.cause_since();
        if !is_same {
            return Due::Yes(Self::default());
        }
        let tries = mark.read(fact::TRIES).unwrap_or(0);
        let age = mark.read(fact::AT).map_or(Duration::MAX, |at| now.since(at));
        let wait = match mark.read(fact::STATE) {
            Some("sent") if !mutant::removed("tell_once") => return Due::No,
            Some("sending") if mutant::removed("take_over_abandoned_claims") => return Due::No,
            Some("sending") => ABANDONED,
            Some(_) | None => PAUSE * 2_u32.saturating_pow(tries.saturating_sub(1).min(TRIES_MAX)),
        };
        if tries >= TRIES_MAX {
            return Due::No;
        }
        if age < wait {
            return Due::Later;
        }
        let (desktop, webhook) =
            (ChannelState::of(mark, fact::DESKTOP), ChannelState::of(mark, fact::WEBHOOK));
        Due::Yes(Self { tries, desktop, webhook, problem: None })
    }

    /// Is it the claim that this one wrote?
    pub(super) fn is_held(facts: &Facts, by: &str, at: Moment) -> bool {
        facts.read(fact::NOTIFIED).is_some_and(|mark| {
            mark.read(fact::BY) == Some(by)
                && mark.read(fact::AT) == Some(at)
                && mark.read(fact::STATE) == Some("sending")
        })
    }

    /// As it is recorded.
    pub(super) fn facts(&self, view: &View<'_>, state: &str, by: &str, at: Moment) -> Facts {
        let mut mark = Facts::none()
            .and(fact::CONDITION, condition(view))
            .and(fact::SINCE, view.cause_since())
            .and(fact::STATE, state)
            .and(fact::AT, at)
            .and(fact::BY, by)
            .and(fact::TRIES, i64::from(self.tries));
        for (name, way) in [(fact::DESKTOP, self.desktop), (fact::WEBHOOK, self.webhook)] {
            if way != ChannelState::Open {
                mark.record(name, way.name());
            }
        }
        if let Some(problem) = &self.problem {
            mark.record(fact::PROBLEM, problem.as_str());
        }
        Facts::none().and(fact::NOTIFIED, mark)
    }
}

#[cfg(test)]
mod tests {
    use callboard_ledger::Stored;
    use callboard_lifecycle::session::SessionState;

    use super::*;
    use crate::judging::view::{evaluate, samples};
    use crate::judging::viewpoint::Viewpoint;

    fn later(seconds: u64) -> Moment {
        samples::NOW.plus(Duration::from_secs(seconds))
    }

    fn marked(state: &str, tries: u32) -> Stored {
        let mut stored = samples::stored(SessionState::Failed, Facts::none(), &["run.failed.exit_nonzero"]);
        let mark = NotificationMark {
            tries,
            webhook: ChannelState::Failed,
            desktop: ChannelState::Sent,
            problem: None,
        };
        let facts = mark.facts(&evaluate(&stored, &Viewpoint::past(samples::NOW)), state, "me", samples::NOW);
        stored.entity.facts.merge(&facts);
        stored
    }

    fn is_due(stored: &Stored, now: Moment) -> bool {
        matches!(NotificationMark::due(&evaluate(stored, &Viewpoint::past(now)), now), Due::Yes(_))
    }

    #[test]
    fn a_condition_is_told_once_and_a_failure_is_tried_again_less_and_less_often() {
        assert!(!is_due(&marked("sent", 1), later(1_000_000)));
        assert!(!is_due(&marked("failed", 1), later(29)) && is_due(&marked("failed", 1), later(30)));
        assert!(!is_due(&marked("failed", 3), later(119)) && is_due(&marked("failed", 3), later(120)));
        assert!(!is_due(&marked("failed", TRIES_MAX), later(1_000_000)));
        assert!(!is_due(&marked("sending", 1), later(59)), "somebody is at it");
        assert!(is_due(&marked("sending", 1), later(60)), "whoever was at it is dead");
    }

    #[test]
    fn what_arrived_on_one_way_is_not_sent_there_again() {
        let stored = marked("failed", 1);
        let due = NotificationMark::due(&evaluate(&stored, &Viewpoint::past(later(60))), later(60));
        let expected = NotificationMark {
            tries: 1,
            desktop: ChannelState::Sent,
            webhook: ChannelState::Failed,
            problem: None,
        };
        assert_eq!(due, Due::Yes(expected));
    }

    #[test]
    fn another_condition_is_told_anew() {
        let mut stored = marked("sent", 1);
        stored.entity.entered_at = Some(samples::NOW);
        assert!(is_due(&stored, samples::NOW), "it failed again");
        let other = samples::stored(SessionState::Failed, stored.entity.facts, &["run.failed.oom"]);
        assert!(is_due(&other, samples::NOW), "for another reason");
    }
}
