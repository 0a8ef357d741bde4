//! Questions to a store in memory.
//!
//! Invariant: each is answered on one state of the store. A standby may be behind, and never goes back.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use callboard_kernel::{EntityId, Moment};
use callboard_lifecycle::Kind;

use super::snapshot::Snapshot;
use super::store::Memory;
use super::{exchange, leases};
use crate::engine::Ask;
use crate::error::ReadError;
use crate::lease::{LeaseAnswer, LeaseOrder, LeaseSeen, ServiceStep};
use crate::moving::export::Legacy;
use crate::moving::import::{ImportError, Imported, Lines};
use crate::moving::segment::Segment;
use crate::proof::checkpoint::{Checkpoint, PublicKey};
use crate::proof::verify::Problem;
use crate::reading::views::{EachRecord, Share};
use crate::record::{Hash, Record};
use crate::store::{Info, Listing, Page, Slice, StateCount, Stored};
use crate::writing::wake_up::WakeUp;

/// Somebody who asks.
pub(crate) struct Reader {
    memory: Memory,
    /// How far a standby has heard; nothing for whoever sees everything.
    heard: Option<AtomicU64>,
    /// Does a wait for the log to grow end at once? Whoever has no other thread would wait for ever.
    is_alone: bool,
}

impl Reader {
    pub(crate) fn new(memory: &Memory) -> Self {
        Self { memory: memory.clone(), heard: None, is_alone: false }
    }

    /// One that never waits.
    pub(crate) fn alone(memory: &Memory) -> Self {
        Self { is_alone: true, ..Self::new(memory) }
    }

    /// One that lags behind as the medium says, and never waits.
    pub(crate) fn standby(memory: &Memory) -> Self {
        Self { heard: Some(AtomicU64::new(0)), ..Self::alone(memory) }
    }

    fn with<T>(&self, ask: impl FnOnce(&Snapshot<'_>) -> Result<T, ReadError>) -> Result<T, ReadError> {
        let medium = &self.memory.0.medium;
        medium.reading()?;
        let lag = medium.lag();
        let log = self.memory.0.log();
        match &self.heard {
            None => ask(&Snapshot::newest(&log)),
            Some(heard) => {
                let upto = log.head().saturating_sub(lag).max(heard.load(Ordering::SeqCst));
                heard.store(upto, Ordering::SeqCst);
                ask(&Snapshot::upto(&log, upto)?)
            }
        }
    }

    fn checkpoints_where(&self, is_wanted: impl Fn(&Checkpoint) -> bool) -> Vec<Checkpoint> {
        self.memory.0.log().checkpoints.iter().filter(|one| is_wanted(one)).cloned().collect()
    }
}

fn unsupported(what: &'static str) -> ReadError {
    ReadError::Unsupported { what, instead: "use a store that is a file" }
}

impl Ask for Reader {
    fn head(&self) -> Result<u64, ReadError> {
        self.with(|snapshot| Ok(snapshot.head()))
    }

    fn wait_beyond(&self, seq: u64, until: Instant, _: &Arc<WakeUp>) -> Result<u64, ReadError> {
        loop {
            let heard = self.memory.0.wake_up.count();
            let end = self.head()?;
            if end > seq || self.is_alone || Instant::now() >= until {
                return Ok(end);
            }
            self.memory.0.wake_up.wait(heard, until);
        }
    }

    fn entity(&self, id: EntityId) -> Result<Option<Stored>, ReadError> {
        self.with(|snapshot| Ok(snapshot.views.get(&id.uuid()).cloned()))
    }

    fn each_of(&self, ids: &[EntityId]) -> Result<Vec<Option<Stored>>, ReadError> {
        self.with(|snapshot| Ok(ids.iter().map(|id| snapshot.views.get(&id.uuid()).cloned()).collect()))
    }

    fn entities(&self, listing: Listing) -> Result<Vec<Stored>, ReadError> {
        self.with(|snapshot| Ok(snapshot.entities(listing)))
    }

    fn slice(&self, slice: Slice) -> Result<Vec<Stored>, ReadError> {
        self.with(|snapshot| Ok(snapshot.slice(&slice)))
    }

    fn standings(&self) -> Result<(u64, Vec<StateCount>), ReadError> {
        self.with(|snapshot| Ok((snapshot.head(), snapshot.standings())))
    }

    fn ended_counts(&self) -> Result<Vec<(String, u64)>, ReadError> {
        self.with(|snapshot| Ok(snapshot.ended_counts()))
    }

    fn ended_tasks(
        &self,
        state: &'static str,
        beyond: Option<EntityId>,
        limit: usize,
    ) -> Result<Vec<Stored>, ReadError> {
        self.with(|snapshot| Ok(snapshot.ended_tasks(state, beyond, limit)))
    }

    fn attention(&self, limit: usize) -> Result<Vec<Stored>, ReadError> {
        self.with(|snapshot| Ok(snapshot.attention(limit)))
    }

    fn records(&self, page: Page) -> Result<Vec<Record>, ReadError> {
        self.with(|snapshot| Ok(snapshot.records(page)))
    }

    fn seq_at(&self, moment: Moment) -> Result<u64, ReadError> {
        self.with(|snapshot| Ok(snapshot.seq_at(moment)))
    }

    fn between(&self, kind: Kind, low: u128, high: u128, limit: usize) -> Result<Vec<EntityId>, ReadError> {
        self.with(|snapshot| Ok(snapshot.between(kind, low, high, limit)))
    }

