//! Leases and the steps of services, asked for through the handle.

use std::time::Duration;

use callboard_kernel::EntityId;

use super::{Lease, LeaseAnswer, LeaseError, LeaseOrder, LeaseSeen, ServiceStep, TakenLease};
use crate::error::ReadError;
use crate::ledger::Ledger;

impl Ledger {
    /// Takes a lease for a while, unless somebody else holds it. Whoever holds it already and takes it again gets a new epoch, and
    /// the one before is worth nothing from then on; so a holder names one process, not a host.
    pub fn take_lease(&self, name: &str, holder: &str, length: Duration) -> Result<TakenLease, LeaseError> {
        if name.parse::<EntityId>().is_ok() {
            return Err(LeaseError::Invalid("the lease of an entity is granted by a command"));
        }
        let (name, holder) = (name.to_owned(), holder.to_owned());
        match self.ask_lease(&LeaseOrder::Take { name, holder, length })? {
            LeaseAnswer::Granted(lease) => Ok(TakenLease::Granted(lease)),
            LeaseAnswer::NotYours(Some(held)) => Ok(TakenLease::Held(held)),
            LeaseAnswer::NotYours(None) | LeaseAnswer::Free => {
                unreachable!("BUG: a lease that nobody holds was not granted")
            }
        }
    }

    /// Lets a lease last for this long from here on. One that has ended is lost, though nobody has taken it yet.
    pub fn renew_lease(&self, lease: &Lease, length: Duration) -> Result<Lease, LeaseError> {
        match self.ask_lease(&LeaseOrder::Renew { lease: lease.clone(), length })? {
            LeaseAnswer::Granted(lease) => Ok(lease),
            LeaseAnswer::NotYours(held) => Err(lost(lease, held)),
            LeaseAnswer::Free => unreachable!("BUG: a lease was renewed and is free"),
        }
    }

    /// Lets others have it at once. A lease that nobody holds any more is given up already.
    pub fn give_up_lease(&self, lease: &Lease) -> Result<(), LeaseError> {
        if lease.name.parse::<EntityId>().is_ok() {
            return Err(LeaseError::Invalid("the lease of an entity is given up by a command"));
        }
        match self.ask_lease(&LeaseOrder::GiveUp { lease: lease.clone() })? {
            LeaseAnswer::Free | LeaseAnswer::NotYours(None) => Ok(()),
            LeaseAnswer::NotYours(held) => Err(lost(lease, held)),
            LeaseAnswer::Granted(_) => unreachable!("BUG: a lease was given up and is held"),
        }
    }

    /// The leases that somebody has and did not give up, by name; those whose time is over too.
    pub fn leases(&self) -> Result<Vec<LeaseSeen>, ReadError> {
        self.reader().leases()
    }

    /// Records how far a service has come, if the lease is still the one that its host was given.
    pub fn record_service_step(&self, lease: &Lease, step: ServiceStep) -> Result<(), LeaseError> {
        match self.ask_lease(&LeaseOrder::Step { lease: lease.clone(), step })? {
            LeaseAnswer::Granted(_) => Ok(()),
            LeaseAnswer::NotYours(held) => Err(lost(lease, held)),
            LeaseAnswer::Free => unreachable!("BUG: a step was recorded and its lease is free"),
        }
    }

    /// How far each service has come, by name.
    pub fn service_steps(&self) -> Result<Vec<ServiceStep>, ReadError> {
        self.reader().service_steps()
    }

    fn ask_lease(&self, order: &LeaseOrder) -> Result<LeaseAnswer, LeaseError> {
        if let Some(problem) = order.problem() {
            return Err(LeaseError::Invalid(problem));
        }
        let writer = self.writer()?;
        Ok(writer.reader().lease(order)?)
    }
}

fn lost(lease: &Lease, held: Option<Lease>) -> LeaseError {
    LeaseError::Lost { name: lease.name.clone(), epoch: lease.epoch, held }
}
