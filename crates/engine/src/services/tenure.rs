//! The time in which a process holds the lease of its services.
//!
//! Invariant: this process stops believing in its lease before the store lets another one have it: the time is counted from
//! before the store was asked. Deliberately absent: what is done meanwhile.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use callboard_ledger::{Lease, LeaseError, Ledger, TakenLease};

use crate::host::machine::monotonic_now;
use crate::mutant;

/// How long a lease lasts. A process that dies is replaced after this time.
pub(super) const LENGTH: Duration = Duration::from_secs(6);
/// How often it is renewed.
pub(super) const RENEWAL: Duration = Duration::from_secs(2);

const _: () = assert!(RENEWAL.as_millis() * 2 < LENGTH.as_millis(), "one renewal may fail");

/// A lease that was granted to this process.
pub(super) struct Tenure {
    term: Mutex<Term>,
    is_over: AtomicBool,
}

struct Term {
    lease: Lease,
    /// When this process stops acting unless the lease was renewed.
    until: Instant,
}

impl Tenure {
    /// Takes the lease, unless another process holds it.
    pub(super) fn begin(ledger: &Ledger, name: &str, holder: &str) -> Result<Option<Self>, LeaseError> {
        let asked = monotonic_now();
        match ledger.take_lease(name, holder, LENGTH)? {
            TakenLease::Granted(lease) => {
                let term = Mutex::new(Term { lease, until: asked + LENGTH });
                Ok(Some(Self { term, is_over: AtomicBool::new(false) }))
            }
            TakenLease::Held(_) => Ok(None),
        }
    }

    /// May this process still act?
    pub(super) fn is_held(&self) -> bool {
        if mutant::removed("services_lease") {
            return true;
        }
        !self.is_over.load(Ordering::Acquire) && monotonic_now() < self.term().until
    }

    /// The lease as it was last renewed.
    pub(super) fn lease(&self) -> Lease {
        self.term().lease.clone()
    }

    /// Asks the store for more time. A store that is away costs nothing until the time is up.
    pub(super) fn renew(&self, ledger: &Ledger) {
        let (asked, lease) = (monotonic_now(), self.lease());
        match ledger.renew_lease(&lease, LENGTH) {
            Ok(lease) => *self.term() = Term { lease, until: asked + LENGTH },
            Err(LeaseError::Lost { .. } | LeaseError::Invalid(_)) => self.end(),
            Err(LeaseError::Store(_)) => {}
        }
    }

    /// The lease is lost or given up: nothing more is done under it.
    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::Release);
    }

    fn term(&self) -> std::sync::MutexGuard<'_, Term> {
        self.term.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
