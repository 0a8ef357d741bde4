//! A person lets a task be tried once more, perhaps with more time.
//!
//! Invariant: more time is twice the bound of the last attempt and becomes the task's own bound, at most four times the default of its scope.

use std::time::Duration;

use callboard_kernel::timeout::{self, more_time};
use callboard_kernel::{EntityId, Facts, Moment, fact};
use callboard_lifecycle::ReasonCode;
use callboard_lifecycle::task::{TaskState, TaskTrigger};

use crate::run::told;
use crate::tasks::asking::{Asking, TaskError, because_of, reason, unfit};
use crate::tasks::holding::timeouts::{last_bound, scope_of};

/// How long the next attempt may take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RetryTime {
    /// As long as its bound says.
    #[default]
    Same,
    /// Twice as long as the last one.
    Doubled,
}

impl Asking<'_> {
    /// A person lets a task be tried once more, at once, perhaps with twice the time.
    pub fn retry(&self, id: EntityId, because: &str, time: RetryTime) -> Result<(), TaskError> {
        let stored = self.task(id)?;
        let mut data = Facts::none().and(fact::NOT_BEFORE, None::<Moment>).and(fact::IS_FINAL, false);
        let mut said = because.to_owned();
        if time == RetryTime::Doubled {
            let more = doubled(&stored.entity.facts)?;
            said += &format!("; with more time: {}", told(more));
            data.record(fact::TIMEOUT_S, more);
        }
        let why = reason(const { ReasonCode::of("task.open.retry") }, said);
        let mut request = because_of(self.go(id, TaskState::Open, why, data), TaskTrigger::Retried);
        request.command.if_version = Some(stored.entity.state.version);
        self.send_one(request)?;
        Ok(())
    }
}

/// Twice the bound of the last attempt at a task.
fn doubled(facts: &Facts) -> Result<Duration, TaskError> {
    let (scope, last) = (scope_of(facts), last_bound(facts));
    more_time(scope, last).ok_or_else(|| {
        let problem = format!(
            "the last attempt had {}, and {} is the most for a task of scope {scope}",
            told(last),
            told(timeout::most(scope))
        );
        unfit(problem, "set a bound of its own: callboard task edit ID --timeout SPAN, then retry it")
    })
}