    fn checkpoints(&self) -> Result<Vec<Checkpoint>, ReadError> {
        Ok(self.checkpoints_where(|_| true))
    }

    fn newest_checkpoints(&self) -> Result<Vec<Checkpoint>, ReadError> {
        Ok(self.memory.0.log().newest_checkpoints())
    }

    fn root_at(&self, seq: u64) -> Result<Option<Hash>, ReadError> {
        Ok(self.checkpoints_where(|one| one.seq == seq).pop().map(|one| one.root))
    }

    fn is_standby(&self) -> bool {
        self.heard.is_some()
    }

    fn store_id(&self) -> Result<String, ReadError> {
        Ok(self.memory.0.id.clone())
    }

    fn signers(&self) -> Result<Vec<PublicKey>, ReadError> {
        Ok(self.memory.0.log().signers.clone())
    }

    fn segments(&self) -> Result<Vec<Segment>, ReadError> {
        Ok(Vec::new())
    }

    fn segment_problems(&self) -> Result<Vec<Problem>, ReadError> {
        Ok(Vec::new())
    }

    fn defence_problems(&self) -> Result<Vec<Problem>, ReadError> {
        Ok(Vec::new())
    }

    fn archives(&self) -> Result<(), ReadError> {
        Err(unsupported("archives"))
    }

    fn take_out(&self, _: &Segment) -> Result<u64, ReadError> {
        Err(unsupported("archives"))
    }

    fn relocate(&self, _: Hash, _: &Path) -> Result<(), ReadError> {
        Err(unsupported("archives"))
    }

    fn each_record(&self, after: u64, last: u64, each: EachRecord<'_>) -> Result<(), ReadError> {
        self.with(|snapshot| walk(snapshot.records, after, last, each))
    }

    fn before(&self, record: &Record) -> Result<Option<Record>, ReadError> {
        self.with(|snapshot| {
            let is_before = |one: &&Record| {
                one.entity == record.entity && one.version < record.version && one.seq < record.seq
            };
            Ok(snapshot.records.iter().filter(is_before).max_by_key(|one| one.version).cloned())
        })
    }

    fn view_problems(&self, mut share: Share) -> Result<Vec<Problem>, ReadError> {
        self.with(|snapshot| {
            share.catch_up(|last, each| walk(snapshot.records, last, u64::MAX, each))?;
            let (low, high) = (share.low, share.high);
            let mut comparison = share.compare();
            for (id, view) in snapshot.views.range(low..=high) {
                let kind = callboard_lifecycle::Words::name(view.entity.state.id.kind());
                comparison.row(*id, kind, |stored| Ok::<_, ReadError>(view == stored))?;
            }
            Ok(comparison.finish())
        })
    }

    fn rebuild(&self, mut folded: Share) -> Result<(), ReadError> {
        let mut log = self.memory.0.log();
        folded.catch_up(|last, each| walk(&log.records, last, u64::MAX, each))?;
        let views = folded.settle()?;
        log.views = views.into_iter().map(|stored| (stored.entity.state.id.uuid(), stored)).collect();
        Ok(())
    }

    fn info(&self) -> Result<Info, ReadError> {
        self.with(|snapshot| {
            let live = snapshot.views.values().filter(|stored| stored.entity.ended_at.is_none()).count();
            Ok((snapshot.head(), snapshot.views.len() as u64, live as u64))
        })
        .map(|(records, entities, live)| {
            let log = self.memory.0.log();
            Info {
                engine: "memory".to_owned(),
                format: 0,
                records,
                entities,
                live,
                checkpoints: log.checkpoints.len() as u64,
                bytes: 0,
                keys: log.signers.clone(),
                segments: Vec::new(),
            }
        })
    }

    fn backup(&self, _: &Path) -> Result<(), ReadError> {
        Err(unsupported("backups"))
    }

    fn integrity(&self) -> Result<Option<String>, ReadError> {
        Ok(None)
    }

    fn seals(&self) -> bool {
        self.memory.0.seal.is_some()
    }

    fn awaits_seal(&self) -> Result<u64, ReadError> {
        Ok(0)
    }

    fn probe(&self) -> Result<(), ReadError> {
        Ok(())
    }

    fn lease(&self, order: &LeaseOrder) -> Result<LeaseAnswer, ReadError> {
        leases::settle(&self.memory.0, order)
    }

    fn leases(&self) -> Result<Vec<LeaseSeen>, ReadError> {
        Ok(leases::all(&self.memory.0))
    }

    fn service_steps(&self) -> Result<Vec<ServiceStep>, ReadError> {
        Ok(self.memory.0.log().steps.values().cloned().collect())
    }

    fn vacuum(&self) -> Result<(), ReadError> {
        Ok(())
    }

    fn import(&self, lines: &mut Lines<'_>) -> Result<Imported, ImportError> {
        exchange::import(&self.memory.0, lines)
    }

    fn legacy(&self) -> Result<Vec<Legacy>, ReadError> {
        Ok(self.memory.0.log().legacy.clone())
    }

    fn legacy_count(&self) -> Result<u64, ReadError> {
        Ok(self.memory.0.log().legacy.len() as u64)
    }
}

/// Goes through the records after one number up to another.
fn walk(records: &[Record], after: u64, last: u64, each: EachRecord<'_>) -> Result<(), ReadError> {
    let bound = |seq: u64| usize::try_from(seq).unwrap_or(usize::MAX).min(records.len());
    let (from, to) = (bound(after), bound(last));
    records[from..to.max(from)].iter().try_for_each(|record| each(&record.borrowed()))
}
