//! What the kernel's judges are asked with: the recorded facts of each kind, and a look at its process.
//!
//! Invariant: nothing is judged here; where too little is recorded the answer is nothing, never a guess.

use callboard_kernel::health::{
    CompletedWith, Hold, Judgement, Liveness, PlayFacts, Presence, ProcessIdentity, RunClass, ScheduleFacts,
    SessionFacts, ShowFacts, Since, Stopping, TeamFacts, Thresholds, judge_play, judge_schedule,
    judge_session, judge_show, judge_team,
};
use callboard_kernel::{Entity, Facts, Phase, Value, fact, phase};
use callboard_ledger::is_unwitnessed_end;
use callboard_lifecycle::play::PlayState;
use callboard_lifecycle::session::SessionState;
use callboard_lifecycle::show::ShowState;
use callboard_lifecycle::team::TeamState;
use callboard_lifecycle::{Kind, Lifecycle, PhaseName, ReasonCode, Words};

use crate::judging::recorded::{command, keeper, survivors};
use crate::judging::viewpoint::{ProcessReading, Recorded, Viewpoint};
use crate::mutant;
use crate::run::checks_of;

/// What the judge of a kind is asked with, read once; nothing where that is not enough to judge by.
#[derive(Clone, Debug)]
pub(crate) enum Basis {
    /// A run: its facts, and its processes.
    Session(Box<(SessionFacts, Recorded)>),
    Schedule(ScheduleFacts),
    Play(PlayFacts),
    Show(ShowFacts),
    Team(TeamFacts),
    Nothing,
}

impl Basis {
    pub(crate) fn of(entity: &Entity) -> Self {
        let (Some(state), facts) = (entity.state.lifecycle, &entity.facts) else { return Self::Nothing };
        match state.kind() {
            Kind::Session => {
                let run = session(entity, typed(state));
                let processes = recorded(entity, &run);
                Self::Session(Box::new((run, processes)))
            }
            Kind::Schedule => {
                let firing = facts.read(fact::FIRING) == Some(true);
                Self::Schedule(ScheduleFacts {
                    state: typed(state),
                    due_at: facts.read(fact::DUE_AT),
                    firing,
                })
            }
            Kind::Play => Self::Play(PlayFacts { state: typed::<PlayState>(state), run: None }),
            Kind::Show => show(typed(state), facts).map_or(Self::Nothing, Self::Show),
            Kind::Team => team(typed(state), facts).map_or(Self::Nothing, Self::Team),
            Kind::Agent
            | Kind::Claim
            | Kind::Invocation
            | Kind::Subagent
            | Kind::Task
            | Kind::TaskTurn
            | Kind::Turn
            | Kind::Worker
            | Kind::Workflow => Self::Nothing,
        }
    }

    /// Looks at its processes, as far as they can be seen from here.
    pub(crate) fn look(&self, sight: &Viewpoint<'_>) -> ProcessReading {
        match self {
            Self::Session(run) => sight.look(&run.1),
            Self::Schedule(_) | Self::Play(_) | Self::Show(_) | Self::Team(_) | Self::Nothing => {
                sight.without_processes()
            }
        }
    }

    /// What it is doing, as it was judged with the last look.
    pub(crate) fn phase(&self, look: ProcessReading) -> Option<Phase> {
        match self {
            Self::Session(run) => phase(&run.0, look.at),
            Self::Schedule(_) | Self::Play(_) | Self::Show(_) | Self::Team(_) | Self::Nothing => None,
        }
    }

    /// The processes whose end changes what is said of it.
    pub(crate) fn processes(&self) -> Vec<ProcessIdentity> {
        self.recorded().map(Recorded::processes).unwrap_or_default()
    }

    /// The processes of a run, as far as they are recorded.
    pub(crate) fn recorded(&self) -> Option<&Recorded> {
        match self {
            Self::Session(run) => Some(&run.1),
            Self::Schedule(_) | Self::Play(_) | Self::Show(_) | Self::Team(_) | Self::Nothing => None,
        }
    }

