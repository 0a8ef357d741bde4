//! The clocks of one run: which is due first, and which ran out.
//!
//! Invariant: all of them count on the monotonic clock from the start of the run, without the time during which we
//! ourselves did not run: suspended, stopped, frozen, or kept from a processor. Such a gap shows because the loop wakes
//! up later than it meant to; to see where it began, the loop looks at the clock more often the younger the run is.
//! The clocks for signs of life stand still while the run is known to wait for something, which has a clock of its own.

use std::time::{Duration, Instant};

use crate::{Cause, Timer, Timers, Wait, mutant};

/// The clocks of one run.
#[derive(Debug)]
pub(crate) struct Clocks {
    started: Instant,
    allowed: Timers,
    suspended: Duration,
    /// When the loop last ran, and when it means to run again at the latest; from the start, gaps included.
    seen: Duration,
    expected: Duration,
    /// How long the host had been suspended when the run began.
    slept_before: Duration,
    /// The last sign of life, from the start.
    last: Option<Duration>,
    /// Neither of the clocks for signs of life runs out before this, from the start.
    extended: Duration,
    /// Why the clocks for signs of life stand still, and since when.
    held: Option<(Held, Duration)>,
    /// How long they stood still since the last sign of life, without the present hold.
    held_for: Duration,
}

/// Why the clocks for signs of life stand still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    /// The agent waits.
    Waits(Wait),
    /// The main process is stopped.
    Stopped,
}

/// One clock: what was allowed, when that is over, and since when it counts.
struct Deadline {
    timer: Timer,
    configured: Duration,
    at: Duration,
    since: Duration,
}

/// By how much the loop may be late before that counts as a gap.
const LATE: Duration = Duration::from_millis(500);
/// How often the loop looks at the clock: the shortest and the longest distance, and which part of the age of the run
/// and of its shortest bound lies between two looks.
const PULSE_MIN: Duration = Duration::from_millis(100);
const PULSE_MAX: Duration = Duration::from_secs(5);
const PULSES_OF_AGE: u32 = 8;
const PULSES_OF_BOUND: u32 = 60;

impl Clocks {
    pub(crate) fn new(started: Instant, allowed: Timers) -> Self {
        let seen = started.elapsed();
        Self {
            started,
            allowed,
            suspended: Duration::ZERO,
            seen,
            expected: seen,
            slept_before: host_slept(),
            last: None,
            extended: Duration::ZERO,
            held: None,
            held_for: Duration::ZERO,
        }
    }

