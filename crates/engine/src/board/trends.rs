//! How it went: ends by outcome, how long they took, time in each state, and the reasons of failures.
//!
//! Invariant: folded from the log's own records, each once; later questions go on from where the last one ended. Spans
//! are samples of a bounded number an hour. Deliberately absent: anything older than a month.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};

use callboard_kernel::Moment;
use callboard_ledger::{Ledger, Page, ReadError, Record, RecordScope};
use callboard_lifecycle::{Kind, Lifecycle, Outcome, Words};
use callboard_wire::{BucketReport, ReasonCount, StateTime, TrendReport};
use uuid::Uuid;

const HOUR_US: i64 = 3_600_000_000;
const DAY_US: i64 = 24 * HOUR_US;
/// Spans kept of one hour at the most.
const SAMPLES_MAX: usize = 512;
/// Records read at once.
const PAGE: usize = 5000;

/// How wide a bucket is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrendBucket {
    /// An hour.
    Hour,
    /// A day.
    Day,
}

/// What was folded so far.
#[derive(Default)]
pub struct Trends(Mutex<Option<Folded>>);

struct Folded {
    /// From this moment on.
    since: Moment,
    after: u64,
    hours: BTreeMap<i64, Hour>,
    /// Where each entity that has not ended stands, and since when.
    standing: HashMap<Uuid, Standing>,
}

struct Standing {
    state: &'static str,
    since: Moment,
    began: Moment,
}

#[derive(Default)]
struct Hour {
    outcomes: BTreeMap<&'static str, u64>,
    reasons: BTreeMap<String, u64>,
    took: Sample,
    in_state: BTreeMap<&'static str, Sample>,
}

#[derive(Clone, Default)]
struct Sample {
    seen: u64,
    seconds: Vec<f64>,
}

impl Trends {
    /// How many ended within a day.
    pub fn ended_lately(&self, ledger: &Ledger, now: Moment) -> Result<u64, ReadError> {
        self.with(ledger, now, 1, |folded| {
            let first = (now.as_micros() - DAY_US) / HOUR_US;
            folded.hours.range(first..).flat_map(|(_, hour)| hour.outcomes.values()).sum()
        })
    }

    /// How it went in the last days.
    pub fn report(
        &self,
        ledger: &Ledger,
        now: Moment,
        days: i64,
        bucket: TrendBucket,
    ) -> Result<TrendReport, ReadError> {
        self.with(ledger, now, days, |folded| folded.report(now, days, bucket))
    }

    fn with<T>(
        &self,
        ledger: &Ledger,
        now: Moment,
        days: i64,
        tell: impl FnOnce(&Folded) -> T,
    ) -> Result<T, ReadError> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let since = Moment::from_micros((now.as_micros() - days * DAY_US) / HOUR_US * HOUR_US);
        let folded = match kept.as_mut() {
            Some(folded) if folded.since <= since => folded,
            Some(_) | None => {
                let before = Moment::from_micros(since.as_micros() - 1);
                let after = ledger.seq_at(before)?;
                kept.insert(Folded { since, after, hours: BTreeMap::new(), standing: HashMap::new() })
            }
        };
        folded.catch_up(ledger)?;
        Ok(tell(folded))
    }
}

impl Folded {
    fn catch_up(&mut self, ledger: &Ledger) -> Result<(), ReadError> {
        loop {
            let records = ledger.records(Page { after: self.after, limit: PAGE, scope: RecordScope::All })?;
            let Some(last) = records.last() else { return Ok(()) };
            self.after = last.seq;
            records.iter().for_each(|record| self.follow(record));
        }
    }

