//! The view of one entity: what is recorded, judged at a moment, as every verb shows it.
//!
//! Invariant: health comes from the kernel's judge and severity from the kernel's policy, here and nowhere else, so
//! two surfaces never disagree. What is not recorded is null. Deliberately absent: comparing states.

use callboard_kernel::{
    Axes, Chain, Entity, EntityId, Facts, Moment, NormalizedState, StateReason, Value, fact, normalize,
};
use callboard_ledger::Stored;
use callboard_lifecycle::{Delivery, Kind, PolicyVersion, Severity, Tone, Words};
use serde::{Serialize, Serializer};

use crate::judging::judge::Basis;
use crate::judging::recorded::seconds;
use crate::judging::triage_input::Onset;
use crate::judging::viewpoint::{ProcessReading, Viewpoint};
use crate::kinds::{Extras, rules};

/// One entity as it is shown.
#[derive(Debug, Serialize)]
pub struct View<'a> {
    /// Its id.
    pub id: EntityId,
    /// Its kind.
    pub kind: Kind,
    /// What it is called.
    pub title: Option<&'a str>,
    /// What somebody sorted it by.
    pub labels: &'a Facts,
    /// How many records it has.
    pub version: u64,
    /// Its state on all axes.
    pub state: NormalizedState,
    /// The state as people read it.
    pub chain: String,
    /// One word for a pill that stands alone.
    effective: String,
    /// When it was recorded.
    pub created_at: Option<Moment>,
    /// When it began.
    pub started_at: Option<Moment>,
    /// When it entered the state it is in.
    pub entered_at: Option<Moment>,
    /// When it ended.
    pub ended_at: Option<Moment>,
    /// When it was last heard of.
    pub last_activity_at: Option<Moment>,
    /// What it belongs to.
    pub parent: Option<&'a str>,
    /// Where it runs.
    pub host: Option<&'a Value>,
    /// Its process.
    pub pid: Option<&'a Value>,
    /// How its process ended.
    pub exit: Exit<'a>,
    /// Its bound, and how long it ran.
    pub timeout: Timeout,
    /// What it promised and delivered.
    pub artifacts: Artifacts<'a>,
    /// Everything else that was recorded.
    pub facts: Rest<'a>,
    /// What its kind shows beside.
    #[serde(flatten)]
    pub extras: Extras,
    /// How many of the reasons were recorded; those behind them are the judge's.
    #[serde(skip)]
    recorded: usize,
    /// Is it as severe as it is because of its health?
    #[serde(skip)]
    health_decides: bool,
}

/// How its process ended.
#[derive(Debug, Serialize)]
pub struct Exit<'a> {
    /// The exit code.
    pub code: Option<&'a Value>,
    /// The signal that ended it.
    pub signal: Option<&'a Value>,
    /// Did memory run out?
    pub oom: Option<&'a Value>,
    /// Did its own clock end it?
    pub timed_out: Option<bool>,
}

/// Its bound, and how long it ran.
#[derive(Debug, Serialize)]
pub struct Timeout {
    /// The bound.
    pub configured_s: Option<Value>,
    /// How long it ran.
    pub elapsed_s: Option<Value>,
}

/// What it promised, where, and what became of it.
#[derive(Debug, Serialize)]
pub struct Artifacts<'a> {
    /// Where.
    pub dir: Option<&'a Value>,
    /// What it promised.
    pub contract: Option<&'a Value>,
    /// What was found.
    pub verification: Option<&'a Value>,
}

/// The facts that have no field of their own.
#[derive(Debug)]
pub struct Rest<'a> {
    facts: &'a Facts,
    /// The fields of its kind.
    extras: Vec<&'static str>,
}

const SHOWN: [&str; 15] = [
    fact::ARTIFACTS.name(),
    fact::DELIVERY.name(),
    fact::ELAPSED_MS.name(),
    fact::ELAPSED_S.name(),
    fact::EXIT_CODE.name(),
    fact::HOST.name(),
    fact::LABELS.name(),
    fact::OOM.name(),
    fact::PARENT.name(),
    fact::PID.name(),
    fact::SIGNAL.name(),
    fact::TIMED_OUT.name(),
    fact::TIMEOUT_MS.name(),
    fact::TIMEOUT_S.name(),
    fact::TITLE.name(),
];

impl<'a> Rest<'a> {
    /// The facts in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&'a str, &'a Value)> {
        self.facts.iter().filter(|(name, _)| !SHOWN.contains(name) && !self.extras.contains(name))
    }
}

impl Serialize for Rest<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.iter())
    }
}

static NO_LABELS: Facts = Facts::none();

