//! The clocks of one run: which is due first, and which ran out.
//!
//! Invariant: all of them count on the monotonic clock from the start of the run, without the time during which we
//! ourselves were suspended.

use std::time::{Duration, Instant};

use crate::{Cause, Timer, Timers};

/// The clocks of one run.
#[derive(Debug)]
pub(crate) struct Clocks {
    started: Instant,
    allowed: Timers,
    suspended: Duration,
    /// The last sign of life, from the start.
    last: Option<Duration>,
    /// Neither of the clocks for signs of life runs out before this, from the start.
    extended: Duration,
}

impl Clocks {
    pub(crate) fn new(started: Instant, allowed: Timers) -> Self {
        Self { started, allowed, suspended: Duration::ZERO, last: None, extended: Duration::ZERO }
    }

    /// The time since the start.
    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed().saturating_sub(self.suspended)
    }

    pub(crate) fn alive(&mut self, at: Duration) {
        self.last = Some(at);
    }

    /// The child asked for more time, which counts as a sign of life.
    pub(crate) fn extend(&mut self, by: Duration) {
        let now = self.elapsed();
        self.alive(now);
        self.extended = self.extended.max(now.saturating_add(by));
    }

    pub(crate) fn suspended_for(&mut self, time: Duration) {
        self.suspended += time;
    }

    /// How long until the first clock runs out.
    pub(crate) fn next(&self, now: Duration) -> Option<Duration> {
        self.deadlines().map(|(_, _, at, _)| at.saturating_sub(now)).min()
    }

    /// The clock that ran out, if one did: the one whose moment came first.
    pub(crate) fn run_out(&self, now: Duration) -> Option<Cause> {
        self.deadlines().filter(|(_, _, at, _)| *at <= now).min_by_key(|(_, _, at, _)| *at).map(
            |(timer, configured, _, since)| Cause::Timer {
                timer,
                configured,
                elapsed: now.saturating_sub(since),
            },
        )
    }

    fn deadlines(&self) -> impl Iterator<Item = (Timer, Duration, Duration, Duration)> {
        let Timers { total, first_output, silence, .. } = self.allowed;
        let first = first_output.filter(|_| self.last.is_none());
        let last = self.last.unwrap_or_default();
        // Before the first sign of life a run with a clock of its own for that is not silent yet.
        let silence = silence.filter(|_| self.last.is_some() || first_output.is_none());
        let extended = self.extended;
        [
            (Timer::Total, total, Duration::ZERO),
            (Timer::FirstOutput, first, Duration::ZERO),
            (Timer::Silence, silence, last),
        ]
        .into_iter()
        .filter_map(move |(timer, allowed, since)| {
            let allowed = allowed?;
            // A child may ask for patience; the total is not its own to give.
            let earliest = if timer == Timer::Total { Duration::ZERO } else { extended };
            Some((timer, allowed, since.saturating_add(allowed).max(earliest), since))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn clocks(total: u64, first: u64, silence: u64) -> Clocks {
        let some = |number| (number > 0).then(|| seconds(number));
        let allowed = Timers {
            total: some(total),
            first_output: some(first),
            silence: some(silence),
            ..Timers::default()
        };
        Clocks::new(Instant::now(), allowed)
    }

    fn which(clocks: &Clocks, now: u64) -> Option<Timer> {
        match clocks.run_out(seconds(now))? {
            Cause::Timer { timer, .. } => Some(timer),
            Cause::OfItself | Cause::Stopped(_) => None,
        }
    }

    #[test]
    fn each_clock_runs_out_by_itself() {
        assert_eq!(which(&clocks(5, 0, 0), 5), Some(Timer::Total));
        assert_eq!(which(&clocks(5, 0, 0), 4), None);
        assert_eq!(which(&clocks(0, 3, 0), 3), Some(Timer::FirstOutput));
        assert_eq!(which(&clocks(0, 0, 2), 2), Some(Timer::Silence));
    }

    #[test]
    fn output_ends_the_first_clock_and_restarts_the_silence() {
        let mut clocks = clocks(0, 3, 2);
        assert_eq!(which(&clocks, 2), None, "not silent before the first output");
        clocks.alive(seconds(1));
        assert_eq!(clocks.next(seconds(1)), Some(seconds(2)));
        assert_eq!(which(&clocks, 3), Some(Timer::Silence));
    }

    #[test]
    fn of_two_that_ran_out_the_earlier_one_is_named() {
        assert_eq!(which(&clocks(5, 3, 0), 9), Some(Timer::FirstOutput));
    }

    #[test]
    fn more_time_moves_the_silence_and_not_the_total() {
        let mut clocks = clocks(200, 0, 5);
        clocks.extend(seconds(100));
        assert_eq!(which(&clocks, 50), None);
        assert_eq!(which(&clocks, 101), Some(Timer::Silence));
        clocks.extend(seconds(1_000));
        assert_eq!(which(&clocks, 200), Some(Timer::Total));
    }

    #[test]
    fn nothing_allowed_means_nothing_is_due() {
        assert_eq!(clocks(0, 0, 0).next(seconds(1)), None);
    }
}
