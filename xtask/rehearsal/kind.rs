//! A rehearsal: a service gives the stage to whoever called it, and its view says who has the stage.

use std::time::Duration;

use callboard_kernel::{
    Actor, Command, Entity, EntityId, Facts, LeaseTerms, Observe, Order, Value, fact,
};
use callboard_ledger::{AppendError, Ledger, Listing, Page, ReadError, RecordScope, Request, error_chain};
use callboard_lifecycle::rehearsal::RehearsalState;
use callboard_lifecycle::{ActorClass, Kind};

use super::rules::{Extras, KindRules, KindService};
use crate::services::{Duty, Service, Stepped};

pub(super) struct Rules;

impl KindRules for Rules {
    fn extras(&self, entity: &Entity) -> Extras {
        let (holder, epoch) = (entity.facts.read(fact::LEASE_HOLDER), entity.facts.read(fact::LEASE_EPOCH));
        let stage = Facts::none().and(fact::LEASE_HOLDER, holder).and(fact::LEASE_EPOCH, epoch);
        Extras::from([("stage", Value::Map(stage))])
    }

    fn services(&self) -> Vec<KindService> {
        vec![KindService { does: "gives the stage to whoever called a rehearsal", service: Box::new(StageDoor) }]
    }
}

/// Grants the lease of every rehearsal that waits for the stage.
struct StageDoor;

impl Service for StageDoor {
    fn name(&self) -> &str {
        "stage door"
    }

    fn every(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn follows_log(&self) -> bool {
        true
    }

    fn step(&mut self, duty: &Duty<'_>) -> Stepped {
        match give(duty) {
            Ok(head) => duty.done(head),
            Err(error) => duty.failed(error),
        }
    }
}

fn give(duty: &Duty<'_>) -> Result<u64, String> {
    let told = |error: ReadError| error_chain(&error);
    let head = duty.ledger.head().map_err(told)?;
    let listing = Listing { kind: Some(Kind::Rehearsal), ..Listing::default() };
    for stored in duty.ledger.entities(listing).map_err(told)? {
        let Entity { state, facts, .. } = &stored.entity;
        let waits = state.lifecycle == Some(RehearsalState::Called.into());
        if !waits || facts.known(fact::LEASE_HOLDER).is_some() || !duty.is_held() {
            continue;
        }
        let Some(caller) = caller(duty.ledger, state.id).map_err(told)? else { continue };
        let order = Order::Observe(Observe { reasons: Vec::new(), data: Facts::none() });
        let mut command = Command::new(state.id, order);
        command.lease = Some(LeaseTerms::grant(caller, Duration::from_secs(3600)));
        let actor = Actor::new(ActorClass::System, "stage door");
        match duty.ledger.append(Request { command, actor, now: duty.now(), cause: None }) {
            Ok(_) | Err(AppendError::Refused(_)) => {}
            Err(AppendError::Fault(fault)) => return Err(error_chain(&fault)),
        }
    }
    Ok(head)
}

/// Whoever recorded it.
fn caller(ledger: &Ledger, id: EntityId) -> Result<Option<String>, ReadError> {
    let first = ledger.records(Page { after: 0, limit: 1, scope: RecordScope::Entity(id) })?;
    Ok(first.into_iter().next().map(|record| record.actor_id))
}
