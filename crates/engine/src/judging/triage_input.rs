//! A case: what an entity is judged by, read once from what is recorded, so that thousands can be judged again and again.
//!
//! Invariant: a case and a view of the same entity, judged with the same look, never disagree: both ask the same judge
//! and the same policy, and a test compares them. Deliberately absent: everything that is only shown.

use callboard_kernel::health::ProcessIdentity;
use callboard_kernel::{Axes, Facts, Moment, fact};
use callboard_ledger::Stored;
use callboard_lifecycle::{Delivery, Health, Lifecycle, PolicyVersion, ReasonCode, Severity, Tone, Words};

use crate::host::process_table::Host;
use crate::judging::attention::{LEGACY, Mark, condition, condition_of};
use crate::judging::judge::Basis;
use crate::judging::view::{View, own_severity};
use crate::judging::viewpoint::{ProcessReading, Viewpoint};

/// What an entity is judged by.
#[derive(Clone, Debug)]
pub struct TriageInput {
    state: Option<Lifecycle>,
    delivery: Option<Delivery>,
    /// The first of the recorded reasons.
    reason: Option<ReasonCode>,
    /// What the rules of its kind say, where they do.
    own_severity: Option<(Severity, Tone)>,
    basis: Basis,
    onset: Onset,
    mark: Option<Box<Mark>>,
}

/// What the judge and the policy say of an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TriageVerdict {
    /// How urgent it is.
    pub severity: Severity,
    /// Its health, where that can be judged.
    pub health: Option<Health>,
    /// What it belongs together with: its reason, or its state where there is none.
    pub condition: &'static str,
    /// Since when.
    pub since: Option<Moment>,
    /// Somebody set this condition aside.
    pub is_set_aside: bool,
}

impl TriageInput {
    /// Reads it from what is recorded.
    pub fn of(stored: &Stored) -> Self {
        let entity = &stored.entity;
        Self {
            state: entity.state.lifecycle,
            delivery: entity.facts.read(fact::DELIVERY).and_then(|word| Delivery::parse(word).ok()),
            reason: entity.reasons.first().map(|reason| reason.code),
            own_severity: own_severity(entity),
            basis: Basis::of(entity),
            onset: Onset::read(&entity.facts, entity.entered_at, entity.last_activity_at),
            mark: Mark::of(&entity.facts).map(Box::new),
        }
    }

    /// Looks at it.
    pub fn look(&self, sight: &Viewpoint<'_>) -> ProcessReading {
        self.basis.look(sight)
    }

    /// The processes whose end changes what is said of it.
    pub fn processes(&self) -> Vec<ProcessIdentity> {
        self.basis.processes()
    }

    /// The processes of a run that are alive although the log says that the run has ended, as far as they are found here.
    pub fn alive_after_end(&self, host: &Host) -> Vec<ProcessIdentity> {
        self.basis.recorded().map(|run| host.alive_after_end(run)).unwrap_or_default()
    }

    /// Judges it by a look.
    pub fn verdict(&mut self, look: ProcessReading) -> TriageVerdict {
        let judgement = self.basis.judge(look);
        let health = judgement.as_ref().map(|judgement| judgement.health);
        let judged = judgement.and_then(|judgement| judgement.reasons.first().map(|reason| reason.code));
        let axes = Axes { lifecycle: self.state, outcome: None, health, delivery: self.delivery };
        let first = self.reason.or(judged);
        let severity = |axes: Axes, reason| axes.severity(PolicyVersion::V2, reason).0;
        let shown = self.own_severity.map_or_else(|| severity(axes, first), |(severity, _)| severity);
        let health_decides = shown < severity(Axes { health: None, ..axes }, self.reason);
        let cause = if health_decides { judged.or(first) } else { first };
        let condition = condition_of(cause, self.state);
        let since = self.onset.of(health_decides, cause);
        let is_set_aside = self.mark.as_ref().is_some_and(|mark| mark.holds(condition, since, look.at));
        TriageVerdict { severity: shown, health, condition, since, is_set_aside }
    }
}

