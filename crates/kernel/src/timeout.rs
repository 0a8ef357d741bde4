//! How long an attempt at a task may take: the rule that follows what earlier attempts took.
//!
//! The rule, in one place. The newest [`WINDOW`] samples of the same role, scope and profile count; fewer than [`SAMPLES_MIN`] are not enough,
//! and the default of the scope holds. A finished attempt counts with its duration, at most [`OUTLIER`] times the median of the finished
//! ones, plus a margin of one half. An attempt that timed out counts with the bound it reached, without a margin: it shows that the work
//! takes at least as long, never how much longer, so timeouts hold a bound and do not raise it. The 95th percentile of these (nearest rank)
//! is the bound, and it stays between half the default and four times the default.
//!
//! Invariant: pure; the order of the samples within the window changes nothing. Deliberately absent: reading samples, and attempts that
//! failed in another way, whose duration says nothing about the work.

use std::time::Duration;

use callboard_lifecycle::words;

use crate::task::Scope;

/// So many of the newest samples count.
pub const WINDOW: usize = 40;
/// Fewer samples than this are not enough.
pub const SAMPLES_MIN: usize = 8;
/// A finished attempt counts as at most so many times the median.
const OUTLIER: u32 = 3;
/// A bound is at most so many times the default of its scope.
const MOST: u32 = 4;

const _: () = assert!(SAMPLES_MIN <= WINDOW);

words! {
    /// What a bound follows from.
    pub enum TimeoutRule is "rule of a timeout" {
        /// The task has a bound of its own.
        Explicit = "explicit",
        /// Earlier attempts.
        Adaptive = "adaptive",
        /// Its scope.
        Default = "default",
    }
}

words! {
    /// How an attempt ended whose duration counts.
    pub enum SampleEnd is "end of a sample" {
        /// Its work was reported as done.
        Finished = "finished",
        /// It reached its bound.
        TimedOut = "timed_out",
    }
}

/// How long one attempt took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Its duration, or the bound that it reached.
    pub took: Duration,
    /// How it ended.
    pub end: SampleEnd,
}

/// How long an attempt may take, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttemptBound {
    /// The bound.
    pub bound: Duration,
    /// What it follows from.
    pub rule: TimeoutRule,
    /// The 95th percentile of the samples, without a margin; nothing without samples.
    pub p95: Option<Duration>,
    /// How many samples there are in the window.
    pub samples: usize,
}

/// The bound of an attempt in a scope. `explicit` is the task's own bound, which wins; `newest_first` are the samples.
pub fn timeout(scope: Scope, explicit: Option<Duration>, newest_first: &[Sample]) -> AttemptBound {
    let window = &newest_first[..newest_first.len().min(WINDOW)];
    let cap = outlier_cap(scope, window);
    let p95 = percentile_95(window.iter().map(|sample| sample.took.min(cap)).collect());
    let told = |bound, rule| AttemptBound { bound, rule, p95, samples: window.len() };
    if let Some(bound) = explicit {
        return told(bound, TimeoutRule::Explicit);
    }
    let counted = window.iter().map(|sample| match sample.end {
        SampleEnd::Finished => sample.took.min(cap) * 3 / 2,
        SampleEnd::TimedOut => sample.took.min(cap),
    });
    match percentile_95(counted.collect()).filter(|_| window.len() >= SAMPLES_MIN) {
        None => told(default(scope), TimeoutRule::Default),
        Some(found) => told(found.clamp(default(scope) / 2, most(scope)), TimeoutRule::Adaptive),
    }
}

/// Twice the bound of the last attempt, at most four times the default of the scope; nothing if the last attempt had that much.
pub fn more_time(scope: Scope, last: Duration) -> Option<Duration> {
    (last < most(scope)).then(|| last.saturating_mul(2).min(most(scope)))
}

/// What an attempt in a scope may take if nothing else is known.
pub const fn default(scope: Scope) -> Duration {
    Duration::from_secs(scope.minutes() * 60)
}

/// The most that a rule gives to an attempt.
pub fn most(scope: Scope) -> Duration {
    default(scope) * MOST
}

/// What a sample counts as at most. Timeouts do not raise it, else a week of them would let outliers in.
fn outlier_cap(scope: Scope, window: &[Sample]) -> Duration {
    let is_finished = |sample: &&Sample| sample.end == SampleEnd::Finished;
    let mut finished: Vec<Duration> =
        window.iter().filter(is_finished).map(|sample| sample.took.min(most(scope))).collect();
    finished.sort_unstable();
    let median = finished.get(finished.len().saturating_sub(1) / 2);
    median.map_or(most(scope), |median| (*median * OUTLIER).min(most(scope)))
}

/// The nearest rank: the smallest value that 95 of 100 are not above.
fn percentile_95(mut values: Vec<Duration>) -> Option<Duration> {
    values.sort_unstable();
    let rank = (values.len() * 95).div_ceil(100);
    values.get(rank.checked_sub(1)?).copied()
}