    /// Asks the judge.
    pub(crate) fn judge(&mut self, look: ProcessReading) -> Option<Judgement> {
        let (thresholds, now) = (Thresholds::default(), look.at);
        match self {
            Self::Session(run) => {
                (run.0.liveness, run.0.presence) = (look.liveness, look.presence);
                forget_what_is_removed(&mut run.0);
                Some(judge_session(&run.0, &thresholds, now))
            }
            Self::Schedule(facts) => Some(judge_schedule(facts, &thresholds, now)),
            Self::Play(facts) => Some(judge_play(facts)),
            Self::Show(facts) => Some(judge_show(facts)),
            Self::Team(facts) => Some(judge_team(facts)),
            Self::Nothing => None,
        }
    }
}

/// The state as its kind's own words.
pub(crate) fn typed<S: Words>(state: Lifecycle) -> S {
    S::ALL[usize::from(state.position())]
}

fn recorded(entity: &Entity, run: &SessionFacts) -> Recorded {
    let facts = &entity.facts;
    let id = entity.state.id.to_string();
    let checks =
        facts.read(fact::ARTIFACTS).is_some_and(|artifacts| artifacts.known(fact::CONTRACT).is_some());
    let markers = if checks { vec![checks_of(&id), id] } else { vec![id] };
    Recorded {
        keeper: keeper(facts),
        command: command(facts),
        markers: markers.into(),
        is_ended: run.state.is_terminal(),
        is_end_unwitnessed: is_unwitnessed_end(entity),
        is_kill_unconfirmed: run.kill_unconfirmed,
        survivors: survivors(facts),
    }
}

fn session(entity: &Entity, state: SessionState) -> SessionFacts {
    let facts = &entity.facts;
    let unconfirmed = const { ReasonCode::of("run.health.kill_unconfirmed") };
    SessionFacts {
        state,
        class: facts.read(fact::CLASS).and_then(|word| RunClass::parse(word).ok()).unwrap_or(RunClass::Agent),
        created_at: entity.created_at.unwrap_or_default(),
        started_at: entity.started_at,
        last_activity_at: entity.last_activity_at,
        last_progress_at: facts.read(fact::LAST_PROGRESS_AT),
        liveness: Liveness::Unknown,
        presence: Presence::default(),
        pid: facts.read(fact::PID),
        lease_until: facts.read(fact::LEASE_UNTIL),
        has_traces: facts.known(fact::PID).is_some() || facts.known(fact::ARTIFACTS).is_some(),
        leftovers: facts.read(fact::LEFTOVERS).or_else(|| (!may_outlive(entity)).then_some(0)),
        kill_unconfirmed: entity.reasons.iter().any(|reason| reason.code == unconfirmed),
        later_end: facts.read(fact::LATER_END).and_then(|end| end.read(fact::MESSAGE)).map(str::to_owned),
        warning: warning(entity),
        errors_in_row: facts.read(fact::ERRORS_IN_ROW).unwrap_or(0),
        waits_for: facts
            .read(fact::WAITS_FOR)
            .map(|what| Since { what: what.to_owned(), at: facts.read(fact::WAITS_SINCE) }),
        waits_inferred: facts.read(fact::WAITS_BY).is_some_and(|by| by.ends_with("(inferred)")),
        limited_until: facts
            .read(fact::LIMITED_UNTIL)
            .map(|what| Since { what, at: facts.read(fact::LIMITED_SINCE) }),
        retrying: facts.read(fact::RETRYING).and_then(|retrying| {
            let count = retrying.read(fact::COUNT).filter(|count| *count > 0)?;
            Some((count, retrying.value(fact::LAST_ERROR).and_then(said)))
        }),
        looping: facts.read(fact::LOOPING).and_then(|looping| looping.read(fact::STEPS)),
        held: held(facts),
        stopping: facts.read(fact::STOPPING).and_then(|stopping| {
            let by = stopping.read(fact::BY).map(str::to_owned);
            let what = Stopping { cause: stopping.read(fact::CAUSE)?.to_owned(), by };
            Some(Since { what, at: stopping.read(fact::SINCE) })
        }),
        exited: exited(facts),
        after_exit: facts
            .read(fact::PHASE)
            .and_then(|word| PhaseName::parse(word).ok())
            .filter(|phase| matches!(phase, PhaseName::Draining | PhaseName::Checking))
            .map(|what| Since { what, at: facts.read(fact::PHASE_SINCE) }),
        restored_at: facts.read(fact::RESTORED_AT),
    }
}

