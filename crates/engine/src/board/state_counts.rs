//! How many stand in each state, kept up to the end of the log.
//!
//! Invariant: counted once from the view, then followed record by record. Deliberately absent: who they are.

use std::collections::BTreeMap;

use callboard_ledger::{Ledger, Page, ReadError, RecordScope};

use super::ranked::{FAR_BEHIND, PAGE};

/// How many stand in each state, by kind.
pub type Counts = BTreeMap<String, BTreeMap<String, u64>>;

/// The counts up to a record.
pub(super) struct StateCounts {
    head: u64,
    pub(super) counts: Counts,
}

impl StateCounts {
    pub(super) fn read(ledger: &Ledger) -> Result<Self, ReadError> {
        let (head, standings) = ledger.standings()?;
        let mut counts = Counts::new();
        for standing in standings {
            counts.entry(standing.kind).or_default().insert(standing.state, standing.count);
        }
        Ok(Self { head, counts })
    }

    pub(super) const fn is_far_behind(&self, end: u64) -> bool {
        end.saturating_sub(self.head) > FAR_BEHIND
    }

    pub(super) fn catch_up(&mut self, ledger: &Ledger, end: u64) -> Result<(), ReadError> {
        while self.head < end {
            let records = ledger.records(Page { after: self.head, limit: PAGE, scope: RecordScope::All })?;
            let Some(last) = records.last().map(|record| record.seq) else { break };
            for record in &records {
                let states = self.counts.entry(record.kind.clone()).or_default();
                if let Some(count) = states.get_mut(&record.from_state) {
                    *count = count.saturating_sub(1);
                }
                *states.entry(record.to_state.clone()).or_default() += 1;
            }
            self.head = last;
        }
        Ok(())
    }
}
