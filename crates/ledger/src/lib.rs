//! Appends durably and reads in order; the views live beside the log.
//!
//! Invariant: an acknowledged record is on the disk, continues its entity, and is covered by a hash; the views are
//! what folding the log gives, and commit with it. Deliberately absent: deciding. Every command goes through the
//! kernel's `decide` inside the transaction that records it.

mod address;
mod engine;
mod error;
mod lease;
mod ledger;
mod memory;
mod moving;
mod postgres;
mod proof;
mod reading;
mod record;
mod sqlite;
mod store;
mod writing;

#[cfg(feature = "mutants")]
pub mod mutant;
#[cfg(not(feature = "mutants"))]
mod mutant;

pub use address::{SCHEMES, is_server, unknown_scheme};
pub use error::chain as error_chain;
pub use error::{AppendError, Fault, GroupError, NotReady, OpenError, ReadError};
pub use lease::{Clock, LEASE_MAX, LEASE_MIN, Lease, LeaseError, LeaseSeen, ServiceStep, TakenLease};
pub use ledger::{Ledger, Options};
pub use memory::{Fate, Held, Medium, Memory};
pub use moving::archive::{ArchiveError, Archived};
pub use moving::export::{ExportError, Exported, Range};
pub use moving::import::{ImportError, Imported};
pub use moving::restore::{BackupError, restore};
pub use moving::segment::Segment;
pub use proof::checkpoint::PublicKey;
pub use proof::guarded::GuardTally;
pub use proof::verify::{Problem, Report, SealedBy, Trust};
pub use proof::witness::SealedRoot;
pub use record::{Hash, Record, Unreadable};
pub use store::{Info, Listing, Page, Receipt, RecordScope, Request, Sequence, Slice, StateCount, Stored};
pub use writing::batch::is_unwitnessed_end;
pub use writing::claim::{Claim, ClaimQuery};
pub use writing::group::{GROUP_MAX, Group, Member};
pub use writing::ticket::{GroupTicket, Ticket};
