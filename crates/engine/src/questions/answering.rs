//! Answering: a person's answer, what it does to the task that it is about, and the standing rule that is made of it.
//!
//! Invariant: the answer, its effect and its rule are one group. A decision about a task that was made in another way answers the open
//! question about it in the same group, or withdraws it. The first answer wins; whoever comes later is told what it was.

use callboard_kernel::question::{self, Moot, RuleKey};
use callboard_kernel::{EntityId, EvidenceRef, Facts, RefusalCode, fact};
use callboard_ledger::{Page, RecordScope, Request, Stored};
use callboard_lifecycle::question::{QuestionSource, QuestionTrigger};
use callboard_lifecycle::{ActorClass, Kind, ReasonCode, Words};

use crate::tasks::{Asking, TaskError, id_in, reason, refused, unfit};

/// The name under which Callboard itself asks.
pub(super) const DESK: &str = "desk";

/// Lets something happen: a plan is done, a result is merged.
pub(crate) const APPROVE: &str = "approve";
/// Does not let it happen.
pub(crate) const REJECT: &str = "reject";
/// The result is to be done again.
pub(crate) const SEND_BACK: &str = "send back";
/// The task is called off.
pub(crate) const CANCEL: &str = "cancel";
/// The task goes on without what it waited for.
pub(crate) const GO_ON: &str = "go on";

/// An answer that a person gives.
#[derive(Clone, Copy, Debug)]
pub struct Answering<'t> {
    /// One of the options, or any text where the question has none.
    pub option: &'t str,
    /// Why.
    pub because: &'t str,
    /// How much a standing rule covers, if the answer is to be one.
    pub always: Option<&'t str>,
}