#[cfg(test)]
mod tests {
    use callboard_lifecycle::Words;
    use proptest::prelude::*;

    use super::*;

    const fn finished(seconds: u64) -> Sample {
        Sample { took: Duration::from_secs(seconds), end: SampleEnd::Finished }
    }

    const fn timed_out(bound: Duration) -> Sample {
        Sample { took: bound, end: SampleEnd::TimedOut }
    }

    fn scopes() -> impl Strategy<Value = Scope> {
        prop::sample::select(Scope::ALL)
    }

    fn samples(many: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Sample>> {
        let one = (0_u64..100_000, prop::bool::weighted(0.2)).prop_map(|(seconds, is_timeout)| {
            if is_timeout { timed_out(Duration::from_secs(seconds)) } else { finished(seconds) }
        });
        prop::collection::vec(one, many)
    }

    proptest! {
        #[test]
        fn a_bound_stays_between_half_and_four_times_the_default(scope in scopes(), all in samples(0..100)) {
            let found = timeout(scope, None, &all);
            prop_assert!(found.bound >= default(scope) / 2 && found.bound <= default(scope) * 4, "{found:?}");
            prop_assert_eq!(found.samples, all.len().min(WINDOW));
            let is_enough = all.len() >= SAMPLES_MIN;
            prop_assert_eq!(found.rule, if is_enough { TimeoutRule::Adaptive } else { TimeoutRule::Default });
            if !is_enough {
                prop_assert_eq!(found.bound, default(scope));
            }
        }

        #[test]
        fn a_bound_of_the_task_wins(scope in scopes(), seconds in 1_u64..1_000_000, all in samples(0..100)) {
            let explicit = Duration::from_secs(seconds);
            let found = timeout(scope, Some(explicit), &all);
            prop_assert_eq!((found.bound, found.rule), (explicit, TimeoutRule::Explicit));
        }

        #[test]
        fn the_order_within_the_window_and_what_is_older_change_nothing(
            scope in scopes(), all in samples(WINDOW..100),
        ) {
            let mut turned = all[..WINDOW].to_vec();
            turned.reverse();
            prop_assert_eq!(timeout(scope, None, &all), timeout(scope, None, &turned));
        }

        #[test]
        fn timeouts_hold_a_bound_and_never_raise_it(
            scope in scopes(), begin in prop::collection::vec(0_u64..100_000, SAMPLES_MIN..20), weeks in 1_usize..20,
        ) {
            let mut all: Vec<Sample> = begin.into_iter().map(finished).collect();
            let first = timeout(scope, None, &all).bound;
            for _ in 0..weeks {
                let bound = timeout(scope, None, &all).bound;
                prop_assert!(bound <= first, "{bound:?} after {first:?}");
                all.insert(0, timed_out(bound));
            }
        }

        #[test]
        fn nothing_but_timeouts_stays_with_the_default(scope in scopes(), many in 0_usize..100) {
            let all = vec![timed_out(default(scope)); many];
            prop_assert_eq!(timeout(scope, None, &all).bound, default(scope));
        }

        #[test]
        fn an_outlier_teaches_little(usual in 1_u64..2_000, outlier in 0_u64..1_000_000, at in 0_usize..9) {
            let mut all = vec![finished(usual); 8];
            all.insert(at.min(8), finished(outlier));
            let bound = timeout(Scope::Xl, None, &all).bound;
            let most = Duration::from_secs(usual) * 3 * 3 / 2;
            prop_assert!(bound <= most.max(default(Scope::Xl) / 2), "{bound:?}");
        }

        #[test]
        fn more_time_doubles_up_to_four_times_the_default(scope in scopes(), seconds in 1_u64..100_000) {
            let last = Duration::from_secs(seconds);
            match more_time(scope, last) {
                Some(more) => {
                    prop_assert!(more > last && more <= default(scope) * 4);
                    prop_assert!(more == last * 2 || more == default(scope) * 4);
                }
                None => prop_assert!(last >= default(scope) * 4),
            }
        }
    }

    #[test]
    fn the_bound_is_the_95th_percentile_with_a_margin() {
        let all: Vec<Sample> = (1..=20).map(|minute| finished(minute * 60)).collect();
        let found = timeout(Scope::Small, None, &all);
        assert_eq!(found.p95, Some(Duration::from_mins(19)));
        assert_eq!(found.bound, Duration::from_secs(19 * 90));
        let quick = vec![finished(60); 8];
        assert_eq!(timeout(Scope::Medium, None, &quick).bound, Duration::from_mins(15), "half the default");
        assert_eq!(timeout(Scope::Medium, None, &quick[1..]).bound, Duration::from_mins(30), "too few");
    }
}
