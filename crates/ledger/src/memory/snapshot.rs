//! The log as one reader sees it: up to a record, and the views as they stood there.

use std::borrow::Cow;
use std::collections::BTreeMap;

use callboard_kernel::{EntityId, Moment};
use callboard_lifecycle::{Kind, Severity, Words};
use uuid::Uuid;

use super::log::Log;
use crate::error::ReadError;
use crate::record::Record;
use crate::store::{Listing, Page, RecordScope, Sequence, Slice, StateCount, Stored};

/// One state of the store.
pub(super) struct Snapshot<'a> {
    pub(super) records: &'a [Record],
    pub(super) views: Cow<'a, BTreeMap<Uuid, Stored>>,
}

impl<'a> Snapshot<'a> {
    /// The store as it is.
    pub(super) fn newest(log: &'a Log) -> Self {
        Self { records: &log.records, views: Cow::Borrowed(&log.views) }
    }

    /// The store as it was after a record.
    pub(super) fn upto(log: &'a Log, seq: u64) -> Result<Self, ReadError> {
        let records = &log.records[..usize::try_from(seq).unwrap_or(usize::MAX).min(log.records.len())];
        let mut views: BTreeMap<Uuid, Stored> = BTreeMap::new();
        for record in records {
            let id = record.id()?;
            views.entry(record.entity).or_insert_with(|| Stored::unborn(id)).follow(record)?;
        }
        Ok(Self { records, views: Cow::Owned(views) })
    }

    pub(super) fn head(&self) -> u64 {
        self.records.len() as u64
    }

    pub(super) fn entities(&self, listing: Listing) -> Vec<Stored> {
        let limit = if listing.limit == 0 { usize::MAX } else { listing.limit };
        let is_wanted = |stored: &&Stored| {
            listing.kind.is_none_or(|kind| kind == stored.entity.state.id.kind())
                && (listing.ended || stored.entity.ended_at.is_none())
        };
        self.views.values().rev().filter(is_wanted).take(limit).cloned().collect()
    }

    pub(super) fn slice(&self, slice: &Slice) -> Vec<Stored> {
        let parent = slice.parent.map(|id| id.to_string());
        let beyond = slice.beyond.map(EntityId::uuid);
        let is_wanted = |stored: &&Stored| {
            let id = stored.entity.state.id;
            let is_beyond = beyond.is_none_or(|beyond| match slice.order {
                Sequence::Newest => id.uuid() < beyond,
                Sequence::Oldest => id.uuid() > beyond,
            });
            is_beyond
                && slice.kind.is_none_or(|kind| kind == id.kind())
                && (parent.is_none() || stored.parent() == parent.as_deref())
                && (!slice.live || stored.entity.ended_at.is_none())
        };
        match slice.order {
            Sequence::Newest => {
                self.views.values().rev().filter(is_wanted).take(slice.limit).cloned().collect()
            }
            Sequence::Oldest => self.views.values().filter(is_wanted).take(slice.limit).cloned().collect(),
        }
    }

    fn ended(&self) -> impl DoubleEndedIterator<Item = (&'static str, &Stored)> {
        let is_ended = |stored: &&Stored| {
            stored.entity.state.id.kind() == Kind::Task && stored.entity.ended_at.is_some()
        };
        let state = |stored: &Stored| stored.entity.state.lifecycle.map_or("", |state| state.name());
        self.views.values().filter(is_ended).map(move |stored| (state(stored), stored))
    }

    pub(super) fn ended_counts(&self) -> Vec<(String, u64)> {
        let mut counts = BTreeMap::new();
        self.ended().for_each(|(state, _)| *counts.entry(state.to_owned()).or_default() += 1);
        counts.into_iter().collect()
    }

    pub(super) fn ended_tasks(&self, state: &str, beyond: Option<EntityId>, limit: usize) -> Vec<Stored> {
        let is_beyond =
            |stored: &Stored| beyond.is_none_or(|beyond| stored.entity.state.id.uuid() < beyond.uuid());
        let wanted = self.ended().rev().filter(|(its, stored)| *its == state && is_beyond(stored));
        wanted.take(limit).map(|(_, stored)| stored.clone()).collect()
    }

    pub(super) fn standings(&self) -> Vec<StateCount> {
        let mut counts: BTreeMap<(&str, &str), u64> = BTreeMap::new();
        for stored in self.views.values() {
            let state = &stored.entity.state;
            let word = state.lifecycle.map_or("", |lifecycle| lifecycle.name());
            *counts.entry((state.id.kind().name(), word)).or_default() += 1;
        }
        let standing = |((kind, state), count): ((&str, &str), u64)| StateCount {
            kind: kind.to_owned(),
            state: state.to_owned(),
            count,
        };
        counts.into_iter().map(standing).collect()
    }

    pub(super) fn attention(&self, limit: usize) -> Vec<Stored> {
        let mut urgent: Vec<(Severity, &Stored)> =
            self.views.values().map(|stored| (stored.rank(), stored)).collect();
        urgent.retain(|(rank, _)| rank.is_urgent());
        urgent.sort_by_key(|(rank, stored)| (*rank as i64, stored.entity.entered_at));
        urgent.into_iter().take(limit).map(|(_, stored)| stored.clone()).collect()
    }

    pub(super) fn records(&self, page: Page) -> Vec<Record> {
        let is_wanted = |record: &&Record| match page.scope {
            RecordScope::All => true,
            RecordScope::Entity(id) => record.entity == id.uuid(),
        };
        let after = usize::try_from(page.after).unwrap_or(usize::MAX).min(self.records.len());
        self.records[after..].iter().filter(is_wanted).take(page.limit).cloned().collect()
    }

    /// The newest record decided at or before a moment; the ledger's time never runs backwards.
    pub(super) fn seq_at(&self, moment: Moment) -> u64 {
        self.records.partition_point(|record| record.at <= moment) as u64
    }

    pub(super) fn between(&self, kind: Kind, low: u128, high: u128, limit: usize) -> Vec<EntityId> {
        let range = self.views.range(Uuid::from_u128(low)..=Uuid::from_u128(high));
        let ids = range.map(|(_, stored)| stored.entity.state.id);
        ids.filter(|id| id.kind() == kind).take(limit).collect()
    }
}