    /// The time since the start.
    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed().saturating_sub(self.suspended)
    }

    /// How long we did not run: gaps, and the sleep of the host, which the monotonic clock leaves out by itself.
    pub(crate) fn stood_still(&self) -> Duration {
        self.suspended + host_slept().saturating_sub(self.slept_before)
    }

    /// How long the loop may sleep before it looks at the clock again.
    pub(crate) fn pulse(&self) -> Duration {
        let Timers { total, first_output, silence, waiting, tool, .. } = self.allowed;
        let bounds = [total, first_output, silence, waiting, tool].into_iter().flatten();
        let bound = bounds.min().unwrap_or(Duration::MAX) / PULSES_OF_BOUND;
        (self.elapsed() / PULSES_OF_AGE).min(bound).clamp(PULSE_MIN, PULSE_MAX)
    }

    /// The loop sleeps for so long at the most.
    pub(crate) fn sleeps(&mut self, limit: Duration) {
        let now = self.started.elapsed();
        self.arrive(now);
        self.expected = now.saturating_add(limit);
    }

    /// The loop runs. Time in which it should have run and did not is taken off all clocks.
    pub(crate) fn runs(&mut self) {
        self.arrive(self.started.elapsed());
    }

    /// The loop did something that takes its time, which is no gap.
    pub(crate) fn worked(&mut self) {
        let now = self.started.elapsed();
        (self.seen, self.expected) = (now, now);
    }

    fn arrive(&mut self, now: Duration) {
        if now.saturating_sub(self.expected) > LATE && !mutant::removed("gap_is_noticed") {
            // Where in its sleep the gap began is not known, so all of it is left out: no clock runs out too early.
            self.suspended += now.saturating_sub(self.seen);
        }
        (self.seen, self.expected) = (now, now);
    }

    pub(crate) fn alive(&mut self, at: Duration) {
        self.last = Some(at);
        self.held_for = Duration::ZERO;
    }

    /// The child asked for more time, which counts as a sign of life.
    pub(crate) fn extend(&mut self, by: Duration) {
        let now = self.elapsed();
        self.alive(now);
        self.extended = self.extended.max(now.saturating_add(by));
    }

    /// We were suspended for so long, and knew of it.
    pub(crate) fn suspended_for(&mut self, time: Duration) {
        self.suspended += time;
        self.worked();
    }

    /// The clocks for signs of life stand still for this reason, or run.
    pub(crate) fn hold(&mut self, held: Option<Held>, now: Duration) {
        if self.held.map(|(held, _)| held) == held {
            return;
        }
        if let Some((_, since)) = self.held {
            self.held_for += now.saturating_sub(since.max(self.last.unwrap_or_default()));
        }
        self.held = held.map(|held| (held, now));
    }

    /// How long until the first clock runs out.
    pub(crate) fn next(&self, now: Duration) -> Option<Duration> {
        self.deadlines().map(|deadline| deadline.at.saturating_sub(now)).min()
    }

    /// The clock that ran out, if one did: the one whose moment came first.
    pub(crate) fn run_out(&self, now: Duration) -> Option<Cause> {
        let first =
            self.deadlines().filter(|deadline| deadline.at <= now).min_by_key(|deadline| deadline.at)?;
        let Deadline { timer, configured, since, .. } = first;
        Some(Cause::Timer { timer, configured, elapsed: now.saturating_sub(since) })
    }

    fn deadlines(&self) -> impl Iterator<Item = Deadline> {
        let Timers { total, first_output, silence, waiting, tool, .. } = self.allowed;
        let free = self.held.is_none();
        let first = first_output.filter(|_| self.last.is_none() && free);
        // Before the first sign of life a run with a clock of its own for that is not silent yet.
        let silence = silence.filter(|_| free && (self.last.is_some() || first_output.is_none()));
        let begun = self.held.map_or(Duration::ZERO, |(_, since)| since);
        let (waiting, tool) = match self.held {
            Some((Held::Waits(Wait::Person), _)) => (waiting, None),
            Some((Held::Waits(Wait::Tool { .. }), _)) => (None, tool),
            Some((Held::Stopped, _)) | None => (None, None),
        };
        let (heard, stood, extended) = (self.last.unwrap_or_default(), self.held_for, self.extended);
        [
            (Timer::Total, total, Duration::ZERO, Duration::ZERO),
            // A child may ask for patience; the total is not its own to give.
            (Timer::FirstOutput, first, stood, extended),
            (Timer::Silence, silence, heard.saturating_add(stood), extended),
            (Timer::Waiting, waiting, begun, Duration::ZERO),
            (Timer::Tool, tool, begun, Duration::ZERO),
        ]
        .into_iter()
        .filter_map(|(timer, allowed, since, earliest)| {
            let configured = allowed?;
            Some(Deadline { timer, configured, at: since.saturating_add(configured).max(earliest), since })
        })
    }
}

