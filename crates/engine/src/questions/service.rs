//! The service of the questions: defaults take effect when their time has come, and questions that need no answer are withdrawn.
//!
//! Invariant: nothing here answers. A question whose default is to hold stays until somebody answers it.

use std::time::Duration;

use callboard_kernel::question::{self, Moot};
use callboard_kernel::{Actor, Facts, Moment, fact};
use callboard_ledger::{Ledger, Stored, error_chain};
use callboard_lifecycle::question::{QuestionSource, QuestionTrigger};
use callboard_lifecycle::{ActorClass, Kind, ReasonCode};

use super::answering::DESK;
use crate::services::{Duty, Service, Stepped};
use crate::tasks::{Asking, TaskError, live, reason, settled};

const EVERY: Duration = Duration::from_secs(1);

/// Looks after open questions.
#[derive(Debug, Default)]
pub struct QuestionService;

impl Service for QuestionService {
    fn name(&self) -> &str {
        "questions"
    }

    fn every(&self) -> Duration {
        EVERY
    }

    fn follows_log(&self) -> bool {
        false
    }

    fn step(&mut self, duty: &Duty<'_>) -> Stepped {
        let look = || {
            let head = duty.ledger.head()?;
            look(duty.ledger, duty.now(), &|| duty.is_held())?;
            Ok::<u64, TaskError>(head)
        };
        match look() {
            Ok(head) => duty.done(head),
            Err(error) => duty.failed(error_chain(&error)),
        }
    }
}

pub(super) fn look(ledger: &Ledger, now: Moment, goes_on: &dyn Fn() -> bool) -> Result<(), TaskError> {
    for stored in live(ledger, Kind::Question)? {
        if !goes_on() {
            break;
        }
        if question::default_due(&stored.entity.facts, now).is_ok() {
            expire(ledger, &stored, now)?;
        } else if let Some(moot) = moot(ledger, &stored, now)? {
            let asking = Asking::new(ledger, Actor::new(ActorClass::System, DESK), now);
            settled(asking.send_one(asking.withdrawal(stored.entity.state.id, moot)))?;
        }
    }
    Ok(())
}

/// Lets the default of a question take effect.
pub(super) fn expire(ledger: &Ledger, stored: &Stored, now: Moment) -> Result<(), TaskError> {
    let Ok(default) = question::default_due(&stored.entity.facts, now) else { return Ok(()) };
    let told = match &default {
        Some(option) => format!("nobody answered in time; the default is {option:?}"),
        None => "nobody answered in time; it is denied".to_owned(),
    };
    let why = reason(const { ReasonCode::of("question.expired.default") }, told);
    let asking = Asking::new(ledger, Actor::new(ActorClass::System, DESK), now);
    let data = Facts::none().and(fact::ANSWER, default);
    let id = stored.entity.state.id;
    settled(asking.send_one(asking.follow(id, QuestionTrigger::ExpiryReached, why, data)))
}

/// Why a question needs no answer any more, if it does not.
fn moot(ledger: &Ledger, stored: &Stored, now: Moment) -> Result<Option<Moot>, TaskError> {
    let facts = &stored.entity.facts;
    let (Some(source), Some(id)) = (question::source(facts), question::subject(facts)) else {
        return Ok(None);
    };
    let Some(subject) = ledger.entity(id)? else { return Ok(Some(Moot::Settled)) };
    if source == QuestionSource::Plan && id.kind() == Kind::Task {
        let asking = Asking::new(ledger, Actor::new(ActorClass::System, DESK), now);
        return Ok(asking.planned_with(id)?.is_empty().then_some(Moot::Settled));
    }
    Ok(question::moot(source, &subject.entity))
}
