//! What the kernel's judges are asked with: the recorded facts of each kind, and a look at its process.
//!
//! Invariant: nothing is judged here; where too little is recorded the answer is nothing, never a guess.

use callboard_kernel::Entity;
use callboard_kernel::Facts;
use callboard_kernel::health::{
    Judgement, Liveness, PlayFacts, ProcessIdentity, RunClass, ScheduleFacts, SessionFacts, ShowFacts,
    TeamFacts, Thresholds, judge_play, judge_schedule, judge_session, judge_show, judge_team,
};
use callboard_lifecycle::play::PlayState;
use callboard_lifecycle::session::SessionState;
use callboard_lifecycle::show::ShowState;
use callboard_lifecycle::team::TeamState;
use callboard_lifecycle::{Kind, Lifecycle, Words};

use crate::read::{count, flag, keeper, moment, text};
use crate::sight::{Look, Sight};

/// What the judge of a kind is asked with, read once; nothing where that is not enough to judge by.
#[derive(Clone, Debug)]
pub(crate) enum Basis {
    /// A run: its facts, and the process that answers for it.
    Session(Box<(SessionFacts, Option<ProcessIdentity>)>),
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
            Kind::Session => Self::Session(Box::new((session(entity, typed(state)), keeper(facts)))),
            Kind::Schedule => {
                let firing = flag(facts, "firing") == Some(true);
                Self::Schedule(ScheduleFacts { state: typed(state), due_at: moment(facts, "due_at"), firing })
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

    /// Is its process alive, as far as it can be told from here?
    pub(crate) fn liveness(&self, sight: &Sight<'_>) -> Liveness {
        match self {
            Self::Session(run) => sight.liveness(run.1.as_ref()),
            Self::Schedule(_) | Self::Play(_) | Self::Show(_) | Self::Team(_) | Self::Nothing => {
                Liveness::Unknown
            }
        }
    }

    /// Asks the judge.
    pub(crate) fn judge(&mut self, look: Look) -> Option<Judgement> {
        let (thresholds, now) = (Thresholds::default(), look.at);
        match self {
            Self::Session(run) => {
                run.0.liveness = look.liveness;
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
        has_traces: facts.has("pid") || facts.has("artifacts"),
        leftovers: count(facts, "leftovers").unwrap_or(0),
        errors_in_row: count(facts, "errors_in_row").unwrap_or(0),
        waits_for: text(facts, "waits_for").or_else(|| stopped(facts)).map(str::to_owned),
        limited_until: moment(facts, "limited_until"),
    }
}

/// What a process waits for that somebody stopped.
fn stopped(facts: &Facts) -> Option<&'static str> {
    let is_stopped = flag(facts, "is_stopped") == Some(true);
    is_stopped.then_some("somebody to let it go on: its process was stopped with STOP")
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
