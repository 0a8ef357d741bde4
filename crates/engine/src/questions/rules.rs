//! Standing rules: answers that a person gave for all questions with the same key.
//!
//! Invariant: a rule covers a question if the question carries the key of the rule, letter by letter; nothing is matched by pattern.

use callboard_kernel::question::RuleKey;
use callboard_kernel::{EntityId, EvidenceRef, Facts, fact, one_line};
use callboard_ledger::{Ledger, Listing, ReadError, Request, Stored};
use callboard_lifecycle::rule::{RuleState, RuleTrigger};
use callboard_lifecycle::{Kind, ReasonCode};
use callboard_wire::{RuleShape, RulesShape};

use crate::tasks::{Asking, TaskError, live, reason};

const TITLE_CHARS: usize = 200;

/// The rule in force that covers a question with one of these keys; the narrowest, which comes first.
pub(super) fn covering(ledger: &Ledger, keys: &[RuleKey]) -> Result<Option<Stored>, TaskError> {
    if keys.is_empty() {
        return Ok(None);
    }
    let place = |rule: &Stored| {
        let covers = rule.entity.facts.read(fact::COVERS);
        keys.iter().position(|one| Some(one.key.as_str()) == covers)
    };
    let all = live(ledger, Kind::Rule)?.into_iter();
    let found = all.filter_map(|rule| place(&rule).map(|at| (at, rule))).min_by_key(|(at, _)| *at);
    Ok(found.map(|(_, rule)| rule))
}

/// The standing rules: those in force, or all that ever were.
pub fn rules(ledger: &Ledger, all: bool) -> Result<RulesShape, ReadError> {
    let mut stored = match all {
        false => live(ledger, Kind::Rule)?,
        true => ledger.entities(Listing { kind: Some(Kind::Rule), ended: true, limit: 0 })?,
    };
    stored.sort_by_key(|rule| rule.entity.created_at);
    Ok(RulesShape { items: stored.iter().map(shown).collect() })
}

fn shown(rule: &Stored) -> RuleShape {
    let (entity, facts) = (&rule.entity, &rule.entity.facts);
    let text = |name| facts.read(name).map(|text: &str| text.to_owned());
    RuleShape {
        id: entity.state.id.to_string(),
        state: entity.state.lifecycle.map_or("", |state| state.name()).to_owned(),
        covers: text(fact::COVERS).unwrap_or_default(),
        answer: text(fact::ANSWER).unwrap_or_default(),
        made_by: text(fact::BY),
        made_at: entity.created_at.map(|at| at.to_string()),
        question: text(fact::QUESTION),
    }
}

impl Asking<'_> {
    /// The command by which a person makes a standing rule of an answer.
    pub(super) fn new_rule(&self, question: EntityId, key: &RuleKey, answer: &str) -> Request {
        let title: String = one_line(&format!("{answer}: {}", key.key)).chars().take(TITLE_CHARS).collect();
        let data = Facts::none()
            .and(fact::TITLE, title)
            .and(fact::COVERS, key.key.as_str())
            .and(fact::SCOPE, key.scope.as_str())
            .and(fact::ANSWER, answer)
            .and(fact::BY, self.actor.id.as_str())
            .and(fact::QUESTION, question.to_string());
        // A key belongs to the answer; the rule that is made of it has an ID of its own.
        let id = self.system("rules").fresh_id(Kind::Rule);
        self.create(id, RuleState::InForce, data)
    }

    /// A person revokes a standing rule.
    pub fn revoke_rule(&self, id: EntityId, because: &str) -> Result<(), TaskError> {
        self.stored(id, Kind::Rule)?;
        let vouched = format!("{} revoked it: {because}", self.actor.id);
        let why = reason(const { ReasonCode::of("rule.revoked.operator") }, because)
            .shown_by(EvidenceRef::human_assertion(vouched));
        self.send_one(self.follow(id, RuleTrigger::RevocationAsked, why, Facts::none()))?;
        Ok(())
    }
}
