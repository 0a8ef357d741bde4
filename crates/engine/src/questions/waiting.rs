//! What became of a question, as whoever asked is told; and waiting for it.
//!
//! Invariant: without an answer the asker is told that there is none. A default is called a default.

use std::time::Duration;

use callboard_kernel::{Entity, EntityId, Moment, fact, question};
use callboard_ledger::Ledger;
use callboard_lifecycle::question::QuestionState;

use crate::run::Clock;
use crate::tasks::TaskError;

/// How long a wait goes on before it looks at the clock, in case nothing is recorded.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// What became of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuestionEnd {
    /// Somebody answered.
    Answered {
        /// The answer.
        answer: String,
        /// Who answered.
        by: String,
        /// Why.
        because: Option<String>,
    },
    /// Nobody answered in time.
    NoAnswer {
        /// The option that took effect; it was denied if there is none.
        default: Option<String>,
    },
    /// It needs no answer any more.
    Withdrawn,
}

/// What became of a question; nothing while it waits for an answer.
pub fn question_end(entity: &Entity) -> Option<QuestionEnd> {
    let text = |name| entity.facts.read(name).map(|text: &str| text.to_owned());
    match question::state(entity)? {
        QuestionState::Asked => None,
        QuestionState::Answered => Some(QuestionEnd::Answered {
            answer: text(fact::ANSWER).unwrap_or_default(),
            by: text(fact::ANSWERED_BY).unwrap_or_default(),
            because: text(fact::BECAUSE),
        }),
        QuestionState::Expired => Some(QuestionEnd::NoAnswer { default: text(fact::ANSWER) }),
        QuestionState::Withdrawn => Some(QuestionEnd::Withdrawn),
    }
}

/// Waits until something became of a question, at most until a moment; nothing if it waits for an answer even then. Whoever waits
/// lets the default take effect, so that it needs no service.
pub fn wait(
    ledger: &Ledger,
    id: EntityId,
    until: Moment,
    clock: &dyn Clock,
    goes_on: &dyn Fn() -> bool,
) -> Result<Option<QuestionEnd>, TaskError> {
    loop {
        let head = ledger.head()?;
        let stored = ledger.entity(id)?.ok_or(TaskError::NotFound { id })?;
        if let Some(verdict) = question_end(&stored.entity) {
            return Ok(Some(verdict));
        }
        let now = clock.now();
        if question::default_due(&stored.entity.facts, now).is_ok() {
            super::service::expire(ledger, &stored, now)?;
            continue;
        }
        if now >= until || !goes_on() {
            return Ok(None);
        }
        ledger.wait_beyond(head, until.since(now).min(LOOK_EVERY))?;
    }
}
