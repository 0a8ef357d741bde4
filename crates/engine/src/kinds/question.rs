//! A question: told by its subject where both need the same person, and offered to be answered.

use callboard_kernel::{Axes, Entity, question};
use callboard_lifecycle::{Lifecycle, PolicyVersion, Severity, Tone};

use super::rules::{KindRules, KindService};
use crate::judging::view::View;
use crate::questions::QuestionService;

pub(super) struct Rules;

impl KindRules for Rules {
    fn severity(&self, entity: &Entity, state: Lifecycle) -> Option<(Severity, Tone)> {
        let axes = Axes { lifecycle: Some(state), outcome: None, health: None, delivery: None };
        let tone = || axes.severity(PolicyVersion::V2, None).1;
        question::is_told_by_subject(&entity.facts).then(|| (Severity::Neutral, tone()))
    }

    fn commands(&self, view: &View<'_>) -> &'static [&'static str] {
        if view.ended_at.is_some() { &[] } else { &["answer"] }
    }

    fn services(&self) -> Vec<KindService> {
        let does =
            "lets the defaults of questions take effect, and withdraws questions whose asker has ended";
        vec![KindService { does, service: Box::new(QuestionService) }]
    }
}