impl TriageVerdict {
    /// What a view says, at its moment.
    pub(crate) fn of(view: &View<'_>, now: Moment) -> Self {
        let (condition, since) = (condition(view), view.cause_since());
        let mark = Mark::of(view.recorded_facts());
        Self {
            severity: view.state.severity,
            health: view.state.health,
            condition,
            since,
            is_set_aside: mark.is_some_and(|mark| mark.holds(condition, since, now)),
        }
    }

    /// Does it need somebody, and has nobody set it aside?
    pub fn needs_somebody(&self) -> bool {
        self.severity.is_urgent() && self.condition != LEGACY && !self.is_set_aside
    }
}

/// When the conditions began that something can be in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Onset {
    entered: Option<Moment>,
    heard: Option<Moment>,
    progress: Option<Moment>,
    waits: Option<Moment>,
    limited: Option<Moment>,
    errors: Option<Moment>,
    stopped: Option<Moment>,
    retrying: Option<Moment>,
    looping: Option<Moment>,
}

impl Onset {
    pub(crate) fn read(facts: &Facts, entered: Option<Moment>, heard: Option<Moment>) -> Self {
        Self {
            entered,
            heard,
            progress: facts.read(fact::LAST_PROGRESS_AT),
            waits: facts.read(fact::WAITS_SINCE),
            limited: facts.read(fact::LIMITED_SINCE),
            errors: facts.read(fact::ERRORS_SINCE),
            stopped: facts.read(fact::STOPPED_SINCE),
            retrying: facts.read(fact::RETRYING).and_then(|retrying| retrying.read(fact::SINCE)),
            looping: facts.read(fact::LOOPING).and_then(|looping| looping.read(fact::SINCE)),
        }
    }

    /// When the condition with this reason began.
    pub(crate) fn of(&self, health_decides: bool, reason: Option<ReasonCode>) -> Option<Moment> {
        if !health_decides {
            return self.entered;
        }
        match reason.map(ReasonCode::as_str) {
            Some("run.health.stuck") => self.progress.or(self.entered),
            Some("run.health.waiting") => self.waits.or(self.entered),
            Some("run.health.limited") => self.limited.or(self.entered),
            Some("run.health.erroring") => self.errors.or(self.entered),
            // Who only sees that it stands still does not know since when.
            Some("run.health.paused") => self.stopped,
            Some("run.health.retrying") => self.retrying.or(self.entered),
            Some("run.health.looping") => self.looping.or(self.entered),
            Some(
                "run.health.kill_unconfirmed"
                | "run.health.alive_after_end"
                | "run.health.denied"
                | "run.health.truncated"
                | "run.health.supervisor_stopped",
            ) => self.entered,
            Some(_) | None => self.heard,
        }
    }
}

#[cfg(test)]
mod tests {
    use callboard_kernel::Value;
    use callboard_kernel::health::{Hold, Liveness, Presence};
    use callboard_lifecycle::{MACHINES, reason};

    use super::*;
    use crate::judging::attention::set_aside;
    use crate::judging::view::{evaluate_as, samples};

    /// Facts that move the judges, one after another.
    fn facts() -> Vec<Facts> {
        let long_ago = || Value::Text("2020-01-01T00:00:00Z".to_owned());
        let ahead = || Value::Text("2099-01-01T00:00:00Z".to_owned());
        let none = Facts::none;
        vec![
            none(),
            none().with("pid", 7_i64).with("last_progress_at", long_ago()),
            none().with("waits_for", "an answer").with("waits_since", long_ago()),
            none().with("limited_until", ahead()).with("limited_since", long_ago()),
            none().with("errors_in_row", 9_i64).with("errors_since", long_ago()),
            none().with("lease_until", long_ago()),
            none().with("lease_until", ahead()).with("class", "flow"),
            none().with("leftovers", 2_i64).with("delivery", "missing"),
            none().with("due_at", long_ago()).with("owner_ended", true).with("parent", "ses_x"),
            none().with("plays_moving", 0_i64).with("plays_waiting", 0_i64).with("plays_blocked", 2_i64),
            none().with("confidence", Value::Float(0.2)).with("is_stopped", true),
            none().with("retrying", Value::Map(none().with("count", 9_i64).with("since", long_ago()))),
            none().with("denied", Value::List(vec![Value::Text("Bash".to_owned())])),
            none().with("looping", Value::Map(none().with("steps", 9_i64).with("since", long_ago()))),
        ]
    }

