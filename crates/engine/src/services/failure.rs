//! A service that fails for long needs somebody: a claim says that it works, and is disputed while it does not.
//!
//! Invariant: an error that goes away by itself within a minute is no record; one that stays is in the attention list until a step
//! goes well. Deliberately absent: comparing states; the kernel refuses what does not apply.

use std::time::Duration;

use callboard_kernel::{
    Actor, Command, Create, EntityId, EvidenceRef, Facts, Moment, Order, StateReason, Transition, fact,
};
use callboard_ledger::{Ledger, Request};
use callboard_lifecycle::claim::ClaimStatus;
use callboard_lifecycle::{ActorClass, Kind, reason};

use crate::ids;

/// How long a service fails before somebody is needed.
const LASTS: Duration = Duration::from_secs(60);

/// The claim that a service works.
pub(super) struct FailureClaim {
    id: EntityId,
    service: String,
    failing_since: Option<Moment>,
    /// The claim is known to be disputed, or not to be.
    is_disputed: Option<bool>,
}

impl FailureClaim {
    pub(super) fn of(service: &str) -> Self {
        let id = ids::id_of_key(Kind::Claim, &format!("service {service} works"));
        Self { id, service: service.to_owned(), failing_since: None, is_disputed: None }
    }

    /// Takes note of how a step went. What the store does not take is tried again after the next step.
    pub(super) fn follow(&mut self, ledger: &Ledger, error: Option<&str>, now: Moment) {
        match error {
            None => {
                self.failing_since = None;
                if self.is_disputed != Some(false) && self.confirm(ledger, now) {
                    self.is_disputed = Some(false);
                }
            }
            Some(error) => {
                let since = *self.failing_since.get_or_insert(now);
                if self.is_disputed != Some(true) && now.since(since) >= LASTS {
                    self.is_disputed = Some(self.dispute(ledger, error, now)).filter(|is_done| *is_done);
                }
            }
        }
    }

    fn dispute(&self, ledger: &Ledger, error: &str, now: Moment) -> bool {
        let Ok(code) = reason("knowledge.disputed.conflicting_evidence") else { return false };
        let message = format!("the service {} fails: {error}", self.service);
        let why = StateReason::new(code, message).shown_by(EvidenceRef::tool_result(error));
        let Ok(found) = ledger.entity(self.id) else { return false };
        if found.is_none() {
            let data = Facts::none().and(fact::TITLE, format!("the service {} works", self.service));
            let create = Create { at: ClaimStatus::Observed.into(), reasons: Vec::new(), data };
            if !self.send(ledger, Order::Create(create), now) {
                return false;
            }
        }
        self.send(ledger, Order::Transition(Transition::to(ClaimStatus::Disputed, why)), now)
    }

    fn confirm(&self, ledger: &Ledger, now: Moment) -> bool {
        let Ok(code) = reason("knowledge.verified.evidence") else { return false };
        match ledger.entity(self.id) {
            Ok(Some(_)) => {}
            Ok(None) => return true,
            Err(_) => return false,
        }
        let said = format!("the last step of {} went well", self.service);
        let why = StateReason::new(code, said.as_str()).shown_by(EvidenceRef::tool_result(&said));
        self.send(ledger, Order::Transition(Transition::to(ClaimStatus::Verified, why)), now)
    }

    /// Records it; a refusal means that it is so already.
    fn send(&self, ledger: &Ledger, order: Order, now: Moment) -> bool {
        use callboard_ledger::AppendError::{Fault, Refused};
        let actor = Actor::new(ActorClass::System, "services");
        let command = Command::new(self.id, order);
        match ledger.append(Request { command, actor, now, cause: None }) {
            Ok(_) | Err(Refused(_)) => true,
            Err(Fault(_)) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use callboard_ledger::Options;

    use super::*;
    use crate::judging::attention::{Choice, attention};
    use crate::judging::view::evaluate;
    use crate::judging::viewpoint::Viewpoint;

    #[test]
    fn an_error_that_lasts_needs_somebody_until_a_step_goes_well() {
        let place = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(&place.path().join("s.db"), Options::default()).unwrap();
        let at = |second: u64| Moment::from_micros(1_794_770_358_000_000).plus(Duration::from_secs(second));
        let listed = |ledger: &Ledger, id| -> Vec<String> {
            let Some(stored) = ledger.entity(id).unwrap() else { return Vec::new() };
            let view = evaluate(&stored, &Viewpoint::past(at(1000)));
            let choice = Choice { limit: 0, set_aside: false };
            let listed = attention(std::slice::from_ref(&view), choice, at(1000));
            listed.items.iter().map(|item| item.reason.as_ref().unwrap().message.to_owned()).collect()
        };
        let mut claim = FailureClaim::of("notifier");
        claim.follow(&ledger, None, at(0));
        claim.follow(&ledger, Some("it answered 500"), at(1));
        claim.follow(&ledger, Some("it answered 500"), at(60));
        assert_eq!(ledger.head().unwrap(), 0, "a short error is no record");
        claim.follow(&ledger, Some("it answered 500"), at(61));
        claim.follow(&ledger, Some("it answered 500"), at(62));
        assert_eq!(listed(&ledger, claim.id), ["the service notifier fails: it answered 500"]);
        let head = ledger.head().unwrap();
        // Another process takes over and finds that it works again.
        let mut next = FailureClaim::of("notifier");
        next.follow(&ledger, None, at(100));
        assert_eq!(listed(&ledger, claim.id), [""; 0]);
        assert_eq!(ledger.head().unwrap(), head + 1);
        next.follow(&ledger, None, at(101));
        assert_eq!(ledger.head().unwrap(), head + 1);
    }
}
