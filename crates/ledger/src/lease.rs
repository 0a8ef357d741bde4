//! Leases: who may do something that only one may do, and until when, by the clock of the store.
//!
//! Invariant: an epoch is given once, so two holders never have the same one, whatever a clock does. A lease that ended, by time
//! or by hand, is not renewed: whoever wants it takes it again, with a new epoch. Deliberately absent: rows and transactions,
//! which each engine has; the rules are here and hold on both.

mod handle;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use callboard_kernel::Moment;

use crate::error::ReadError;
use crate::mutant;

/// The longest lease; a holder that dies blocks the others no longer than this.
pub const LEASE_MAX: Duration = Duration::from_hours(24);
/// The shortest lease: what is shorter ends before its holder can use it.
pub const LEASE_MIN: Duration = Duration::from_millis(1);

/// What somebody holds: the name of the lease, and the epoch that tells this holder from those before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// What it is a lease of.
    pub name: String,
    /// Who holds it.
    pub holder: String,
    /// Given once; a later holder has a higher one.
    pub epoch: u64,
    /// When it ends by the clock of the store, unless it is renewed.
    pub until: Moment,
}

/// The answer to somebody who wants a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TakenLease {
    /// It is theirs.
    Granted(Lease),
    /// Somebody else holds it.
    Held(Lease),
}

impl TakenLease {
    /// The lease, if it was granted.
    pub fn granted(self) -> Option<Lease> {
        match self {
            Self::Granted(lease) => Some(lease),
            Self::Held(_) => None,
        }
    }
}

/// A lease as it stood when somebody looked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseSeen {
    /// The lease.
    pub lease: Lease,
    /// How long it lasts by the clock of the store; zero if it has ended and nobody has taken it since.
    pub left: Duration,
    /// When it was taken or renewed last, by the clock of the store.
    pub renewed_at: Moment,
}

/// How far a service has come, and how its last step went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceStep {
    /// The name of the service.
    pub service: String,
    /// The last record of the log that it has dealt with.
    pub position: u64,
    /// When it made the step.
    pub at: Moment,
    /// What went wrong in it, if anything did.
    pub error: Option<String>,
}

/// Why something that needs a lease was not done.
#[derive(Debug, thiserror::Error)]
pub enum LeaseError {
    /// The lease is not theirs any more, or never was.
    #[error("the lease {name} with epoch {epoch} is over: {}", after(held.as_ref()))]
    Lost {
        /// What it is a lease of.
        name: String,
        /// The epoch that was shown.
        epoch: u64,
        /// Who holds it instead, if somebody does.
        held: Option<Lease>,
    },
    /// A name, a holder or a length that no lease can have.
    #[error("invalid lease: {0}")]
    Invalid(&'static str),
    /// The store failed.
    #[error("the store did not take the lease")]
    Store(#[from] ReadError),
}

fn after(held: Option<&Lease>) -> String {
    match held {
        Some(Lease { holder, epoch, until, .. }) => format!("{holder} holds epoch {epoch} until {until}"),
        None => "nobody holds it".to_owned(),
    }
}

/// The clock by which a store that is a file judges leases; a server has its own.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Moment + Send + Sync>);

impl Clock {
    /// A clock that is asked by calling this.
    pub fn new(read: impl Fn() -> Moment + Send + Sync + 'static) -> Self {
        Self(Arc::new(read))
    }

    pub(crate) fn now(&self) -> Moment {
        (self.0)()
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::new(host_now)
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "several processes share the leases of a store, and the host's clock is the one that they have in common"
)]
pub(crate) fn host_now() -> Moment {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Moment::default().plus(since)
}

/// What is asked about one lease.
#[derive(Clone, Debug)]
pub(crate) enum LeaseOrder {
    Take { name: String, holder: String, length: Duration },
    Renew { lease: Lease, length: Duration },
    GiveUp { lease: Lease },
    Step { lease: Lease, step: ServiceStep },
}

/// A row of the table of leases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LeaseRow {
    /// Empty if nobody holds it.
    pub(crate) holder: String,
    pub(crate) epoch: u64,
    pub(crate) until: Moment,
    pub(crate) length: Duration,
}

/// The answer to an order, and the row as it is to be written.
pub(crate) struct Settled {
    pub(crate) answer: LeaseAnswer,
    /// Nothing if the row stays as it is.
    pub(crate) row: Option<LeaseRow>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LeaseAnswer {
    Granted(Lease),
    /// What was asked for is not the caller's; who holds it, if somebody does.
    NotYours(Option<Lease>),
    /// A lease that was given up.
    Free,
}

impl LeaseOrder {
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Take { name, .. } => name,
            Self::Renew { lease, .. } | Self::GiveUp { lease } | Self::Step { lease, .. } => &lease.name,
        }
    }

