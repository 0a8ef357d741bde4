//! The view of one entity: what is recorded, judged at a moment, as every verb shows it.
//!
//! Invariant: health comes from the kernel's judge and severity from the kernel's policy, here and nowhere else, so
//! two verbs never disagree. What is not recorded is null. Deliberately absent: looking at processes; liveness is
//! what a supervisor recorded or unknown.

use callboard_kernel::health::{
    Judgement, Liveness, PlayFacts, RunClass, ScheduleFacts, SessionFacts, ShowFacts, TeamFacts, Thresholds,
    judge_play, judge_schedule, judge_session, judge_show, judge_team,
};
use callboard_kernel::{
    Axes, Chain, Confidence, Effective, Entity, EntityId, Facts, Moment, NormalizedState, StateReason, Value,
    claim_severity, normalize,
};
use callboard_ledger::Stored;
use callboard_lifecycle::claim::ClaimStatus;
use callboard_lifecycle::play::PlayState;
use callboard_lifecycle::session::SessionState;
use callboard_lifecycle::show::ShowState;
use callboard_lifecycle::team::TeamState;
use callboard_lifecycle::{Delivery, Kind, Lifecycle, Outcome, PolicyVersion, Severity, Tone, Words};
use serde::{Serialize, Serializer};

/// One entity as it is shown.
#[derive(Serialize)]
pub(crate) struct View<'a> {
    pub(crate) id: EntityId,
    pub(crate) kind: Kind,
    pub(crate) title: Option<&'a str>,
    pub(crate) labels: &'a Facts,
    pub(crate) version: u64,
    pub(crate) state: NormalizedState,
    pub(crate) chain: String,
    /// One word for a pill that stands alone.
    effective: String,
    pub(crate) created_at: Option<Moment>,
    pub(crate) started_at: Option<Moment>,
    /// When it entered the state it is in.
    pub(crate) entered_at: Option<Moment>,
    pub(crate) ended_at: Option<Moment>,
    pub(crate) last_activity_at: Option<Moment>,
    pub(crate) parent: Option<&'a str>,
    pub(crate) host: Option<&'a Value>,
    pub(crate) pid: Option<&'a Value>,
    pub(crate) exit: Exit<'a>,
    pub(crate) timeout: Timeout,
    pub(crate) artifacts: Artifacts<'a>,
    /// Everything else that was recorded.
    pub(crate) facts: Rest<'a>,
    /// How many of the reasons were recorded; those behind them are the judge's.
    #[serde(skip)]
    recorded: usize,
    /// Is it as severe as it is because of its health?
    #[serde(skip)]
    health_decides: bool,
}

/// How its process ended.
#[derive(Serialize)]
pub(crate) struct Exit<'a> {
    pub(crate) code: Option<&'a Value>,
    pub(crate) signal: Option<&'a Value>,
    pub(crate) oom: Option<&'a Value>,
    pub(crate) timed_out: Option<bool>,
}

/// Its bound, and how long it ran.
#[derive(Serialize)]
pub(crate) struct Timeout {
    pub(crate) configured_s: Option<Value>,
    pub(crate) elapsed_s: Option<Value>,
}

/// What it promised, where, and what became of it.
#[derive(Serialize)]
pub(crate) struct Artifacts<'a> {
    pub(crate) dir: Option<&'a Value>,
    pub(crate) contract: Option<&'a Value>,
    pub(crate) verification: Option<&'a Value>,
}

/// The facts that have no field of their own.
pub(crate) struct Rest<'a>(&'a Facts);

const SHOWN: [&str; 15] = [
    "artifacts",
    "delivery",
    "elapsed_ms",
    "elapsed_s",
    "exit_code",
    "host",
    "labels",
    "oom",
    "parent",
    "pid",
    "signal",
    "timed_out",
    "timeout_ms",
    "timeout_s",
    "title",
];

impl<'a> Rest<'a> {
    /// The facts in the order of their names.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'a str, &'a Value)> + use<'a> {
        self.0.iter().filter(|(name, _)| !SHOWN.contains(name))
    }
}

impl Serialize for Rest<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.iter())
    }
}

