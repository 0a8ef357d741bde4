//! A team: judged by whether its owner has ended.

use callboard_kernel::health::{Judgement, TeamFacts, judge_team};
use callboard_kernel::{Entity, Facts, fact};
use callboard_lifecycle::Lifecycle;
use callboard_lifecycle::team::TeamState;

use super::rules::{JudgeInput, KindRules, typed};
use crate::judging::viewpoint::ProcessReading;

pub(super) struct Rules;

impl KindRules for Rules {
    fn judge_input(&self, entity: &Entity, state: Lifecycle) -> Option<Box<dyn JudgeInput>> {
        Some(Box::new(team(typed(state), &entity.facts)?))
    }
}

impl JudgeInput for TeamFacts {
    fn judge(&mut self, _look: ProcessReading) -> Judgement {
        judge_team(self)
    }

    fn copy(&self) -> Box<dyn JudgeInput> {
        Box::new(*self)
    }
}

/// Whether its owner has ended is not to be told from the team alone, unless it has none.
fn team(state: TeamState, facts: &Facts) -> Option<TeamFacts> {
    let owned = facts.known(fact::PARENT).is_some() && state != TeamState::Closed;
    let owner_ended = if owned { facts.read(fact::OWNER_ENDED)? } else { false };
    Some(TeamFacts { state, owner_ended })
}
