//! A task that an abort calls off.
//!
//! Invariant: the record says whether it was named, stands beside the one that was named, or is below one that is called off.

use callboard_kernel::{EntityId, Facts, fact};
use callboard_lifecycle::task::TransitionReason;
use callboard_lifecycle::worker::AbortReason;
use callboard_lifecycle::{ReasonCode, Words};

use crate::abort::AbortRole;
use crate::tasks::asking::{Asking, TaskError};

impl Asking<'_> {
    /// A task is called off by an abort, alone: those below it were called off before.
    pub fn call_off(&self, id: EntityId, role: AbortRole, because: &str) -> Result<(), TaskError> {
        let (code, data) = match role {
            AbortRole::Named => (const { ReasonCode::of("task.cancelled.operator") }, Facts::none()),
            AbortRole::FailedChild => (const { ReasonCode::of("task.cancelled.child") }, Facts::none()),
            AbortRole::Sibling => (
                const { ReasonCode::of("task.cancelled.sibling") },
                Facts::none()
                    .and(fact::TRANSITION_REASON, TransitionReason::SiblingAborted.name())
                    .and(fact::ABORT_REASON, AbortReason::SiblingAborted.name()),
            ),
            AbortRole::Descendant => (
                const { ReasonCode::of("task.cancelled.parent") },
                Facts::none().and(fact::ABORT_REASON, AbortReason::ParentAborted.name()),
            ),
        };
        self.call_off_as(&self.task(id)?, code, because, data)
    }
}