static NO_LABELS: Facts = Facts::none();

/// Judges an entity at a moment.
pub(crate) fn evaluate(stored: &Stored, now: Moment) -> View<'_> {
    let Entity { state, facts, .. } = &stored.entity;
    let judgement = judge(&stored.entity, now);
    let axes = Axes {
        lifecycle: state.lifecycle,
        outcome: None,
        health: judgement.as_ref().map(|judgement| judgement.health),
        delivery: text(facts, "delivery").and_then(|word| Delivery::parse(word).ok()),
    };
    let mut reasons = stored.entity.reasons.clone();
    let recorded = reasons.len();
    let cause = reasons.first().map(|reason| reason.code);
    let without_health = Axes { health: None, ..axes }.severity(PolicyVersion::V2, cause).0;
    reasons.extend(judgement.map(|judgement| judgement.reasons).unwrap_or_default());
    let mut shown = normalize(axes, reasons, PolicyVersion::V2, now);
    if let Some((severity, tone)) = as_claim(&stored.entity) {
        (shown.severity, shown.tone) = (severity, tone);
    }
    View {
        id: state.id,
        kind: state.id.kind(),
        title: text(facts, "title"),
        labels: map(facts, "labels").unwrap_or(&NO_LABELS),
        version: state.version,
        chain: Chain { axes, delivery_detail: text(facts, "delivery_detail") }.to_string(),
        effective: Effective(axes).to_string(),
        created_at: stored.entity.created_at,
        started_at: stored.entity.started_at,
        entered_at: stored.entity.entered_at,
        ended_at: stored.entity.ended_at,
        last_activity_at: stored.entity.last_activity_at,
        parent: text(facts, "parent"),
        host: known(facts, "host"),
        pid: known(facts, "pid"),
        exit: exit(&stored.entity),
        timeout: Timeout {
            configured_s: seconds(facts, "timeout_s", "timeout_ms"),
            elapsed_s: seconds(facts, "elapsed_s", "elapsed_ms"),
        },
        artifacts: artifacts(facts),
        facts: Rest(facts),
        recorded,
        health_decides: shown.severity < without_health,
        state: shown,
    }
}

impl View<'_> {
    /// The reason that makes it as severe as it is.
    pub(crate) fn cause(&self) -> Option<&StateReason> {
        let judged = self.judged().first();
        if self.health_decides {
            judged.or_else(|| self.state.reasons.first())
        } else {
            self.state.reasons.first()
        }
    }

    /// Since when that reason holds, as far as it is recorded: since it was last heard of, or since it is in its
    /// state.
    pub(crate) fn cause_since(&self) -> Option<Moment> {
        if self.health_decides { self.last_activity_at } else { self.entered_at }
    }

    /// The reasons of the judge, which are recorded nowhere.
    pub(crate) fn judged(&self) -> &[StateReason] {
        &self.state.reasons[self.recorded..]
    }

    /// What it is called, or what it is.
    pub(crate) fn name(&self) -> &str {
        self.title.unwrap_or(self.kind.machine().noun)
    }
}

/// The judge of the kind, asked with what is recorded; nothing where that is not enough to judge by.
fn judge(entity: &Entity, now: Moment) -> Option<Judgement> {
    let state = entity.state.lifecycle?;
    let (thresholds, facts) = (Thresholds::default(), &entity.facts);
    match state.kind() {
        Kind::Session => Some(judge_session(&session(entity, typed(state)), &thresholds, now)),
        Kind::Schedule => {
            let firing = flag(facts, "firing") == Some(true);
            let schedule = ScheduleFacts { state: typed(state), due_at: moment(facts, "due_at"), firing };
            Some(judge_schedule(&schedule, &thresholds, now))
        }
        Kind::Play => Some(judge_play(&PlayFacts { state: typed::<PlayState>(state), run: None })),
        Kind::Show => show(typed(state), facts).as_ref().map(judge_show),
        Kind::Team => team(typed(state), facts).as_ref().map(judge_team),
        Kind::Agent
        | Kind::Claim
        | Kind::Invocation
        | Kind::Subagent
        | Kind::Task
        | Kind::TaskTurn
        | Kind::Turn
        | Kind::Worker
        | Kind::Workflow => None,
    }
}