/// Judges an entity at a moment.
pub fn evaluate<'a>(stored: &'a Stored, sight: &Viewpoint<'_>) -> View<'a> {
    let basis = Basis::of(&stored.entity);
    let look = basis.look(sight);
    judged(stored, basis, look)
}

/// The view of an entity with a look at its processes that was taken before, so that the view and an earlier verdict agree.
pub fn evaluate_as(stored: &Stored, look: ProcessReading) -> View<'_> {
    judged(stored, Basis::of(&stored.entity), look)
}

/// The view of an entity whose basis was read before.
pub(crate) fn judged(stored: &Stored, mut basis: Basis, look: ProcessReading) -> View<'_> {
    let Entity { state, facts, .. } = &stored.entity;
    let judgement = basis.judge(look);
    let axes = Axes {
        lifecycle: state.lifecycle,
        outcome: None,
        health: judgement.as_ref().map(|judgement| judgement.health),
        delivery: facts.read(fact::DELIVERY).and_then(|word| Delivery::parse(word).ok()),
    };
    let mut reasons = stored.entity.reasons.clone();
    let recorded = reasons.len();
    let cause = reasons.first().map(|reason| reason.code);
    let without_health = Axes { health: None, ..axes }.severity(PolicyVersion::V2, cause).0;
    let label = judgement.as_ref().and_then(|judgement| judgement.shown.clone());
    reasons.extend(judgement.map(|judgement| judgement.reasons).unwrap_or_default());
    let mut shown = normalize(axes, reasons, PolicyVersion::V2, look.at);
    shown.phase = basis.phase(look);
    if let Some((severity, tone)) = own_severity(&stored.entity) {
        (shown.severity, shown.tone) = (severity, tone);
    }
    let chain = Chain {
        axes,
        delivery_detail: facts.read(fact::DELIVERY_DETAIL),
        health_label: label.as_deref(),
        phase: shown.phase.as_ref(),
    };
    let (chain, effective) = (chain.to_string(), chain.effective());
    let extras = rules(state.id.kind()).extras(&stored.entity);
    View {
        id: state.id,
        kind: state.id.kind(),
        title: facts.read(fact::TITLE),
        labels: facts.read(fact::LABELS).unwrap_or(&NO_LABELS),
        version: state.version,
        chain,
        effective,
        created_at: stored.entity.created_at,
        started_at: stored.entity.started_at,
        entered_at: stored.entity.entered_at,
        ended_at: stored.entity.ended_at,
        last_activity_at: stored.entity.last_activity_at,
        parent: facts.read(fact::PARENT),
        host: facts.known(fact::HOST),
        pid: facts.known(fact::PID),
        exit: exit(&stored.entity),
        timeout: Timeout {
            configured_s: seconds(facts, fact::TIMEOUT_S, fact::TIMEOUT_MS),
            elapsed_s: seconds(facts, fact::ELAPSED_S, fact::ELAPSED_MS),
        },
        artifacts: artifacts(facts),
        facts: Rest { facts, extras: extras.keys().copied().collect() },
        extras,
        recorded,
        health_decides: shown.severity < without_health,
        state: shown,
    }
}

/// The exit code that tells a shell how a run ended: what it was told then, or what its state says.
pub fn exit_code(view: &View<'_>) -> u8 {
    let told = view.recorded_facts().read(fact::SHELL_CODE).and_then(|code| u8::try_from(code).ok());
    let of_state = || {
        let state = view.state.lifecycle?;
        rules(state.kind()).exit_code(state)
    };
    told.or_else(of_state).unwrap_or(0)
}

impl<'a> View<'a> {
    /// Everything that was recorded beside its state.
    pub const fn recorded_facts(&self) -> &'a Facts {
        self.facts.facts
    }

    /// The project it belongs to.
    pub fn project(&self) -> Option<&'a str> {
        self.facts.facts.read(fact::PROJECT)
    }

    /// What is to be said of its delivery, where there is more to it than the verdict.
    pub fn delivery_detail(&self) -> Option<&'a str> {
        self.facts.facts.read(fact::DELIVERY_DETAIL)
    }

    /// The reason that makes it as severe as it is.
    pub fn cause(&self) -> Option<&StateReason> {
        let judged = self.judged().first();
        if self.health_decides {
            judged.or_else(|| self.state.reasons.first())
        } else {
            self.state.reasons.first()
        }
    }

    /// Since when that reason holds, as far as it is recorded. It stays the same while the reason holds, so that what
    /// was set aside or told once stays so: a run that is stuck or waits is heard of all the time.
    pub fn cause_since(&self) -> Option<Moment> {
        let code = self.cause().filter(|_| self.health_decides).map(|reason| reason.code);
        Onset::read(self.facts.facts, self.entered_at, self.last_activity_at).of(self.health_decides, code)
    }

    /// The reasons of the judge, which are recorded nowhere.
    pub fn judged(&self) -> &[StateReason] {
        &self.state.reasons[self.recorded..]
    }

    /// What it is called, or what it is.
    pub fn name(&self) -> &str {
        self.title.unwrap_or(self.kind.machine().noun)
    }
}

