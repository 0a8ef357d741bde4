//! A show: judged by how its plays stand.

use callboard_kernel::health::{Judgement, ShowFacts, judge_show};
use callboard_kernel::{Entity, Facts, fact};
use callboard_lifecycle::Lifecycle;
use callboard_lifecycle::show::ShowState;

use super::rules::{JudgeInput, KindRules, typed};
use crate::judging::viewpoint::ProcessReading;

pub(super) struct Rules;

impl KindRules for Rules {
    fn judge_input(&self, entity: &Entity, state: Lifecycle) -> Option<Box<dyn JudgeInput>> {
        Some(Box::new(show(typed(state), &entity.facts)?))
    }
}

impl JudgeInput for ShowFacts {
    fn judge(&mut self, _look: ProcessReading) -> Judgement {
        judge_show(self)
    }

    fn copy(&self) -> Box<dyn JudgeInput> {
        Box::new(*self)
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