    fn follow(&mut self, record: &Record) {
        let state = Kind::parse(&record.kind).and_then(|kind| Lifecycle::parse(kind, &record.to_state));
        let Ok(state) = state else { return };
        if record.from_state == record.to_state {
            return;
        }
        let hour = self.hours.entry(record.at.as_micros().div_euclid(HOUR_US)).or_default();
        let before = self.standing.remove(&record.entity);
        if let Some(before) = &before {
            hour.in_state.entry(before.state).or_default().add(record.at, before.since);
        }
        let Some(outcome) = state.outcome().filter(|_| state.is_terminal()) else {
            let began = before.map_or(record.at, |before| before.began);
            self.standing.insert(record.entity, Standing { state: state.name(), since: record.at, began });
            return;
        };
        *hour.outcomes.entry(outcome.name()).or_default() += 1;
        if let Some(before) = &before {
            hour.took.add(record.at, before.began);
        }
        if outcome != Outcome::Completed
            && let Some(reason) = record.event().ok().and_then(|event| event.reasons.first().map(|r| r.code))
        {
            *hour.reasons.entry(reason.as_str().to_owned()).or_default() += 1;
        }
    }

    fn report(&self, now: Moment, days: i64, bucket: TrendBucket) -> TrendReport {
        let width = match bucket {
            TrendBucket::Hour => 1,
            TrendBucket::Day => 24,
        };
        let first = (now.as_micros() - days * DAY_US).div_euclid(HOUR_US).div_euclid(width) * width;
        let last = now.as_micros().div_euclid(HOUR_US);
        let mut buckets = Vec::new();
        let mut from = first;
        while from <= last {
            buckets.push(self.bucket(from, from + width));
            from += width;
        }
        let (mut reasons, mut in_state) = (BTreeMap::new(), BTreeMap::<&str, Sample>::new());
        for (_, hour) in self.hours.range(first..) {
            for (code, count) in &hour.reasons {
                *reasons.entry(code.clone()).or_insert(0) += count;
            }
            for (state, sample) in &hour.in_state {
                in_state.entry(state).or_default().join(sample);
            }
        }
        let mut reasons: Vec<ReasonCount> =
            reasons.into_iter().map(|(code, count)| ReasonCount { code, count }).collect();
        reasons.sort_by_key(|reason| std::cmp::Reverse(reason.count));
        let time = |(state, sample): (&'static str, Sample)| {
            let (p50_s, p95_s) = sample.quantiles();
            StateTime { state, p50_s, p95_s }
        };
        TrendReport { buckets, reasons, time_in_state: in_state.into_iter().map(time).collect() }
    }

    fn bucket(&self, first: i64, end: i64) -> BucketReport {
        let (mut outcomes, mut took) = (BTreeMap::new(), Sample::default());
        for (_, hour) in self.hours.range(first..end) {
            for (outcome, count) in &hour.outcomes {
                *outcomes.entry(*outcome).or_insert(0) += count;
            }
            took.join(&hour.took);
        }
        let (p50_s, p95_s) = took.quantiles();
        BucketReport { from: Moment::from_micros(first * HOUR_US), outcomes, p50_s, p95_s }
    }
}

impl Sample {
    fn add(&mut self, end: Moment, begin: Moment) {
        self.seen += 1;
        let seconds = end.since(begin).as_secs_f64();
        if self.seconds.len() < SAMPLES_MAX {
            self.seconds.push(seconds);
        } else {
            // A place that depends only on how many were seen: the same log gives the same sample.
            let place = (self.seen.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33) % self.seen;
            if let Some(kept) = usize::try_from(place).ok().and_then(|place| self.seconds.get_mut(place)) {
                *kept = seconds;
            }
        }
    }

    fn join(&mut self, other: &Self) {
        self.seen += other.seen;
        self.seconds.extend_from_slice(&other.seconds);
    }

    /// The median, and what 95 of 100 stay below.
    fn quantiles(mut self) -> (Option<f64>, Option<f64>) {
        self.seconds.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let last = self.seconds.len().checked_sub(1)?;
            self.seconds.get((last as f64 * share).round() as usize).copied()
        };
        (at(0.5), at(0.95))
    }
}