/// The state as its kind's own words.
fn typed<S: Words>(state: Lifecycle) -> S {
    S::ALL[usize::from(state.position())]
}

fn session(entity: &Entity, state: SessionState) -> SessionFacts {
    let facts = &entity.facts;
    SessionFacts {
        state,
        class: text(facts, "class").and_then(|word| RunClass::parse(word).ok()).unwrap_or(RunClass::Agent),
        created_at: entity.created_at.unwrap_or_default(),
        started_at: entity.started_at,
        last_activity_at: entity.last_activity_at,
        last_progress_at: moment(facts, "last_progress_at"),
        liveness: Liveness::Unknown,
        lease_until: moment(facts, "lease_until"),
        has_traces: facts.has("artifacts"),
        leftovers: count(facts, "leftovers").unwrap_or(0),
        errors_in_row: count(facts, "errors_in_row").unwrap_or(0),
    }
}

/// How its plays stand is told only while it is active, and only where somebody recorded it.
fn show(state: ShowState, facts: &Facts) -> Option<ShowFacts> {
    let plays = |name| match state {
        ShowState::Active => count(facts, name),
        ShowState::Draft
        | ShowState::Planned
        | ShowState::Completed
        | ShowState::Merged
        | ShowState::Failed
        | ShowState::Archived => Some(0),
    };
    Some(ShowFacts {
        state,
        plays_moving: plays("plays_moving")?,
        plays_waiting: plays("plays_waiting")?,
        plays_blocked: plays("plays_blocked")?,
    })
}

/// Whether its owner has ended is not to be told from the team alone, unless it has none.
fn team(state: TeamState, facts: &Facts) -> Option<TeamFacts> {
    let owned = facts.has("parent") && state != TeamState::Closed;
    let owner_ended = if owned { flag(facts, "owner_ended")? } else { false };
    Some(TeamFacts { state, owner_ended })
}

/// A claim is judged by how sure it is, not by an outcome.
fn as_claim(entity: &Entity) -> Option<(Severity, Tone)> {
    let state = entity.state.lifecycle.filter(|state| state.kind() == Kind::Claim)?;
    let recorded = match entity.facts.get("confidence") {
        Some(Value::Float(number)) => Some(*number),
        Some(Value::Int(number)) => Some(*number as f64),
        Some(Value::Null | Value::Bool(_) | Value::Text(_) | Value::List(_) | Value::Map(_)) | None => None,
    };
    let of_reason = || entity.reasons.first().map(|reason| reason.confidence);
    let confidence = recorded.map(Confidence::new).or_else(of_reason).unwrap_or_default();
    Some(claim_severity(typed::<ClaimStatus>(state), confidence))
}

fn exit(entity: &Entity) -> Exit<'_> {
    let facts = &entity.facts;
    // Of an ended run it is known whether its own clock ended it, whatever was recorded beside.
    let of_run = || {
        let state = entity.state.lifecycle.filter(|state| state.kind() == Kind::Session)?;
        Some(state.outcome()? == Outcome::TimedOut)
    };
    Exit {
        code: known(facts, "exit_code"),
        signal: known(facts, "signal"),
        oom: known(facts, "oom"),
        timed_out: flag(facts, "timed_out").or_else(of_run),
    }
}

fn artifacts(facts: &Facts) -> Artifacts<'_> {
    let part = |name| map(facts, "artifacts").and_then(|parts| known(parts, name));
    Artifacts { dir: part("dir"), contract: part("contract"), verification: part("verification") }
}

fn known<'a>(facts: &'a Facts, name: &str) -> Option<&'a Value> {
    facts.get(name).filter(|value| **value != Value::Null)
}

fn text<'a>(facts: &'a Facts, name: &str) -> Option<&'a str> {
    if let Some(Value::Text(text)) = facts.get(name) { Some(text) } else { None }
}

fn map<'a>(facts: &'a Facts, name: &str) -> Option<&'a Facts> {
    if let Some(Value::Map(map)) = facts.get(name) { Some(map) } else { None }
}