/// How long this host has been suspended since it was booted.
fn host_slept() -> Duration {
    use rustix::time::{ClockId, clock_gettime};
    let read = |clock| {
        let time = clock_gettime(clock);
        Duration::new(time.tv_sec.try_into().unwrap_or_default(), time.tv_nsec.try_into().unwrap_or_default())
    };
    let awake = read(ClockId::Monotonic);
    read(ClockId::Boottime).saturating_sub(awake)
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

    #[test]
    fn a_gap_is_nobodys_time() {
        let mut clocks = clocks(60, 0, 0);
        let (before, after) = (seconds(2), seconds(602));
        clocks.suspended = Duration::ZERO;
        (clocks.seen, clocks.expected) = (before, before + PULSE_MIN);
        clocks.arrive(after);
        assert_eq!(clocks.suspended, after - before, "no part of the gap is counted");
        clocks.arrive(after + LATE / 2);
        assert_eq!(clocks.suspended, after - before, "what is a little late is no gap");
    }

    #[test]
    fn time_that_the_loop_spends_at_work_can_be_told_from_a_gap() {
        let mut clocks = clocks(60, 0, 0);
        clocks.started = Instant::now() - seconds(9);
        clocks.worked();
        clocks.runs();
        assert_eq!(clocks.suspended, Duration::ZERO);
        clocks.started -= seconds(9);
        clocks.runs();
        assert!(clocks.suspended >= seconds(9));
    }

    #[test]
    fn the_loop_looks_often_at_first_and_seldom_later() {
        let after = |age: u64, bound: u64| {
            let mut clocks = clocks(bound, 0, 0);
            clocks.started = Instant::now() - seconds(age);
            clocks.pulse()
        };
        assert_eq!(after(0, 0), PULSE_MIN);
        assert_eq!(after(3_600, 0), PULSE_MAX);
        assert!(after(8, 0) >= seconds(1) && after(8, 0) < seconds(2));
        assert_eq!(after(3_600, 60), seconds(1));
        assert_eq!(after(3_600, 1), PULSE_MIN);
    }

    #[test]
    fn silence_stands_still_while_a_person_or_a_tool_is_waited_for() {
        for wait in [Wait::Person, Wait::Tool { call: 1 }] {
            let mut clocks = clocks(0, 0, 10);
            clocks.alive(seconds(1));
            clocks.hold(Some(Held::Waits(wait)), seconds(5));
            assert_eq!(which(&clocks, 1_000), None);
            assert_eq!(clocks.next(seconds(1_000)), None);
            clocks.hold(None, seconds(1_000));
            assert_eq!(which(&clocks, 1_005), None, "4 of 10 seconds were silent before");
            assert_eq!(which(&clocks, 1_006), Some(Timer::Silence));
            clocks.alive(seconds(1_005));
            assert_eq!(which(&clocks, 1_014), None);
            assert_eq!(which(&clocks, 1_015), Some(Timer::Silence));
        }
    }

    #[test]
    fn what_is_heard_while_it_waits_is_not_taken_off_twice() {
        let mut clocks = clocks(0, 0, 10);
        clocks.hold(Some(Held::Waits(Wait::Person)), seconds(5));
        clocks.alive(seconds(50));
        clocks.hold(None, seconds(60));
        assert_eq!(which(&clocks, 69), None);
        assert_eq!(which(&clocks, 70), Some(Timer::Silence));
    }

    #[test]
    fn a_wait_has_a_clock_of_its_own() {
        let allowed = Timers { waiting: Some(seconds(30)), tool: Some(seconds(20)), ..Timers::default() };
        let mut clocks = Clocks::new(Instant::now(), allowed);
        assert_eq!(which(&clocks, 1_000), None);
        clocks.hold(Some(Held::Waits(Wait::Tool { call: 1 })), seconds(100));
        assert_eq!((which(&clocks, 119), which(&clocks, 120)), (None, Some(Timer::Tool)));
        clocks.hold(Some(Held::Waits(Wait::Tool { call: 2 })), seconds(105));
        assert_eq!((which(&clocks, 124), which(&clocks, 125)), (None, Some(Timer::Tool)), "another call");
        clocks.hold(Some(Held::Waits(Wait::Person)), seconds(110));
        assert_eq!((which(&clocks, 139), which(&clocks, 140)), (None, Some(Timer::Waiting)));
        clocks.hold(Some(Held::Stopped), seconds(130));
        assert_eq!(which(&clocks, 1_000), None);
    }

    #[test]
    fn a_stopped_command_is_not_late_with_its_first_output() {
        let mut clocks = clocks(0, 10, 0);
        clocks.hold(Some(Held::Stopped), seconds(4));
        assert_eq!(which(&clocks, 1_000), None);
        clocks.hold(None, seconds(104));
        assert_eq!((which(&clocks, 109), which(&clocks, 110)), (None, Some(Timer::FirstOutput)));
    }
}