/// Was a run ended by somebody who did not look for its processes, and did it have any?
fn may_outlive(entity: &Entity) -> bool {
    is_unwitnessed_end(entity) && entity.facts.known(fact::SUPERVISOR).is_some()
}

/// What somebody should know of a run that completed.
fn warning(entity: &Entity) -> Option<CompletedWith> {
    let has = |code: ReasonCode| entity.reasons.iter().any(|reason| reason.code == code);
    if has(const { ReasonCode::of("run.completed.denied") }) {
        let tools = match entity.facts.value(fact::DENIED) {
            Some(Value::List(tools)) => tools.iter().filter_map(said).collect::<Vec<_>>().join(", "),
            Some(_) | None => "a tool".to_owned(),
        };
        return Some(CompletedWith::Denied(tools));
    }
    has(const { ReasonCode::of("run.completed.truncated") }).then_some(CompletedWith::CutAnswer)
}

/// Leaves out what a judge without a safeguard would not know.
fn forget_what_is_removed(run: &mut SessionFacts) {
    if mutant::removed("pause_is_seen") {
        (run.held, run.presence.command_hold, run.presence.supervisor_hold) = (None, None, None);
    }
    if mutant::removed("agents_conditions") {
        (run.waits_for, run.limited_until, run.retrying, run.looping) = (None, None, None, None);
    }
}

/// What holds its command, as its supervisor recorded it.
fn held(facts: &Facts) -> Option<Since<Option<Hold>>> {
    let what = facts.read(fact::STOPPED_BY).and_then(|word| Hold::parse(word).ok());
    let is_stopped = facts.read(fact::IS_STOPPED) == Some(true);
    is_stopped.then(|| Since { what, at: facts.read(fact::STOPPED_SINCE) })
}

/// How its command ended, in words, read before the end of the run.
fn exited(facts: &Facts) -> Option<Since<String>> {
    let exited = facts.read(fact::EXITED)?;
    let what = match (exited.read(fact::CODE), exited.read(fact::SIGNAL)) {
        (Some(code), _) => format!("exited with {code}"),
        (None, Some(signal)) => format!("was killed by signal {signal}"),
        (None, None) => return None,
    };
    Some(Since { what, at: exited.read(fact::AT) })
}

/// A value as it is said in a sentence; an error may be recorded as a text or as a number.
fn said(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) if !text.is_empty() => Some(text.clone()),
        Value::Int(number) => Some(number.to_string()),
        Value::Text(_) | Value::Null | Value::Bool(_) | Value::Float(_) | Value::List(_) | Value::Map(_) => {
            None
        }
    }
}

/// How its plays stand is told only while it is active, and only where somebody recorded it.
fn show(state: ShowState, facts: &Facts) -> Option<ShowFacts> {
    let plays = |name| match state {
        ShowState::Active => facts.read(name),
        ShowState::Draft
        | ShowState::Planned
        | ShowState::Completed
        | ShowState::Merged
        | ShowState::Failed
        | ShowState::Archived => Some(0),
    };
    Some(ShowFacts {
        state,
        plays_moving: plays(fact::PLAYS_MOVING)?,
        plays_waiting: plays(fact::PLAYS_WAITING)?,
        plays_blocked: plays(fact::PLAYS_BLOCKED)?,
    })
}

/// Whether its owner has ended is not to be told from the team alone, unless it has none.
fn team(state: TeamState, facts: &Facts) -> Option<TeamFacts> {
    let owned = facts.known(fact::PARENT).is_some() && state != TeamState::Closed;
    let owner_ended = if owned { facts.read(fact::OWNER_ENDED)? } else { false };
    Some(TeamFacts { state, owner_ended })
}
