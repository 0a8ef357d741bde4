//! Asking: the command that lets a question come to be, answered at once where a standing rule covers it.

use callboard_kernel::{EntityId, EvidenceRef, Facts, fact};
use callboard_ledger::{Group, Request, Stored};
use callboard_lifecycle::question::{QuestionState, QuestionTrigger};
use callboard_lifecycle::{Kind, ReasonCode};

use super::answering::DESK;
use super::new_question::{NewQuestion, PermissionRequest};
use super::rules::covering;
use crate::tasks::{Asking, TaskError, reason};

impl Asking<'_> {
    /// Asks a question of a person.
    pub fn ask(&self, question: &NewQuestion) -> Result<EntityId, TaskError> {
        let (id, requests) = self.question(question)?;
        self.send_all(requests.into_iter())?;
        Ok(id)
    }

    /// An agent asks whether it may use a tool.
    pub fn ask_permission(&self, request: &PermissionRequest) -> Result<EntityId, TaskError> {
        self.ask(&request.question(self.now)?)
    }

    /// The commands that ask a question in the name of whoever asks; with those that answer it if a standing rule does.
    pub(crate) fn question(&self, question: &NewQuestion) -> Result<(EntityId, Vec<Request>), TaskError> {
        question.check()?;
        let id = self.fresh_id(Kind::Question);
        let asked = self.create(id, QuestionState::Asked, question.facts(&self.actor.id));
        let mut requests = vec![asked];
        if let Some(rule) = covering(self.ledger, &question.rule_keys)? {
            requests.extend(self.rule_applied(id, question, &rule));
        }
        Ok((id, requests))
    }

    /// The commands that record a question of Callboard itself with the answer of a standing rule, if a rule gives this answer; with the IDs of
    /// the question and of the rule.
    pub(crate) fn answered_by_rule(
        &self,
        question: &NewQuestion,
        answer: &str,
    ) -> Result<Option<(EntityId, EntityId, Vec<Request>)>, TaskError> {
        let Some(rule) = covering(self.ledger, &question.rule_keys)? else { return Ok(None) };
        if rule.entity.facts.read(fact::ANSWER) != Some(answer) {
            return Ok(None);
        }
        let (id, requests) = self.desk_question(question)?;
        Ok(Some((id, rule.entity.state.id, requests)))
    }

    /// The command by which a standing rule answers.
    pub(super) fn rule_applied(
        &self,
        id: EntityId,
        question: &NewQuestion,
        rule: &Stored,
    ) -> Option<Request> {
        let facts = &rule.entity.facts;
        let (rule_id, answer) = (rule.entity.state.id, facts.read(fact::ANSWER)?);
        // A rule that was made for other options says nothing here.
        if !question.options.iter().any(|option| option.name == answer) {
            return None;
        }
        let made_by = facts.read(fact::BY).unwrap_or("a person");
        let told = format!("{made_by} decided it for {}", facts.read(fact::COVERS).unwrap_or_default());
        let why = reason(const { ReasonCode::of("question.answered.rule") }, told.as_str())
            .shown_by(EvidenceRef::human_assertion(format!("standing rule {rule_id}: {told}")));
        let data = Facts::none()
            .and(fact::ANSWER, answer)
            .and(fact::ANSWERED_BY, made_by)
            .and(fact::STANDING_RULE, rule_id.to_string());
        Some(self.system("rules").follow(id, QuestionTrigger::RuleApplied, why, data))
    }

    /// The commands that ask a question of Callboard itself, whose answer does something, and its ID.
    pub(crate) fn desk_question(
        &self,
        question: &NewQuestion,
    ) -> Result<(EntityId, Vec<Request>), TaskError> {
        self.system(DESK).question(question)
    }

    /// Takes back what whoever asks has asked.
    pub fn retract(&self, id: EntityId, because: &str) -> Result<(), TaskError> {
        self.stored(id, Kind::Question)?;
        let why = reason(const { ReasonCode::of("question.withdrawn.retracted") }, because);
        self.send_one(self.follow(id, QuestionTrigger::Retracted, why, Facts::none()))?;
        Ok(())
    }

    /// Sends commands that belong together.
    pub(crate) fn send_together(&self, first: Request, rest: Vec<Request>) -> Result<(), TaskError> {
        self.send(rest.into_iter().fold(Group::new(first), Group::and))?;
        Ok(())
    }
}
