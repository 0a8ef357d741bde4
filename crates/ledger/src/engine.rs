//! What an engine must do: commit batches, and answer questions on a snapshot.
//!
//! Invariant: the engines differ in speed and reach, never in an answer; one suite of tests runs on all of them.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use callboard_kernel::{EntityId, Moment};
use callboard_lifecycle::Kind;

use crate::error::{Fault, ReadError};
use crate::lease::{LeaseAnswer, LeaseOrder, LeaseSeen, ServiceStep};
use crate::moving::export::Legacy;
use crate::moving::import::{ImportError, Imported, Lines};
use crate::moving::segment::Segment;
use crate::proof::checkpoint::{Checkpoint, PublicKey};
use crate::proof::verify::Problem;
use crate::proof::witness::Witness;
use crate::reading::views::{EachRecord, Share};
use crate::record::{Hash, Record};
use crate::store::{Info, Job, Listing, Page, Slice, StateCount, Stored};
use crate::writing::batch::Anchor;
use crate::writing::wake_up::WakeUp;

/// The writing side; owned by the one writer thread of the process.
pub(crate) trait Commit: Send {
    /// Commits what is queued, each job as if it were alone, and answers after the sync. Gives back the newest
    /// record that was answered for, or the fault that all of them met.
    fn commit(&mut self, jobs: Vec<Job>) -> Result<Anchor, Fault>;
    /// Tells a second place of every seal from here on.
    fn watched_by(&mut self, witness: Arc<Witness>);
}

/// The reading side; shared by all callers.
pub(crate) trait Ask: Send + Sync {
    /// The sequence number of the newest record.
    fn head(&self) -> Result<u64, ReadError>;
    /// Waits until the log goes beyond a record, or until a moment; gives back where it ends. The wake-up is sent after
    /// every batch of this process.
    fn wait_beyond(&self, seq: u64, until: Instant, wake_up: &Arc<WakeUp>) -> Result<u64, ReadError>;
    /// One entity as it stands.
    fn entity(&self, id: EntityId) -> Result<Option<Stored>, ReadError>;
    /// Some entities as they stand on one snapshot, in the order of the ids.
    fn each_of(&self, ids: &[EntityId]) -> Result<Vec<Option<Stored>>, ReadError>;
    /// Entities as they stand, newest first.
    fn entities(&self, listing: Listing) -> Result<Vec<Stored>, ReadError>;
    /// A piece of a long listing, in the order of the ids.
    fn slice(&self, slice: Slice) -> Result<Vec<Stored>, ReadError>;
    /// How many entities stand in each state, and the newest record that counts.
    fn standings(&self) -> Result<(u64, Vec<StateCount>), ReadError>;
    /// How many tasks have ended in each state.
    fn ended_counts(&self) -> Result<Vec<(String, u64)>, ReadError>;
    /// Tasks that ended in a state, the newest first, from behind one of them on.
    fn ended_tasks(
        &self,
        state: &'static str,
        beyond: Option<EntityId>,
        limit: usize,
    ) -> Result<Vec<Stored>, ReadError>;
    /// What needs somebody by what is stored.
    fn attention(&self, limit: usize) -> Result<Vec<Stored>, ReadError>;
    /// Records in the order of the log.
    fn records(&self, page: Page) -> Result<Vec<Record>, ReadError>;
    /// The newest record decided at or before a moment.
    fn seq_at(&self, moment: Moment) -> Result<u64, ReadError>;
    /// The ids of a kind whose bits lie between two bounds.
    fn between(&self, kind: Kind, low: u128, high: u128, limit: usize) -> Result<Vec<EntityId>, ReadError>;
    /// Every checkpoint, in order.
    fn checkpoints(&self) -> Result<Vec<Checkpoint>, ReadError>;
    /// The two newest checkpoints, the newest first.
    fn newest_checkpoints(&self) -> Result<Vec<Checkpoint>, ReadError>;
    /// The root of the checkpoint at a record.
    fn root_at(&self, seq: u64) -> Result<Option<Hash>, ReadError>;
    /// Is it answered by a copy that may lag behind?
    fn is_standby(&self) -> bool {
        false
    }
    /// What tells this store from every other one.
    fn store_id(&self) -> Result<String, ReadError>;
    /// The keys that sign checkpoints of this store, the first one first.
    fn signers(&self) -> Result<Vec<PublicKey>, ReadError>;
    /// The parts of the log that are in files, in order.
    fn segments(&self) -> Result<Vec<Segment>, ReadError>;
    /// What is wrong with these files, and with what is kept of them.
    fn segment_problems(&self) -> Result<Vec<Problem>, ReadError>;
    /// What the database would no longer refuse by itself.
    fn defence_problems(&self) -> Result<Vec<Problem>, ReadError>;
    /// Can records of this store be archived? If not, the error says what to do instead.
    fn archives(&self) -> Result<(), ReadError> {
        Ok(())
    }
    /// Records a segment whose file is complete, and takes its records out; how many went.
    fn take_out(&self, segment: &Segment) -> Result<u64, ReadError>;
    /// Says where the file of a segment lies.
    fn relocate(&self, digest: Hash, path: &Path) -> Result<(), ReadError>;
    /// Calls `each` for the records after `after` up to `last`, one at a time, in order.
    fn each_record(&self, after: u64, last: u64, each: EachRecord<'_>) -> Result<(), ReadError>;
    /// The record of the same entity before this one.
    fn before(&self, record: &Record) -> Result<Option<Record>, ReadError>;
    /// View rows in the range of a share that are not what the log says.
    fn view_problems(&self, share: Share) -> Result<Vec<Problem>, ReadError>;
    /// Drops the view and writes it anew: what is folded, and what was written since.
    fn rebuild(&self, folded: Share) -> Result<(), ReadError>;
    /// What the store says of itself.
    fn info(&self) -> Result<Info, ReadError>;
    /// Copies the store as it is at one moment, while others write.
    fn backup(&self, to: &Path) -> Result<(), ReadError>;
    /// Is the store itself sound, as its database sees it? `None` means yes.
    fn integrity(&self) -> Result<Option<String>, ReadError>;
    /// Settings of the database, as name and value, on which it depends whether what was answered survives a crash. None where
    /// the engine decides them itself.
    fn durability(&self) -> Result<Vec<(String, String)>, ReadError> {
        Ok(Vec::new())
    }
    /// Does this engine, as it was opened, sign checkpoints? Where it does not, none is missed.
    fn seals(&self) -> bool {
        true
    }
    /// The newest record from before every commit was sealed, if no seal covers it yet.
    fn awaits_seal(&self) -> Result<u64, ReadError>;
    /// Tries whether the store can be written, by a write that changes nothing.
    fn probe(&self) -> Result<(), ReadError>;
    /// Decides one order about a lease, and writes what follows from it.
    fn lease(&self, order: &LeaseOrder) -> Result<LeaseAnswer, ReadError>;
    /// Every lease that was not given up, by name.
    fn leases(&self) -> Result<Vec<LeaseSeen>, ReadError>;
    /// The newest step of every service, by name.
    fn service_steps(&self) -> Result<Vec<ServiceStep>, ReadError>;
    /// Gives back the space that is not needed.
    fn vacuum(&self) -> Result<(), ReadError>;
    /// Takes the lines of an export in, all of them or none.
    fn import(&self, lines: &mut Lines<'_>) -> Result<Imported, ImportError>;
    /// The rows from before there were states, in the order in which they came.
    fn legacy(&self) -> Result<Vec<Legacy>, ReadError>;
    /// How many of those rows there are.
    fn legacy_count(&self) -> Result<u64, ReadError>;
}