impl Asking<'_> {
    /// A person answers a question: what was asked for happens, or does not.
    pub fn answer(&self, id: EntityId, answer: &Answering<'_>) -> Result<(), TaskError> {
        let stored = self.stored(id, Kind::Question)?;
        if !question::is_open(&stored.entity) {
            return Err(over(&stored));
        }
        let asking = match answer.always {
            None => self.clone(),
            Some(scope) => self.making_rule(rule_key(&stored, scope)?),
        };
        match asking.decide(&stored, answer) {
            // Of two who answer at once one is told what the other said.
            Err(TaskError::Refused(refusal)) => {
                let now = self.stored(id, Kind::Question)?;
                if question::is_open(&now.entity) {
                    Err(TaskError::Refused(refusal))
                } else {
                    Err(over(&now))
                }
            }
            done => done,
        }
    }

    fn decide(&self, stored: &Stored, answer: &Answering<'_>) -> Result<(), TaskError> {
        let Answering { option, because, .. } = *answer;
        // A decision without a reason is told in the words of the answer.
        let because = if because.is_empty() { option } else { because };
        let subject = question::subject(&stored.entity.facts);
        let (Some(source), Some(subject)) = (self.effective_source(stored)?, subject) else {
            return self.only_answer(stored, answer);
        };
        match (source, option) {
            (QuestionSource::Plan, APPROVE) => self.approve_plan(&self.planned_with(subject)?, because),
            (QuestionSource::Plan, REJECT) => self.reject_plan(&self.planned_with(subject)?, because),
            (QuestionSource::Review, APPROVE) => self.approve(subject, because, false).map(drop),
            (QuestionSource::Review, REJECT) => self.turn_down(subject, because, false),
            (QuestionSource::Review, SEND_BACK) => self.turn_down(subject, because, true),
            (QuestionSource::Review | QuestionSource::Dependency, CANCEL) => self.cancel(subject, because),
            (QuestionSource::Dependency, GO_ON) => self.unblock(subject, because),
            _ => self.only_answer(stored, answer),
        }
    }

    /// Records the answer alone; whoever asked reads it.
    fn only_answer(&self, stored: &Stored, answer: &Answering<'_>) -> Result<(), TaskError> {
        self.send_all(self.answered(stored, answer.option, answer.because).into_iter())
    }

    /// What an answer to a question does. Only what Callboard itself asked does anything: an agent could name any task and any source.
    fn effective_source(&self, stored: &Stored) -> Result<Option<QuestionSource>, TaskError> {
        let page = Page { after: 0, limit: 1, scope: RecordScope::Entity(stored.entity.state.id) };
        let first = self.ledger.records(page)?.into_iter().next();
        let is_own = first
            .is_some_and(|record| record.actor_type == ActorClass::System.name() && record.actor_id == DESK);
        Ok(question::source(&stored.entity.facts).filter(|_| is_own))
    }

    /// The commands by which a person answers, and by which the answer becomes a standing rule.
    fn answered(&self, stored: &Stored, option: &str, because: &str) -> Vec<Request> {
        let (id, who) = (stored.entity.state.id, self.actor.id.as_str());
        let vouched = format!("{who} answered {option:?}: {because}");
        let why = reason(const { ReasonCode::of("question.answered.person") }, format!("{who}: {option}"))
            .shown_by(EvidenceRef::human_assertion(vouched));
        let data = Facts::none()
            .and(fact::ANSWER, option)
            .and(fact::ANSWERED_BY, who)
            .and(fact::BECAUSE, Some(because).filter(|text| !text.is_empty() && *text != option));
        let mut requests = vec![self.follow(id, QuestionTrigger::AnswerGiven, why, data)];
        if let Some(key) = &self.rule {
            requests.push(self.new_rule(id, key, option));
        }
        requests
    }

    /// The commands about the open question of a task that is being decided: a person's decision answers it, and whatever else
    /// happens to the task withdraws it.
    pub(crate) fn settling(
        &self,
        task: &Stored,
        option: &str,
        because: &str,
    ) -> Result<Vec<Request>, TaskError> {
        let Some(id) = id_in(task, fact::QUESTION) else { return Ok(Vec::new()) };
        let Some(stored) = self.ledger.entity(id)?.filter(|stored| question::is_open(&stored.entity)) else {
            return Ok(Vec::new());
        };
        let is_offered = question::options(&stored.entity.facts).iter().any(|one| one.name == option);
        if self.actor.class == ActorClass::Operator && is_offered {
            return Ok(self.answered(&stored, option, because));
        }
        Ok(vec![self.withdrawal(id, Moot::Settled)])
    }

    /// The command that withdraws a question which needs no answer any more.
    pub(super) fn withdrawal(&self, id: EntityId, moot: Moot) -> Request {
        let (trigger, why) = match moot {
            Moot::AskerEnded => (
                QuestionTrigger::AskerEnded,
                reason(const { ReasonCode::of("question.withdrawn.asker_ended") }, "whoever asked has ended"),
            ),
            Moot::Settled => (
                QuestionTrigger::Settled,
                reason(
                    const { ReasonCode::of("question.withdrawn.settled") },
                    "it was decided in another way",
                ),
            ),
        };
        self.system(DESK).follow(id, trigger, why, Facts::none())
    }
}

/// The standing rule that a word stands for.
fn rule_key(stored: &Stored, scope: &str) -> Result<RuleKey, TaskError> {
    let keys = question::rule_keys(&stored.entity.facts);
    if let Some(key) = keys.iter().find(|key| key.scope == scope) {
        return Ok(key.clone());
    }
    let names: Vec<&str> = keys.iter().map(|key| key.scope.as_str()).collect();
    let help = match names.as_slice() {
        [] => "answer it without --always".to_owned(),
        names => format!("use one of: {}", names.join(", ")),
    };
    Err(unfit(format!("no standing rule of scope {scope:?} can be made of this question"), help))
}

/// The question is not open any more.
fn over(stored: &Stored) -> TaskError {
    let facts = &stored.entity.facts;
    let state = stored.entity.state.lifecycle.map_or("over", |state| state.name());
    let problem = match (facts.read(fact::ANSWERED_BY), facts.read(fact::ANSWER)) {
        (Some(who), Some(answer)) => format!("{who} answered it already: {answer}"),
        _ => format!("it is {state} already"),
    };
    let help = format!("see what became of it: callboard why {}", stored.entity.state.id);
    refused(stored, RefusalCode::Ended, &problem, help)
}