/// How severe it is by the rules of its kind, where they say.
pub(crate) fn own_severity(entity: &Entity) -> Option<(Severity, Tone)> {
    let state = entity.state.lifecycle?;
    rules(state.kind()).severity(entity, state)
}

fn exit(entity: &Entity) -> Exit<'_> {
    let facts = &entity.facts;
    // Of an ended run it is known whether its own clock ended it, whatever was recorded beside.
    let of_run = || {
        let state = entity.state.lifecycle?;
        rules(state.kind()).timed_out(state)
    };
    Exit {
        code: facts.known(fact::EXIT_CODE),
        signal: facts.known(fact::SIGNAL),
        oom: facts.known(fact::OOM),
        timed_out: facts.read(fact::TIMED_OUT).or_else(of_run),
    }
}

fn artifacts(facts: &Facts) -> Artifacts<'_> {
    let parts = facts.read(fact::ARTIFACTS);
    Artifacts {
        dir: parts.and_then(|parts| parts.known(fact::DIR)),
        contract: parts.and_then(|parts| parts.known(fact::CONTRACT)),
        verification: parts.and_then(|parts| parts.known(fact::VERIFICATION)),
    }
}

#[cfg(test)]
pub(crate) mod samples {
    use callboard_kernel::{EvidenceRef, State};
    use callboard_ledger::Hash;
    use callboard_lifecycle::{Lifecycle, reason};
    use uuid::Uuid;

    use super::*;

    pub(crate) const NOW: Moment = Moment::from_micros(1_794_770_358_000_000);

    pub(crate) fn stored(state: impl Into<Lifecycle>, facts: Facts, reasons: &[&str]) -> Stored {
        let lifecycle = state.into();
        let id = EntityId::new(lifecycle.kind(), Uuid::from_u128(7));
        let before = |seconds: i64| Some(Moment::from_micros(NOW.as_micros() - seconds * 1_000_000));
        let reason = |code: &&str| {
            let code = reason(code).unwrap_or_else(|unknown| panic!("{unknown}"));
            StateReason::new(code, "it did").shown_by(EvidenceRef::tool_result("seen"))
        };
        Stored {
            entity: Entity {
                state: State { id, version: 3, lifecycle: Some(lifecycle) },
                created_at: before(100),
                started_at: before(90),
                entered_at: before(80),
                ended_at: lifecycle.is_terminal().then(|| before(80)).flatten(),
                last_activity_at: before(70),
                reasons: reasons.iter().map(reason).collect(),
                facts,
            },
            state_seq: 3,
            last_seq: 3,
            head: Hash::GENESIS,
        }
    }
}

#[cfg(test)]
mod tests {
    use callboard_lifecycle::claim::ClaimStatus;
    use callboard_lifecycle::schedule::ScheduleState;
    use callboard_lifecycle::session::SessionState;
    use callboard_lifecycle::show::ShowState;
    use callboard_lifecycle::team::TeamState;
    use callboard_lifecycle::{Health, Lifecycle};
    use serde_json::json;

    use super::samples::{NOW, stored};
    use super::*;

    #[test]
    fn every_field_others_rely_on_is_there_and_unknown_is_null() {
        let stored = stored(SessionState::Running, Facts::none(), &["run.started.ok"]);
        let view = serde_json::to_value(evaluate(&stored, &Viewpoint::past(NOW))).unwrap();
        for field in ["title", "parent", "host", "pid", "ended_at"] {
            assert!(view[field].is_null(), "{field}");
        }
        assert_eq!(view["exit"], json!({"code": null, "signal": null, "oom": null, "timed_out": null}));
        assert_eq!(view["timeout"], json!({"configured_s": null, "elapsed_s": null}));
        assert_eq!(view["artifacts"], json!({"dir": null, "contract": null, "verification": null}));
        assert_eq!((&view["labels"], &view["facts"], &view["version"]), (&json!({}), &json!({}), &json!(3)));
        assert_eq!((&view["kind"], &view["chain"]), (&json!("session"), &json!("Running · Health unknown")));
    }

