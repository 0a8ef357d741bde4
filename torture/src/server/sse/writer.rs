//! Who writes what the readers of the feed read: two handles of their own on the store, many entities of two kinds.
//!
//! Invariant: nothing is counted as written before it is durable.

use std::io::BufRead;
use std::net::TcpStream;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use callboard_kernel::{Create, EntityId, Facts, Observe, Order};
use callboard_ledger::{Ledger, Page, RecordScope};
use callboard_lifecycle::Kind;
use callboard_lifecycle::schedule::ScheduleState;
use callboard_lifecycle::session::SessionState;

use crate::harness::aftermath;
use crate::harness::commands::{observe, request};

/// Entities of each kind.
const OF_EACH: u128 = 20;
/// Records under way at once.
const WINDOW: usize = 256;
/// Records that one probe writes, one by one.
const PROBES: usize = 40;
/// Bytes that no pair of sockets holds.
const FILL_BYTES: usize = 12 << 20;
const TEXT_BYTES: usize = 16 << 10;

/// How long a record takes in the middle: until it is written, and until a reader has it.
pub(crate) struct Pace {
    pub(crate) written: Duration,
    pub(crate) arrived: Duration,
}

/// The entities, and two handles on their store.
pub(crate) struct Cast {
    ledgers: [Ledger; 2],
    pub(crate) ids: Vec<EntityId>,
}

impl Cast {
    pub(crate) fn create(store: &Path) -> Result<Self> {
        let ledgers = [aftermath::open(store)?, aftermath::open(store)?];
        let mut ids = Vec::new();
        for number in 1..=OF_EACH {
            let starts = [
                (Kind::Session, SessionState::Pending.into()),
                (Kind::Schedule, ScheduleState::Enabled.into()),
            ];
            for (kind, at) in starts {
                let id = EntityId::new(kind, uuid::Uuid::from_u128(ids.len() as u128 + 1));
                let data = Facts::none().with("title", format!("number {number}"));
                ledgers[0].append(request(id, 0, Order::Create(Create { at, reasons: vec![], data })))?;
                ids.push(id);
            }
        }
        Ok(Self { ledgers, ids })
    }

    /// Records there are.
    pub(crate) fn count(&self) -> u64 {
        self.ids.len() as u64
    }

    /// Writes so many records, half of them on each handle.
    pub(crate) fn write(&self, events: u64, written: &AtomicU64) -> Result<()> {
        std::thread::scope(|scope| {
            let writers: Vec<_> =
                (0..2).map(|half| scope.spawn(move || self.write_half(half, events / 2, written))).collect();
            writers
                .into_iter()
                .try_for_each(|one| one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        })
    }

    fn write_half(&self, half: usize, events: u64, written: &AtomicU64) -> Result<()> {
        let mut left = events;
        while left > 0 {
            let now = left.min(WINDOW as u64);
            let tickets: Vec<_> = (0..now)
                .map(|n| {
                    let id = self.ids[((left - n) as usize * 7 + half) % self.ids.len()];
                    self.ledgers[half].submit(request(id, 1, observe("beats", (left - n) as i64)))
                })
                .collect();
            for ticket in tickets {
                ticket.wait().context("a record was not written")?;
            }
            left -= now;
            written.fetch_add(now, Ordering::AcqRel);
        }
        Ok(())
    }

    /// What the log holds: the number and the entity of each record.
    pub(crate) fn log(&self) -> Result<Vec<(u64, EntityId)>> {
        let mut all = Vec::new();
        loop {
            let after = all.last().map_or(0, |(seq, _)| *seq);
            let records = self.ledgers[0].records(Page { after, limit: 10_000, scope: RecordScope::All })?;
            if records.is_empty() {
                return Ok(all);
            }
            for record in records {
                let kind =
                    if record.kind == Kind::Session.to_string() { Kind::Session } else { Kind::Schedule };
                all.push((record.seq, EntityId::new(kind, record.entity)));
            }
        }
    }

    /// Writes records one by one, and waits for each at a reader.
    pub(crate) fn probe(&self, reader: &mut std::io::BufReader<TcpStream>) -> Result<Pace> {
        let (mut written, mut arrived) = (Vec::new(), Vec::new());
        for n in 0..PROBES {
            let began = Instant::now();
            let receipt = self.ledgers[0].append(request(
                self.ids[n % self.ids.len()],
                1,
                observe("beats", n as i64),
            ))?;
            written.push(began.elapsed());
            let committed = Instant::now();
            until_seen(reader, receipt.record.seq)?;
            arrived.push(committed.elapsed());
        }
        written.sort_unstable();
        arrived.sort_unstable();
        Ok(Pace { written: written[PROBES / 2], arrived: arrived[PROBES / 2] })
    }

    /// Writes more than the sockets of a reader hold; this one reads it.
    pub(crate) fn fill(&self, reader: &mut std::io::BufReader<TcpStream>) -> Result<()> {
        let text = "x".repeat(TEXT_BYTES);
        let tickets: Vec<_> = (0..FILL_BYTES / TEXT_BYTES)
            .map(|_| {
                let data = Facts::none().with("said", text.as_str());
                self.ledgers[0].submit(request(
                    self.ids[0],
                    1,
                    Order::Observe(Observe { reasons: vec![], data }),
                ))
            })
            .collect();
        let mut last = 0;
        for ticket in tickets {
            last = ticket.wait()?.record.seq;
        }
        until_seen(reader, last)
    }
}

/// Reads until a record has come.
fn until_seen(reader: &mut impl BufRead, seq: u64) -> Result<()> {
    let wanted = format!("id: {seq}\n");
    let mut line = String::new();
    while line != wanted {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            anyhow::bail!("the stream ended before record {seq}");
        }
    }
    Ok(())
}