    /// What is wrong with the order itself.
    pub(crate) fn problem(&self) -> Option<&'static str> {
        let (holder, length) = match self {
            Self::Take { holder, length, .. } => (holder, Some(*length)),
            Self::Renew { lease, length } => (&lease.holder, Some(*length)),
            Self::GiveUp { lease } | Self::Step { lease, .. } => (&lease.holder, None),
        };
        let is_text = |text: &str| !text.is_empty() && text.len() <= 255 && !text.contains('\0');
        if !is_text(self.name()) || !is_text(holder) {
            return Some("a name and a holder have 1 to 255 bytes, and no NUL");
        }
        let is_span = |length: Duration| (LEASE_MIN..=LEASE_MAX).contains(&length);
        length.is_some_and(|length| !is_span(length)).then_some("it lasts 1 ms to 24 h")
    }

    /// Decides the order on the row that is there.
    pub(crate) fn settle(&self, row: Option<LeaseRow>, now: Moment) -> Settled {
        let name = self.name();
        match self {
            Self::Take { holder, length, .. } => take(name, row, holder, *length, now),
            Self::Renew { lease, length } => match own(row, lease, now) {
                Ok(row) if mutant::removed("renewals_count") => {
                    Settled { answer: LeaseAnswer::Granted(row.lease(name)), row: None }
                }
                Ok(row) => LeaseRow { until: now.plus(*length), length: *length, ..row }.granted(name),
                Err(held) => Settled { answer: LeaseAnswer::NotYours(held), row: None },
            },
            Self::GiveUp { lease } => match own(row, lease, now) {
                Ok(row) => {
                    let row = LeaseRow { holder: String::new(), until: now, ..row };
                    Settled { answer: LeaseAnswer::Free, row: Some(row) }
                }
                Err(held) => Settled { answer: LeaseAnswer::NotYours(held), row: None },
            },
            Self::Step { lease, .. } => match own(row, lease, now) {
                Ok(row) => Settled { answer: LeaseAnswer::Granted(row.lease(name)), row: None },
                Err(held) => Settled { answer: LeaseAnswer::NotYours(held), row: None },
            },
        }
    }
}

impl LeaseRow {
    /// Does somebody hold it? One that ends later than its length allows was granted before the clock was set back.
    pub(crate) fn is_held(&self, now: Moment) -> bool {
        !self.holder.is_empty() && self.until > now
    }

    pub(crate) fn lease(&self, name: &str) -> Lease {
        let (holder, epoch, until) = (self.holder.clone(), self.epoch, self.until);
        Lease { name: name.to_owned(), holder, epoch, until }
    }

    fn granted(self, name: &str) -> Settled {
        Settled { answer: LeaseAnswer::Granted(self.lease(name)), row: Some(self) }
    }
}

/// Whoever holds it already may take it again, with a new epoch: the answer to the first time may have been lost.
fn take(name: &str, row: Option<LeaseRow>, holder: &str, length: Duration, now: Moment) -> Settled {
    let last = row.as_ref().map_or(0, |row| row.epoch);
    match row {
        Some(row) if row.is_held(now) && row.holder != holder => {
            // After a clock was set back the lease would last longer than it was asked for.
            let latest = now.plus(row.length);
            let is_far = row.until > latest;
            let row = LeaseRow { until: row.until.min(latest), ..row };
            Settled { answer: LeaseAnswer::NotYours(Some(row.lease(name))), row: is_far.then_some(row) }
        }
        Some(_) | None => {
            LeaseRow { holder: holder.to_owned(), epoch: last + 1, until: now.plus(length), length }
                .granted(name)
        }
    }
}

