//! What the pure model believes of the lease of one entity: a holder and an epoch.
//!
//! Invariant: it is written from the contract of leases and shares no code with the ledger. There is no clock here, because every lease
//! outlives the run; `leases` has those that end by themselves.

use std::time::Duration;

use callboard_kernel::{
    EntityId, Event, Facts, HeldLease, LeaseChange, LeaseTerms, Moment, Order, Refusal, RefusalCode, State,
    fact,
};
use callboard_ledger::Request;
use callboard_lifecycle::{ActorClass, Guard, Kind};

use crate::harness::dice::Dice;

/// Longer than any run of the torture.
const LENGTH: Duration = Duration::from_hours(20);

/// What is believed of one lease.
#[derive(Clone, Default)]
pub(crate) struct BelievedLease {
    holder: Option<String>,
    epoch: u64,
}

/// What a record says of the lease, and the lease as it is then.
pub(crate) struct Changed {
    facts: Facts,
    then: Option<BelievedLease>,
}

impl BelievedLease {
    /// Gives a command terms about the lease, now and then; mostly such that could be met.
    pub(crate) fn add_terms(&self, dice: &mut Dice, request: &mut Request) {
        if dice.roll(4) > 0 {
            return;
        }
        let epoch = match dice.roll(8) {
            0 => Some(self.epoch.saturating_sub(1)),
            1 => Some(self.epoch + 1),
            2..5 => Some(self.epoch),
            _ => None,
        };
        let holder = if dice.roll(3) == 0 { "somebody" } else { request.actor.id.as_str() }.to_owned();
        let length = if dice.roll(40) == 0 { Duration::ZERO } else { LENGTH };
        let change = match dice.roll(6) {
            0..3 => LeaseChange::Grant { holder, length },
            3 => LeaseChange::End,
            _ => LeaseChange::Keep,
        };
        request.command.lease = Some(LeaseTerms { epoch, change });
    }

    /// The lease as guards see it.
    pub(crate) fn held(&self) -> Option<HeldLease> {
        let holder = self.holder.clone()?;
        Some(HeldLease { holder, epoch: self.epoch, until: Moment::default() })
    }

    /// What the record of a command will say of the lease, or how the command is refused.
    pub(crate) fn judge(
        &self,
        request: &Request,
        state: &State,
        earlier: Option<&Event>,
    ) -> Result<Option<Changed>, RefusalCode> {
        if let Some(earlier) = earlier {
            let facts = of_lease(&earlier.data);
            let is_grant = facts.get(fact::LEASE_EPOCH.name()).is_some();
            let is_asked = request.command.lease.is_some() || !is_grant;
            return Ok((is_asked && !facts.is_empty()).then_some(Changed { facts, then: None }));
        }
        let is_let_go = self.holder.is_some() && lets_go(request, state);
        let Some(terms) = &request.command.lease else { return Ok(is_let_go.then(|| self.ended())) };
        let in_force = self.holder.as_ref().map(|_| self.epoch);
        if terms.epoch.is_some() && terms.epoch != in_force {
            return Err(RefusalCode::LeaseLost);
        }
        match &terms.change {
            LeaseChange::Keep => Ok(is_let_go.then(|| self.ended())),
            LeaseChange::Grant { holder, length } => {
                if holder.is_empty() || holder.contains('\0') || length.is_zero() {
                    return Err(RefusalCode::TooLarge);
                }
                if self.holder.as_ref().is_some_and(|present| present != holder) {
                    return Err(RefusalCode::LeaseHeld);
                }
                let epoch = self.epoch + 1;
                let facts = Facts::none()
                    .and(fact::LEASE_HOLDER, holder.as_str())
                    .and(fact::LEASE_EPOCH, epoch)
                    .and(fact::LEASE_MS, length.as_millis() as u64);
                Ok(Some(Changed { facts, then: Some(Self { holder: Some(holder.clone()), epoch }) }))
            }
            LeaseChange::End if self.holder.is_none() => Ok(None),
            LeaseChange::End => {
                let takes_away = matches!(request.actor.class, ActorClass::Operator | ActorClass::System);
                if terms.epoch.is_none() && !takes_away {
                    return Err(RefusalCode::LeaseHeld);
                }
                Ok(Some(self.ended()))
            }
        }
    }

    fn ended(&self) -> Changed {
        let facts = Facts::none().and(fact::LEASE_HOLDER, None::<&str>);
        Changed { facts, then: Some(Self { holder: None, epoch: self.epoch }) }
    }

    /// Takes over what was recorded.
    pub(crate) fn follow(&mut self, changed: Option<Changed>) {
        if let Some(then) = changed.and_then(|changed| changed.then) {
            *self = then;
        }
    }
}

impl Changed {
    /// Adds what the store records of the lease to what the command records.
    pub(crate) fn add_to(&self, order: &mut Order) {
        match order {
            Order::Create(order) => order.data.merge(&self.facts),
            Order::Transition(order) => order.data.merge(&self.facts),
            Order::Observe(order) => order.data.merge(&self.facts),
            Order::Entry(_) => {}
        }
    }
}

/// A task has a holder while it is claimed or in progress; whatever leads elsewhere ends the lease.
fn lets_go(request: &Request, state: &State) -> bool {
    let Order::Transition(order) = &request.command.order else { return false };
    let machine = state.id.kind().machine();
    let by_trigger = || {
        let (from, trigger) = (state.lifecycle?, order.trigger?);
        let rows = || machine.rows.iter().filter(|row| row.from == from.position());
        rows().find(|row| row.fires_on(trigger.position())).map(|row| row.to)
    };
    let kind = state.id.kind();
    let by_name = order.to.filter(|to| to.kind() == kind).map(callboard_lifecycle::Lifecycle::position);
    let to = if order.to.is_some() { by_name } else { by_trigger() };
    kind == Kind::Task && to.is_some_and(|to| !["claimed", "in_progress"].contains(&machine.state_name(to)))
}

fn of_lease(data: &Facts) -> Facts {
    let names = [fact::LEASE_HOLDER.name(), fact::LEASE_EPOCH.name(), fact::LEASE_MS.name()];
    let mut facts = Facts::none();
    for (name, value) in data.iter().filter(|(name, _)| names.contains(name)) {
        facts.set(name.to_owned(), value.clone());
    }
    facts
}

/// A refusal for the sake of a lease. It says nothing, because only the store knows until when the lease lasts.
pub(crate) fn refusal(state: &State, code: RefusalCode) -> Box<Refusal> {
    let entity: EntityId = state.id;
    Box::new(Refusal {
        code,
        message: String::new(),
        entity: entity.into(),
        from: state.lifecycle,
        to: None,
        allowed: Vec::new(),
        guard: None,
        help: String::new(),
    })
}

/// Is it the refusal that was expected? What speaks of a lease names moments of the store, and is compared without its words.
pub(crate) fn agrees(expected: &Refusal, given: &Refusal) -> bool {
    let speaks_of_lease = expected.message.is_empty()
        || matches!(expected.guard, Some(Guard::HeldByActor | Guard::LeaseExpired));
    let signs = |refusal: &Refusal| (refusal.code, refusal.from, refusal.guard);
    if speaks_of_lease { signs(expected) == signs(given) } else { expected == given }
}
