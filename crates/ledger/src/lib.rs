//! Appends durably and reads in order; the views live beside the log.
//!
//! Invariant: an acknowledged record is on the disk, continues its entity, and is covered by a hash; the views are
//! what folding the log gives, and commit with it. Deliberately absent: deciding. Every command goes through the
//! kernel's `decide` inside the transaction that records it.

mod address;
mod answers;
mod archive;
mod audit;
mod batch;
mod bell;
mod body;
mod borrowed;
mod checkpoint;
mod engine;
mod entities;
mod error;
mod export;
mod fold;
mod group;
mod guarded;
mod import;
mod ledger;
mod legal;
mod postgres;
mod promise;
mod ranges;
mod record;
mod redecide;
mod restore;
mod sealed;
mod segment;
mod several;
mod shape;
mod slot;
mod sqlite;
mod store;
mod verify;
mod views;
mod witness;

#[cfg(feature = "mutants")]
pub mod mutant;
#[cfg(not(feature = "mutants"))]
mod mutant;

pub use address::{SCHEMES, is_server, unknown_scheme};
pub use archive::{ArchiveError, Archived};
pub use batch::is_unwitnessed_end;
pub use checkpoint::PublicKey;
pub use error::{AppendError, Fault, GroupError, NotReady, OpenError, ReadError};
pub use export::{ExportError, Exported, Range};
pub use group::{GROUP_MAX, Group, Member};
pub use guarded::GuardTally;
pub use import::{ImportError, Imported};
pub use ledger::{Ledger, Options};
pub use record::{Hash, Record, Unreadable};
pub use restore::{BackupError, restore};
pub use segment::Segment;
pub use slot::{GroupTicket, Ticket};
pub use store::{Info, Listing, Page, Receipt, Request, Scope, Sequence, Slice, Standing, Stored};
pub use verify::{Problem, Report, SealedBy, Trust};
pub use witness::SealedRoot;