/// The row, if it is still the one that the holder was given; otherwise who holds it.
fn own(row: Option<LeaseRow>, lease: &Lease, now: Moment) -> Result<LeaseRow, Option<Lease>> {
    let Some(row) = row else { return Err(None) };
    let is_same = row.epoch == lease.epoch && row.holder == lease.holder;
    let is_fresh = is_same || (mutant::removed("check_the_epoch") && !row.holder.is_empty());
    if is_fresh && row.is_held(now) {
        return Ok(row);
    }
    Err(row.is_held(now).then(|| row.lease(&lease.name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN: Duration = Duration::from_secs(30);

    fn at(second: i64) -> Moment {
        Moment::from_micros(1_800_000_000_000_000 + second * 1_000_000)
    }

    /// One row and those who want it, at moments of their own.
    #[derive(Default)]
    struct Table(Option<LeaseRow>);

    impl Table {
        fn ask(&mut self, order: &LeaseOrder, second: i64) -> LeaseAnswer {
            let settled = order.settle(self.0.clone(), at(second));
            self.0 = settled.row.or(self.0.take());
            settled.answer
        }

        fn take(&mut self, holder: &str, second: i64) -> Result<Lease, Option<Lease>> {
            let order = LeaseOrder::Take { name: "services".into(), holder: holder.into(), length: SPAN };
            match self.ask(&order, second) {
                LeaseAnswer::Granted(lease) => Ok(lease),
                LeaseAnswer::NotYours(held) => Err(held),
                LeaseAnswer::Free => panic!("nobody gave it up"),
            }
        }

        fn renew(&mut self, lease: &Lease, second: i64) -> Result<Lease, Option<Lease>> {
            match self.ask(&LeaseOrder::Renew { lease: lease.clone(), length: SPAN }, second) {
                LeaseAnswer::Granted(lease) => Ok(lease),
                LeaseAnswer::NotYours(held) => Err(held),
                LeaseAnswer::Free => panic!("nobody gave it up"),
            }
        }
    }

    #[test]
    fn one_holds_it_until_it_ends_and_the_next_has_a_higher_epoch() {
        let mut table = Table::default();
        let first = table.take("a", 0).unwrap();
        assert_eq!((first.epoch, first.until), (1, at(30)));
        assert_eq!(table.take("b", 29), Err(Some(first.clone())));
        let renewed = table.renew(&first, 29).unwrap();
        assert_eq!((renewed.epoch, renewed.until), (1, at(59)));
        let second = table.take("b", 59).unwrap();
        assert_eq!(second.epoch, 2);
        assert_eq!(table.renew(&renewed, 60), Err(Some(second)));
    }

    #[test]
    fn a_lease_that_ended_is_not_renewed_though_nobody_took_it() {
        let mut table = Table::default();
        let first = table.take("a", 0).unwrap();
        assert_eq!(table.renew(&first, 30), Err(None));
        assert_eq!(table.take("a", 31).unwrap().epoch, 2);
        assert_eq!(table.renew(&first, 32).unwrap_err().map(|held| held.epoch), Some(2));
    }

    #[test]
    fn whoever_takes_it_again_has_a_new_epoch_and_the_old_one_is_worth_nothing() {
        let mut table = Table::default();
        let first = table.take("a", 0).unwrap();
        let again = table.take("a", 1).unwrap();
        assert_eq!(again.epoch, 2);
        assert_eq!(table.renew(&first, 2), Err(Some(again)));
    }

    #[test]
    fn a_clock_that_is_set_back_revives_no_lease_and_blocks_nobody_for_long() {
        let mut table = Table::default();
        let first = table.take("a", 0).unwrap();
        let second = table.take("b", 40).unwrap();
        // The clock says that the first lease lasts still; the epoch says that it is over.
        assert!(table.renew(&first, 10).is_err());
        // The second one was to end at 70. By the clock as it is now, it lasts 30 seconds from the next look.
        assert_eq!(table.take("c", 0), Err(Some(Lease { until: at(30), ..second })));
        assert_eq!(table.take("c", 30).unwrap().epoch, 3);
    }

    #[test]
    fn a_lease_that_was_given_up_is_free_at_once_and_keeps_its_epoch() {
        let mut table = Table::default();
        let first = table.take("a", 0).unwrap();
        assert_eq!(table.ask(&LeaseOrder::GiveUp { lease: first.clone() }, 1), LeaseAnswer::Free);
        assert!(table.renew(&first, 2).is_err());
        assert_eq!(table.take("b", 2).unwrap().epoch, 2);
        assert!(matches!(table.ask(&LeaseOrder::GiveUp { lease: first }, 3), LeaseAnswer::NotYours(Some(_))));
    }
}
