//! A play: judged by its state.

use callboard_kernel::Entity;
use callboard_kernel::health::{Judgement, PlayFacts, judge_play};
use callboard_lifecycle::Lifecycle;

use super::rules::{JudgeInput, KindRules, typed};
use crate::judging::viewpoint::ProcessReading;

pub(super) struct Rules;

impl KindRules for Rules {
    fn judge_input(&self, _entity: &Entity, state: Lifecycle) -> Option<Box<dyn JudgeInput>> {
        Some(Box::new(PlayFacts { state: typed(state), run: None }))
    }
}

impl JudgeInput for PlayFacts {
    fn judge(&mut self, _look: ProcessReading) -> Judgement {
        judge_play(self)
    }

    fn copy(&self) -> Box<dyn JudgeInput> {
        Box::new(*self)
    }
}
