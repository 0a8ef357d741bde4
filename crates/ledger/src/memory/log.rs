//! What a store in memory holds: the records, and beside them what folding them gives.
//!
//! Invariant: the record with the sequence number n is the nth. Deliberately absent: locks and faults.

use std::collections::{BTreeMap, HashMap};

use callboard_kernel::{EntityId, Moment, task};
use uuid::Uuid;

use crate::lease::{LeaseRow, ServiceStep};
use crate::moving::export::Legacy;
use crate::proof::checkpoint::{Checkpoint, PublicKey};
use crate::proof::sealed::Step;
use crate::record::{Hash, Record};
use crate::store::Stored;
use crate::writing::batch::{BatchState, Drafted, Seen};
use crate::writing::claim::Listed;

/// Everything that is durable.
#[derive(Clone, Default)]
pub(super) struct Log {
    pub(super) records: Vec<Record>,
    pub(super) views: BTreeMap<Uuid, Stored>,
    /// The record of each idempotency key of an entity.
    pub(super) keys: HashMap<(Uuid, String), u64>,
    pub(super) checkpoints: Vec<Checkpoint>,
    pub(super) signers: Vec<PublicKey>,
    pub(super) legacy: Vec<Legacy>,
    pub(super) leases: BTreeMap<String, LeaseRow>,
    pub(super) steps: BTreeMap<String, ServiceStep>,
}

impl Log {
    /// The sequence number of the newest record.
    pub(super) fn head(&self) -> u64 {
        self.records.len() as u64
    }

    /// Where it ends.
    pub(super) fn seen(&self) -> Seen {
        let at = self.records.last().map_or_else(Moment::default, |record| record.at);
        Seen { seq: self.head(), at }
    }

    /// An entity as it stands, or one without a record.
    pub(super) fn stored(&self, id: EntityId) -> Stored {
        self.views.get(&id.uuid()).cloned().unwrap_or_else(|| Stored::unborn(id))
    }

    /// The tasks that can be claimed, the most urgent first.
    pub(super) fn offers(&self) -> Vec<Listed> {
        let listed = |stored: &Stored| {
            let offer = task::offer(&stored.entity)?;
            Some(Listed { priority: offer.priority, id: stored.entity.state.id.uuid() })
        };
        let mut offers: Vec<Listed> = self.views.values().filter_map(listed).collect();
        offers.sort_unstable();
        offers
    }

    /// The files that tasks under way hold.
    pub(super) fn files_in_use(&self) -> Vec<(EntityId, String)> {
        let of = |stored: &Stored| {
            let id = stored.entity.state.id;
            task::held_files(&stored.entity).into_iter().map(|path| (id, path.to_owned())).collect::<Vec<_>>()
        };
        self.views.values().flat_map(of).collect()
    }

    /// The record that was written under a key.
    pub(super) fn keyed(&self, entity: Uuid, key: &str) -> Option<&Record> {
        let seq = *self.keys.get(&(entity, key.to_owned()))?;
        self.records.get(usize::try_from(seq - 1).ok()?)
    }

    /// Appends the records of a transaction, and the views of what they changed.
    pub(super) fn take(&mut self, drafted: Vec<Drafted>, standing: &BatchState) {
        for (record, event) in drafted {
            self.views.insert(record.entity, standing.stored(event.entity).clone());
            self.append(record);
        }
    }

    /// Appends one record.
    pub(super) fn append(&mut self, record: Record) {
        if let Some(key) = &record.key {
            self.keys.insert((record.entity, key.clone()), record.seq);
        }
        self.records.push(record);
    }

    /// Takes a seal over, in place of the one that it replaces.
    pub(super) fn seal(&mut self, step: &Step) {
        self.checkpoints.retain(|checkpoint| Some(checkpoint.seq) != step.gone);
        self.checkpoints.push(step.checkpoint.clone());
    }

    /// The two newest checkpoints, the newest first.
    pub(super) fn newest_checkpoints(&self) -> Vec<Checkpoint> {
        self.checkpoints.iter().rev().take(2).cloned().collect()
    }

    /// The hashes of the records after one.
    pub(super) fn hashes_after(&self, seq: u64) -> Vec<Hash> {
        let after = usize::try_from(seq).unwrap_or(usize::MAX).min(self.records.len());
        self.records[after..].iter().map(|record| record.hash).collect()
    }
}