    /// Looks that move the judge of a run.
    fn looks() -> impl Iterator<Item = ProcessReading> {
        let levels = [Liveness::Alive, Liveness::Dead, Liveness::Unknown];
        let pairs = levels.into_iter().flat_map(move |one| levels.map(|other| (one, other)));
        pairs.flat_map(|(liveness, command)| {
            [None, Some(Hold::Signal)].map(|hold| {
                let members = (liveness == Liveness::Dead).then_some(2);
                let holds = (hold, hold.filter(|_| command == Liveness::Alive));
                let presence = Presence {
                    command,
                    members,
                    supervisor_hold: holds.0,
                    command_hold: holds.1,
                    ..Presence::default()
                };
                ProcessReading { at: samples::NOW, liveness, presence }
            })
        })
    }

    #[test]
    fn a_case_and_a_view_never_disagree() {
        let (mut seen, mut urgent, mut aside) = (0, 0, 0);
        for machine in MACHINES {
            for state in (0..machine.states.len()).map(|at| Lifecycle::new(machine.kind, at as u8)) {
                for facts in facts() {
                    for codes in [
                        &[][..],
                        &["run.failed.exit_nonzero"],
                        &["run.aborted.sigint"],
                        &["run.completed.denied"],
                    ] {
                        for look in looks() {
                            let mut stored = samples::stored(state, facts.clone(), codes);
                            let view = evaluate_as(&stored, look);
                            let verdict = TriageInput::of(&stored).verdict(look);
                            assert_eq!(
                                verdict,
                                TriageVerdict::of(&view, look.at),
                                "{state:?} {facts:?} {look:?}"
                            );
                            let mark = set_aside(&view, None);
                            stored.entity.facts.merge(&mark);
                            let put_off = TriageInput::of(&stored).verdict(look);
                            assert_eq!(put_off, TriageVerdict::of(&evaluate_as(&stored, look), look.at));
                            assert!(put_off.is_set_aside, "{state:?} {facts:?}");
                            seen += 1;
                            urgent += usize::from(verdict.needs_somebody());
                            aside += usize::from(put_off.needs_somebody());
                        }
                    }
                }
            }
        }
        assert!(seen > 1000 && urgent > 100 && aside == 0, "{seen} {urgent} {aside}");
        assert!(reason("run.health.stuck").is_ok(), "the onset of a condition is found by its code");
    }

    #[test]
    fn a_pause_that_is_only_seen_has_no_beginning() {
        let presence =
            Presence { command: Liveness::Alive, command_hold: Some(Hold::Signal), ..Presence::default() };
        let look = ProcessReading { at: samples::NOW, liveness: Liveness::Alive, presence };
        let running = callboard_lifecycle::session::SessionState::Running;
        let since = |facts: Facts| {
            let verdict = TriageInput::of(&samples::stored(running, facts, &[])).verdict(look);
            assert_eq!(verdict.condition, "run.health.paused");
            verdict.since.map(|since| since.to_string())
        };
        assert_eq!(since(Facts::none()), None);
        let recorded = Facts::none().with("is_stopped", true).with("stopped_since", "2020-01-01T00:00:00Z");
        assert!(since(recorded).is_some_and(|since| since.starts_with("2020-01-01T00:00:00")));
    }
}
