//! A claim that the system makes and looks at again and again: that a service works, that what was merged is still there.
//!
//! Invariant: while it does not hold, it is disputed and therefore in the attention list; a claim that always held is no record.
//! Deliberately absent: looking; and comparing states, because the kernel refuses what does not apply.

use callboard_kernel::{
    Actor, Command, Create, EntityId, EvidenceRef, Facts, Moment, Order, StateReason, Transition, fact,
};
use callboard_ledger::{Ledger, Request};
use callboard_lifecycle::claim::ClaimStatus;
use callboard_lifecycle::{ActorClass, Kind, ReasonCode};

use crate::ids;

/// One claim, found again by its key.
pub struct StandingClaim {
    id: EntityId,
    title: String,
}

impl StandingClaim {
    /// The claim of this key, in these words.
    pub fn new(key: &str, title: impl Into<String>) -> Self {
        Self { id: ids::id_of_key(Kind::Claim, key), title: title.into() }
    }

    /// Its id.
    pub const fn id(&self) -> EntityId {
        self.id
    }

    /// It does not hold. Is that recorded?
    pub fn dispute(&self, ledger: &Ledger, message: &str, evidence: &str, now: Moment) -> bool {
        let code = const { ReasonCode::of("knowledge.disputed.conflicting_evidence") };
        let why = StateReason::new(code, message).shown_by(EvidenceRef::tool_result(evidence));
        let Ok(found) = ledger.entity(self.id) else { return false };
        if found.is_none() {
            let data = Facts::none().and(fact::TITLE, self.title.as_str());
            let create = Create { at: ClaimStatus::Observed.into(), reasons: Vec::new(), data };
            if !self.send(ledger, Order::Create(create), now) {
                return false;
            }
        }
        self.send(ledger, Order::Transition(Transition::to(ClaimStatus::Disputed, why)), now)
    }

    /// It holds. Is that recorded, where it was ever disputed?
    pub fn confirm(&self, ledger: &Ledger, said: &str, now: Moment) -> bool {
        let code = const { ReasonCode::of("knowledge.verified.evidence") };
        match ledger.entity(self.id) {
            Ok(Some(_)) => {}
            Ok(None) => return true,
            Err(_) => return false,
        }
        let why = StateReason::new(code, said).shown_by(EvidenceRef::tool_result(said));
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