    #[test]
    fn what_a_kind_adds_has_the_name_of_no_other_field() {
        let start = |kind: Kind| Lifecycle::new(kind, kind.machine().start.iter().next().unwrap());
        for kind in Kind::ALL {
            let stored = stored(start(*kind), Facts::none(), &[]);
            let mut view = evaluate(&stored, &Viewpoint::past(NOW));
            let extras = std::mem::take(&mut view.extras);
            let others = serde_json::to_value(&view).unwrap();
            assert!(extras.keys().all(|name| others.get(name).is_none()), "{kind}: {extras:?}");
        }
    }

    #[test]
    fn what_a_kind_adds_stands_beside_the_other_fields_and_not_among_the_facts() {
        let facts = Facts::none().with("score", 3).with("tokens", 12);
        let stored = stored(SessionState::Running, facts, &["run.started.ok"]);
        let mut view = evaluate(&stored, &Viewpoint::past(NOW));
        let nested = Value::Map(Facts::none().with("of", 5));
        view.extras = Extras::from([("score", nested)]);
        view.facts.extras = vec!["score"];
        let view = serde_json::to_value(view).unwrap();
        assert_eq!((&view["score"], &view["facts"]), (&json!({"of": 5}), &json!({"tokens": 12})));
    }

    #[test]
    fn facts_come_to_stand_in_their_fields() {
        let facts: Facts = serde_json::from_value(json!({
            "title": "fix the bug", "labels": {"team": "a"}, "exit_code": 2, "oom": true, "timeout_s": 900,
            "elapsed_ms": 1500, "host": "h", "pid": 7, "delivery": "passed", "tokens": 12,
            "artifacts": {"dir": "/tmp/a", "contract": []},
        }))
        .unwrap();
        let stored = stored(SessionState::Failed, facts, &["run.failed.oom"]);
        let view = serde_json::to_value(evaluate(&stored, &Viewpoint::past(NOW))).unwrap();
        assert_eq!(view["exit"], json!({"code": 2, "signal": null, "oom": true, "timed_out": false}));
        assert_eq!(view["timeout"], json!({"configured_s": 900, "elapsed_s": 1.5}));
        assert_eq!(view["artifacts"], json!({"dir": "/tmp/a", "contract": [], "verification": null}));
        assert_eq!((&view["labels"], &view["facts"]), (&json!({"team": "a"}), &json!({"tokens": 12})));
        assert_eq!(view["chain"], "Failed · Infra OK · Trace present");
        assert_eq!(view["state"]["severity"], "critical");
    }

    #[test]
    fn the_reason_that_counts_is_the_judges_when_health_makes_it_severe() {
        let lease = |seconds: i64| {
            let until = Moment::from_micros(NOW.as_micros() + seconds * 1_000_000).to_string();
            stored(SessionState::Running, Facts::none().with("lease_until", until), &["run.started.ok"])
        };
        let code = |stored: &Stored| {
            evaluate(stored, &Viewpoint::past(NOW)).cause().map(|reason| reason.code.as_str())
        };
        assert_eq!(code(&lease(60)), Some("run.started.ok"));
        assert_eq!(code(&lease(-60)), Some("run.health.disconnected"));
        let lapsed = lease(-60);
        let view = evaluate(&lapsed, &Viewpoint::past(NOW));
        assert_eq!(view.cause_since(), lapsed.entity.last_activity_at);
        assert_eq!((view.judged().len(), view.state.health), (1, Some(Health::Disconnected)));
    }

    #[test]
    fn a_kind_is_judged_by_what_is_known_of_it_and_a_claim_by_how_sure_it_is() {
        let health = |stored: Stored| evaluate(&stored, &Viewpoint::past(NOW)).state.health;
        assert_eq!(health(stored(ShowState::Planned, Facts::none(), &[])), Some(Health::Ok));
        assert_eq!(health(stored(ShowState::Active, Facts::none(), &[])), None);
        assert_eq!(health(stored(TeamState::Idle, Facts::none(), &[])), Some(Health::Ok));
        assert_eq!(health(stored(TeamState::Idle, Facts::none().with("parent", "p"), &[])), None);
        let due = Facts::none().with("due_at", "2026-11-15T19:00:00Z");
        assert_eq!(health(stored(ScheduleState::Enabled, due, &[])), Some(Health::Misfired));
        let doubt = Facts::none().with("confidence", Value::Float(0.2));
        let claim = stored(ClaimStatus::Hypothesis, doubt, &[]);
        assert_eq!(evaluate(&claim, &Viewpoint::past(NOW)).state.severity, Severity::Warning);
    }
}
