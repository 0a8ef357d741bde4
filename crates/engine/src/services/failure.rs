//! A service that fails for long needs somebody: a claim says that it works, and is disputed while it does not.
//!
//! Invariant: an error that goes away by itself within a minute is no record; one that stays is in the attention list until a step
//! goes well. Deliberately absent: comparing states; the kernel refuses what does not apply.

use std::time::Duration;

use callboard_kernel::Moment;
use callboard_ledger::Ledger;

use super::standing_claim::StandingClaim;

/// How long a service fails before somebody is needed.
const LASTS: Duration = Duration::from_secs(60);

/// The claim that a service works.
pub(super) struct FailureClaim {
    claim: StandingClaim,
    service: String,
    failing_since: Option<Moment>,
    /// The claim is known to be disputed, or not to be.
    is_disputed: Option<bool>,
}

impl FailureClaim {
    pub(super) fn of(service: &str) -> Self {
        let claim =
            StandingClaim::new(&format!("service {service} works"), format!("the service {service} works"));
        Self { claim, service: service.to_owned(), failing_since: None, is_disputed: None }
    }

    /// Takes note of how a step went. What the store does not take is tried again after the next step.
    pub(super) fn follow(&mut self, ledger: &Ledger, error: Option<&str>, now: Moment) {
        match error {
            None => {
                self.failing_since = None;
                let said = format!("the last step of {} went well", self.service);
                if self.is_disputed != Some(false) && self.claim.confirm(ledger, &said, now) {
                    self.is_disputed = Some(false);
                }
            }
            Some(error) => {
                let since = *self.failing_since.get_or_insert(now);
                if self.is_disputed != Some(true) && now.since(since) >= LASTS {
                    let message = format!("the service {} fails: {error}", self.service);
                    let is_done = self.claim.dispute(ledger, &message, error, now);
                    self.is_disputed = is_done.then_some(true);
                }
            }
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
        assert_eq!(listed(&ledger, claim.claim.id()), ["the service notifier fails: it answered 500"]);
        let head = ledger.head().unwrap();
        // Another process takes over and finds that it works again.
        let mut next = FailureClaim::of("notifier");
        next.follow(&ledger, None, at(100));
        assert_eq!(listed(&ledger, claim.claim.id()), [""; 0]);
        assert_eq!(ledger.head().unwrap(), head + 1);
        next.follow(&ledger, None, at(101));
        assert_eq!(ledger.head().unwrap(), head + 1);
    }
}