fn flag(facts: &Facts, name: &str) -> Option<bool> {
    if let Some(Value::Bool(yes)) = facts.get(name) { Some(*yes) } else { None }
}

fn count(facts: &Facts, name: &str) -> Option<u32> {
    if let Some(Value::Int(number)) = facts.get(name) { u32::try_from(*number).ok() } else { None }
}

fn moment(facts: &Facts, name: &str) -> Option<Moment> {
    text(facts, name).and_then(|text| text.parse().ok())
}

fn seconds(facts: &Facts, whole: &str, thousandths: &str) -> Option<Value> {
    let of_thousandths = || match facts.get(thousandths) {
        Some(Value::Int(number)) => Some(Value::Float(*number as f64 / 1000.0)),
        Some(
            Value::Null | Value::Bool(_) | Value::Float(_) | Value::Text(_) | Value::List(_) | Value::Map(_),
        )
        | None => None,
    };
    known(facts, whole).cloned().or_else(of_thousandths)
}

#[cfg(test)]
mod tests {
    use callboard_kernel::{EvidenceRef, State};
    use callboard_ledger::Hash;
    use callboard_lifecycle::schedule::ScheduleState;
    use callboard_lifecycle::{Health, reason};
    use serde_json::json;
    use uuid::Uuid;

    use super::*;

    const NOW: Moment = Moment::from_micros(1_794_770_358_000_000);

    fn stored(state: impl Into<Lifecycle>, facts: Facts, reasons: &[&str]) -> Stored {
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

    #[test]
    fn every_field_others_rely_on_is_there_and_unknown_is_null() {
        let stored = stored(SessionState::Running, Facts::none(), &["run.started.ok"]);
        let view = serde_json::to_value(evaluate(&stored, NOW)).unwrap();
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
    fn facts_come_to_stand_in_their_fields() {
        let facts: Facts = serde_json::from_value(json!({
            "title": "fix the bug", "labels": {"team": "a"}, "exit_code": 2, "oom": true, "timeout_s": 900,
            "elapsed_ms": 1500, "host": "h", "pid": 7, "delivery": "passed", "tokens": 12,
            "artifacts": {"dir": "/tmp/a", "contract": []},
        }))
        .unwrap();
        let stored = stored(SessionState::Failed, facts, &["run.failed.oom"]);
        let view = serde_json::to_value(evaluate(&stored, NOW)).unwrap();
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
        let code = |stored: &Stored| evaluate(stored, NOW).cause().map(|reason| reason.code.as_str());
        assert_eq!(code(&lease(60)), Some("run.started.ok"));
        assert_eq!(code(&lease(-60)), Some("run.health.disconnected"));
        let lapsed = lease(-60);
        let view = evaluate(&lapsed, NOW);
        assert_eq!(view.cause_since(), lapsed.entity.last_activity_at);
        assert_eq!((view.judged().len(), view.state.health), (1, Some(Health::Disconnected)));
    }

    #[test]
    fn a_kind_is_judged_by_what_is_known_of_it_and_a_claim_by_how_sure_it_is() {
        let health = |stored: Stored| evaluate(&stored, NOW).state.health;
        assert_eq!(health(stored(ShowState::Planned, Facts::none(), &[])), Some(Health::Ok));
        assert_eq!(health(stored(ShowState::Active, Facts::none(), &[])), None);
        assert_eq!(health(stored(TeamState::Idle, Facts::none(), &[])), Some(Health::Ok));
        assert_eq!(health(stored(TeamState::Idle, Facts::none().with("parent", "p"), &[])), None);
        let due = Facts::none().with("due_at", "2026-11-15T19:00:00Z");
        assert_eq!(health(stored(ScheduleState::Enabled, due, &[])), Some(Health::Misfired));
        let doubt = Facts::none().with("confidence", Value::Float(0.2));
        let claim = stored(ClaimStatus::Hypothesis, doubt, &[]);
        assert_eq!(evaluate(&claim, NOW).state.severity, Severity::Warning);
    }
}
