//! A schedule: judged by when it is due, and whether it fires.

use callboard_kernel::health::{Judgement, ScheduleFacts, Thresholds, judge_schedule};
use callboard_kernel::{Entity, fact};
use callboard_lifecycle::Lifecycle;

use super::rules::{JudgeInput, KindRules, typed};
use crate::judging::viewpoint::ProcessReading;

pub(super) struct Rules;

impl KindRules for Rules {
    fn judge_input(&self, entity: &Entity, state: Lifecycle) -> Option<Box<dyn JudgeInput>> {
        let facts = &entity.facts;
        let firing = facts.read(fact::FIRING) == Some(true);
        Some(Box::new(ScheduleFacts { state: typed(state), due_at: facts.read(fact::DUE_AT), firing }))
    }
}

impl JudgeInput for ScheduleFacts {
    fn judge(&mut self, look: ProcessReading) -> Judgement {
        judge_schedule(self, &Thresholds::default(), look.at)
    }

    fn copy(&self) -> Box<dyn JudgeInput> {
        Box::new(*self)
    }
}
