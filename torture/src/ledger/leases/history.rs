//! What the log must say of the leases of entities, whoever wrote it and whatever happened meanwhile.
//!
//! Invariant: each act names the epoch that it was sent with, so that the log alone tells whether the act was in time.

use std::collections::HashMap;

use anyhow::{Result, bail};
use callboard_kernel::{Facts, LeaseTerms, Observe, Order, Value, fact};
use callboard_ledger::{Ledger, Page, RecordScope, Request};
use uuid::Uuid;

/// Under which name an act says with which epoch it was sent.
const ACTED_WITH: &str = "acted_with";

/// An act under the terms of a lease.
pub(crate) fn act(mut request: Request, epoch: u64, terms: LeaseTerms) -> Request {
    let data = Facts::none().with(ACTED_WITH, epoch as i64);
    request.command.order = Order::Observe(Observe { reasons: vec![], data });
    request.command.lease = Some(terms);
    request
}

/// The epoch that a record grants.
pub(crate) fn granted(data: &Facts) -> Option<u64> {
    data.read(fact::LEASE_EPOCH).and_then(|epoch| u64::try_from(epoch).ok())
}

/// Reads the whole log: epochs go up by one, and every act belongs to the one that was in force. Gives the number of records.
pub(crate) fn check(ledger: &Ledger) -> Result<u64> {
    let mut leases: HashMap<Uuid, (u64, Option<String>)> = HashMap::new();
    let mut after = 0;
    loop {
        let page = ledger.records(Page { after, limit: 10_000, scope: RecordScope::All })?;
        let Some(last) = page.last() else { return Ok(after) };
        after = last.seq;
        for record in &page {
            let data = record.event()?.data;
            let (epoch, holder) = leases.entry(record.entity).or_default();
            if let Some(Value::Int(acted_with)) = data.get(ACTED_WITH) {
                let is_in_force =
                    *acted_with as u64 == *epoch && holder.as_deref() == Some(record.actor_id.as_str());
                if !is_in_force {
                    bail!("an act with epoch {acted_with} while {holder:?} had epoch {epoch}: {record:?}");
                }
            }
            if let Some(given) = granted(&data) {
                if given != *epoch + 1 {
                    bail!("epoch {given} was given after epoch {epoch}: {record:?}");
                }
                *epoch = given;
            }
            if data.get(fact::LEASE_HOLDER.name()).is_some() {
                *holder = data.read(fact::LEASE_HOLDER).map(str::to_owned);
            }
        }
    }
}
