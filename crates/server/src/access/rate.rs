//! How many requests a token may make: a bucket each, which fills again steadily.
//!
//! Invariant: one loud token never makes another one wait, and the memory of it is bounded. Deliberately absent: the
//! time, which is handed in.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Buckets kept; a full one that nobody used is forgotten first.
const BUCKETS_MAX: usize = 4096;

/// The buckets of all tokens.
pub(crate) struct Rate {
    a_second: f64,
    buckets: Mutex<HashMap<[u8; 32], Bucket>>,
}

/// A bucket that fills again steadily.
pub(crate) struct Bucket {
    left: f64,
    at: Instant,
}

impl Bucket {
    /// One that nobody took from.
    pub(crate) const fn full(burst: f64, now: Instant) -> Self {
        Self { left: burst, at: now }
    }

    /// Takes so much; or how long to wait until it is there.
    pub(crate) fn take(
        &mut self,
        amount: f64,
        burst: f64,
        a_second: f64,
        now: Instant,
    ) -> Result<(), Duration> {
        self.fill(burst, a_second, now);
        if self.left < amount {
            return Err(Duration::from_secs_f64((amount - self.left) / a_second));
        }
        self.left -= amount;
        Ok(())
    }

    /// Takes so much although it may not be there.
    pub(crate) fn owe(&mut self, amount: f64, burst: f64, a_second: f64, now: Instant) {
        self.fill(burst, a_second, now);
        self.left -= amount;
    }

    /// How long to wait until nothing is owed.
    pub(crate) fn wait(&mut self, burst: f64, a_second: f64, now: Instant) -> Result<(), Duration> {
        self.take(0.0, burst, a_second, now)
    }

    fn fill(&mut self, burst: f64, a_second: f64, now: Instant) {
        let since = now.saturating_duration_since(self.at).as_secs_f64();
        self.left = (self.left + since * a_second).min(burst);
        self.at = self.at.max(now);
    }
}

impl Rate {
    /// So many a second, and as many at once; 0 is no limit.
    pub(crate) fn new(a_second: u32) -> Self {
        Self { a_second: f64::from(a_second), buckets: Mutex::default() }
    }

    /// Takes one; or how long to wait until there is one again.
    pub(crate) fn take(&self, whose: [u8; 32], now: Instant) -> Result<(), Duration> {
        if self.a_second == 0.0 {
            return Ok(());
        }
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= BUCKETS_MAX {
            buckets.retain(|_, bucket| now.duration_since(bucket.at) < Duration::from_secs(1));
        }
        let bucket = buckets.entry(whose).or_insert(Bucket::full(self.a_second, now));
        bucket.take(1.0, self.a_second, self.a_second, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_emptied_and_fills_again_and_is_nobody_elses() {
        let (rate, start) = (Rate::new(10), Instant::now());
        for _ in 0..10 {
            assert!(rate.take([1; 32], start).is_ok());
        }
        assert!(rate.take([1; 32], start).is_err());
        assert!(rate.take([2; 32], start).is_ok());
        let later = start + Duration::from_millis(101);
        assert!(rate.take([1; 32], later).is_ok() && rate.take([1; 32], later).is_err());
    }
}
