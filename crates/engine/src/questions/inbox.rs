//! Questions as people read them: all that are open, or those of the past too.
//!
//! Invariant: who asked is read from the record, because an agent could write any name into a fact.

use callboard_kernel::{fact, question};
use callboard_ledger::{Ledger, Page, ReadError, RecordScope, Sequence, Slice, Stored};
use callboard_lifecycle::{ActorClass, Kind, Words};
use callboard_wire::{InboxShape, QuestionShape, RuleScopeShape, SubjectShape};

use super::answering::DESK;
use crate::tasks::live;

/// Reads the inbox: open questions, or the newest of all, as many as the limit says.
pub fn inbox(ledger: &Ledger, all: Option<usize>) -> Result<InboxShape, ReadError> {
    let stored = match all {
        None => live(ledger, Kind::Question)?,
        Some(limit) => {
            let newest =
                Slice { kind: Some(Kind::Question), order: Sequence::Newest, limit, ..Slice::default() };
            let mut all = ledger.slice(newest)?;
            all.reverse();
            all
        }
    };
    let items = stored.iter().map(|stored| shown(ledger, stored)).collect::<Result<_, _>>()?;
    Ok(InboxShape { items })
}

/// One question.
pub fn shown(ledger: &Ledger, stored: &Stored) -> Result<QuestionShape, ReadError> {
    let (entity, facts) = (&stored.entity, &stored.entity.facts);
    let text = |name| facts.read(name).map(|text: &str| text.to_owned());
    let subject = match question::subject(facts) {
        None => None,
        Some(id) => {
            let subject = ledger.entity(id)?;
            let title = subject.and_then(|it| it.entity.facts.read(fact::TITLE).map(str::to_owned));
            Some(SubjectShape { kind: id.kind().name().to_owned(), id: id.to_string(), title })
        }
    };
    let scopes = question::rule_keys(facts).into_iter();
    Ok(QuestionShape {
        id: entity.state.id.to_string(),
        state: entity.state.lifecycle.map_or("", |state| state.name()).to_owned(),
        source: text(fact::SOURCE),
        subject,
        text: text(fact::TEXT).or_else(|| text(fact::TITLE)).unwrap_or_default(),
        context: text(fact::CONTEXT),
        options: question::options(facts).into_iter().map(|option| option.name).collect(),
        default: question::on_expiry(facts).name().to_owned(),
        asked_at: entity.created_at.map(|at| at.to_string()),
        expires_at: facts.read(fact::EXPIRES_AT).map(|at| at.to_string()),
        asked_by: asker(ledger, stored)?,
        answerers: question::answerers(facts).into_iter().map(str::to_owned).collect(),
        scopes: scopes.map(|key| RuleScopeShape { scope: key.scope, covers: key.key }).collect(),
        answer: text(fact::ANSWER),
        answered_by: text(fact::ANSWERED_BY),
        because: text(fact::BECAUSE),
        rule: text(fact::STANDING_RULE),
        ended_at: entity.ended_at.map(|at| at.to_string()),
    })
}

/// Who asked: whoever recorded it, or callboard.
pub(super) fn asker(ledger: &Ledger, stored: &Stored) -> Result<Option<String>, ReadError> {
    let page = Page { after: 0, limit: 1, scope: RecordScope::Entity(stored.entity.state.id) };
    let Some(first) = ledger.records(page)?.into_iter().next() else { return Ok(None) };
    let is_desk = first.actor_type == ActorClass::System.name() && first.actor_id == DESK;
    Ok(Some(if is_desk { "callboard".to_owned() } else { first.actor_id }))
}
