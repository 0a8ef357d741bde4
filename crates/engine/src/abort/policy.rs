//! The abort policy of a parent: whether the failure of something that it started spreads.
//!
//! Invariant: without a policy nothing spreads. What a person or a parent called off is no failure. It is enforced by whoever recorded the
//! end, after the end is in the log. Deliberately absent: waiting; those who are asked record their own ends.

use callboard_kernel::abort::{AbortScope, OnChildFailure};
use callboard_kernel::{Actor, EntityId, Facts, Moment, fact, task};
use callboard_ledger::{Ledger, Stored};
use callboard_lifecycle::session::SessionState;
use callboard_lifecycle::{ActorClass, Kind, Words};

use super::asking::AbortOrder;
use super::plan::{AbortError, AbortPlan, AbortRole};

/// The policy that is recorded of a parent.
fn policy_of(facts: &Facts) -> OnChildFailure {
    let word = facts.read(fact::ON_CHILD_FAILURE);
    word.and_then(|word| OnChildFailure::parse(word).ok()).unwrap_or(OnChildFailure::Contain)
}

/// Did a run fail of itself, or a task for good?
fn has_failed(ended: &Stored) -> bool {
    let Some(state) = ended.entity.state.lifecycle.filter(|state| state.kind() == Kind::Session) else {
        return task::has_failed(&ended.entity);
    };
    let is_by_choice = ended.entity.reasons.first().is_some_and(|reason| reason.code.def().chosen);
    match SessionState::ALL[usize::from(state.position())] {
        SessionState::Failed | SessionState::TimedOut | SessionState::Aborted => !is_by_choice,
        SessionState::Pending | SessionState::Running | SessionState::Completed | SessionState::Cancelled => {
            false
        }
    }
}

/// Lets the failure of a run or task spread as far as the policy of its parent says.
pub(crate) fn escalate(ledger: &Ledger, ended: &Stored, now: Moment) -> Result<(), AbortError> {
    let parent = ended.entity.facts.read(fact::PARENT).and_then(|text| text.parse::<EntityId>().ok());
    let Some(parent) = parent.filter(|_| has_failed(ended)) else { return Ok(()) };
    let Some(parent) = ledger.entity(parent)? else { return Ok(()) };
    let scope = match policy_of(&parent.entity.facts) {
        OnChildFailure::Contain => return Ok(()),
        OnChildFailure::Siblings => AbortScope::Sibling,
        OnChildFailure::Session => AbortScope::Session,
    };
    let (id, policy) = (ended.entity.state.id, policy_of(&parent.entity.facts).name());
    let because = format!("{id} failed, and the abort policy of {} is {policy}", parent.entity.state.id);
    let named = if scope == AbortScope::Sibling { ended.clone() } else { parent };
    let plan = AbortPlan::read(ledger, named, scope)?;
    let actor = Actor::new(ActorClass::System, "abort policy");
    let order = AbortOrder { ledger, actor, because: &because, cause: None, now };
    for mut target in plan.targets {
        if target.role == AbortRole::Named {
            target.role = AbortRole::FailedChild;
        }
        order.ask(&target)?;
    }
    Ok(())
}
