//! The loop that watches one run: one `poll`, and then whatever became due.
//!
//! Invariant: it sleeps until something happens or a clock runs out; it never wakes up just to look, except while
//! those are awaited who outlived a main process that no control group holds. Every change of stage happens in
//! `due` or `main_ended`; the order of checks is deadlines first, so that a flood of output delays no clock.

use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, pidfd_send_signal};

use crate::containment::{Group, Tree};
use crate::stop::{CONFIRM, Stage};
use crate::timers::Clocks;
use crate::{Cause, End, How, Kept, Observer, Running, StopCause, Usage, nursery};

pub(crate) struct Watch<'a> {
    run: &'a mut Running,
    observer: &'a mut dyn Observer,
    clocks: Clocks,
    tree: Tree,
    stage: Stage,
    cause: Cause,
    /// How the main process ended, when, and what it used.
    main: Option<(How, Duration, Usage)>,
    killed: bool,
    escaped: u32,
    left: u32,
    leak: bool,
    /// When the owner is due, from the start.
    tick_at: Option<Duration>,
    /// The next look at the tree, where nobody tells us.
    look_every: Duration,
}

/// What `poll` found.
#[derive(Default)]
struct Ready {
    bell: bool,
    main: bool,
    outlets: [bool; 2],
}

const LOOK_FIRST: Duration = Duration::from_millis(2);
const LOOK_LAST: Duration = Duration::from_millis(50);

impl<'a> Watch<'a> {
    pub(crate) fn new(run: &'a mut Running, observer: &'a mut dyn Observer) -> Self {
        Self {
            clocks: Clocks::new(run.started, run.spec.timers.clone()),
            tree: run.tree(),
            run,
            observer,
            stage: Stage::Free,
            cause: Cause::OfItself,
            main: None,
            killed: false,
            escaped: 0,
            left: 0,
            leak: false,
            tick_at: None,
            look_every: LOOK_FIRST,
        }
    }

    pub(crate) fn run(mut self) -> End {
        while self.stage != Stage::Over {
            let ready = self.wait();
            let now = self.clocks.elapsed();
            if ready.bell {
                self.asked();
            }
            for (index, ready) in ready.outlets.into_iter().enumerate() {
                if ready && self.run.outlets.take(index, now, self.observer) {
                    self.clocks.alive(now);
                }
            }
            if ready.main && self.main.is_none() {
                self.main_ended();
            }
            self.due();
        }
        self.finish()
    }

    fn wait(&mut self) -> Ready {
        let limit = self.limit().map(|limit| Timespec {
            tv_sec: limit.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: limit.subsec_nanos().into(),
        });
        let bell = self.run.wake.bell();
        let mut waiting = vec![PollFd::new(&bell, PollFlags::IN)];
        if self.main.is_none() {
            waiting.push(PollFd::new(&self.run.pidfd, PollFlags::IN));
        }
        let streams: Vec<_> = self.run.outlets.open().collect();
        let first = waiting.len();
        waiting.extend(streams.iter().map(|(_, pipe)| PollFd::from_borrowed_fd(*pipe, PollFlags::IN)));
        let events = self.run.held.group.as_ref().filter(|_| self.main.is_some()).map(Group::events);
        if let Some(events) = events {
            waiting.push(PollFd::from_borrowed_fd(events, PollFlags::PRI));
        }
        // Interrupted by a signal, everything is looked at and found not ready.
        poll(&mut waiting, limit.as_ref()).ok();
        let is_ready = |index: usize| !waiting[index].revents().is_empty();
        let mut ready =
            Ready { bell: is_ready(0), main: self.main.is_none() && is_ready(1), ..Ready::default() };
        for (place, (index, _)) in streams.iter().enumerate() {
            ready.outlets[*index] = is_ready(first + place);
        }
        ready
    }

    /// How long `poll` may sleep.
    fn limit(&mut self) -> Option<Duration> {
        let now = self.clocks.elapsed();
        let clock = (self.stage == Stage::Free).then(|| self.clocks.next(now)).flatten();
        let stage = self.stage.deadline().map(|at| at.saturating_sub(now));
        let due = self.observer.due();
        self.tick_at = due.map(|due| now.saturating_add(due));
        let look = (self.main.is_some() && self.run.held.group.is_none()).then(|| {
            self.look_every = (self.look_every * 2).min(LOOK_LAST);
            self.look_every
        });
        [clock, stage, due, look].into_iter().flatten().min()
    }

    /// Somebody rang.
    fn asked(&mut self) {
        let asked = self.run.wake.take();
        if let Some(stopped) = asked.stopped {
            self.observer.stopped(stopped);
        }
        if let Some(cause) = asked.stop {
            self.stop(Cause::Stopped(cause));
        }
        if asked.hurry {
            self.hurry();
        }
    }

    /// Begins a stop, if none has begun.
    fn stop(&mut self, cause: Cause) {
        let kill_at = self.clocks.elapsed().saturating_add(self.run.spec.timers.grace);
        match self.stage {
            Stage::Free => {
                self.cause = cause;
                self.stage = Stage::Polite { kill_at };
                self.observer.stopping(cause);
                self.signal(match cause {
                    Cause::Stopped(StopCause::Interrupt) => Signal::INT,
                    Cause::Stopped(StopCause::Quit) => Signal::QUIT,
                    Cause::Stopped(_) | Cause::Timer { .. } | Cause::OfItself => Signal::TERM,
                });
            }
            Stage::Lingering { .. } => self.part(),
            Stage::Polite { .. } | Stage::Parting { .. } | Stage::Killed { .. } | Stage::Over => {}
        }
    }

    fn hurry(&mut self) {
        match self.stage {
            Stage::Polite { .. } | Stage::Parting { .. } | Stage::Lingering { .. } => self.kill(),
            Stage::Free | Stage::Killed { .. } | Stage::Over => {}
        }
    }

    /// Signals everybody; who is stopped goes on, to hear it.
    fn signal(&mut self, signal: Signal) -> u32 {
        let count = match &self.run.held.group {
            Some(group) => group.signal(signal),
            None => self.tree.signal(signal),
        };
        match &self.run.held.group {
            Some(group) => group.signal(Signal::CONT),
            None => self.tree.signal(Signal::CONT),
        };
        count
    }

    /// The main process has ended.
    fn main_ended(&mut self) {
        let (how, usage) = match nursery::reap_main(self.run.pid) {
            Ok(Some((status, usage))) => (How::from_raw(status), usage),
            Ok(None) => return,
            // Somebody else has reaped our child; that it ended is certain, how is not.
            Err(_) => (How::Unconfirmed, Usage::default()),
        };
        self.run.reaped = true;
        let now = self.clocks.elapsed();
        self.main = Some((how, now, usage));
        let left = self.is_anybody_left();
        match self.stage {
            Stage::Free => {
                self.stage = Stage::Lingering { until: now.saturating_add(self.run.spec.timers.leak) };
            }
            // What was asked with INT may have been ignored by those in the background.
            Stage::Polite { .. } if left => drop(self.signal(Signal::TERM)),
            Stage::Polite { .. } | Stage::Lingering { .. } | Stage::Parting { .. } => {}
            Stage::Killed { .. } | Stage::Over => {}
        }
    }

    /// Does what the time has come for.
    fn due(&mut self) {
        let now = self.clocks.elapsed();
        if self.tick_at.is_some_and(|at| at <= now) {
            self.observer.tick();
        }
        if self.stage == Stage::Free
            && let Some(cause) = self.clocks.run_out(now)
        {
            self.stop(cause);
        }
        if self.main.is_some() && !self.is_anybody_left() {
            let killed = matches!(self.stage, Stage::Killed { .. });
            if killed || self.run.outlets.are_closed() {
                self.stage = Stage::Over;
                return;
            }
        }
        if self.stage.deadline().is_some_and(|at| at <= now) {
            self.too_late();
        }
    }

    fn too_late(&mut self) {
        match self.stage {
            Stage::Polite { .. } | Stage::Parting { .. } => self.kill(),
            Stage::Lingering { .. } => {
                self.leak = true;
                self.part();
            }
            Stage::Killed { .. } => {
                self.left = self.count_left();
                self.stage = Stage::Over;
            }
            Stage::Free | Stage::Over => {}
        }
    }

    /// Asks those to end who outlived the main process.
    fn part(&mut self) {
        self.escaped = self.signal(Signal::TERM);
        let kill_at = self.clocks.elapsed().saturating_add(self.run.spec.timers.grace);
        // Where nobody is found, somebody unseen holds the output, and there is nobody to wait for.
        self.stage = if self.escaped == 0 { Stage::Over } else { Stage::Parting { kill_at } };
    }

    /// Kills everybody.
    fn kill(&mut self) {
        let now = self.clocks.elapsed();
        if self.main.is_none() {
            // It is ours and not reaped, so this cannot fail for any reason that matters.
            pidfd_send_signal(&self.run.pidfd, Signal::KILL).ok();
        } else {
            self.escaped = self.escaped.max(self.count_left());
        }
        self.killed = true;
        match &self.run.held.group {
            Some(group) => group.kill(),
            None => self.left = self.tree.kill(CONFIRM),
        }
        self.stage = Stage::Killed { give_up: now.saturating_add(CONFIRM) };
    }

    fn is_anybody_left(&mut self) -> bool {
        match &mut self.run.held.group {
            Some(group) => group.is_populated(),
            None => nursery::has_children() && !self.tree.members().is_empty(),
        }
    }

    fn count_left(&mut self) -> u32 {
        match &self.run.held.group {
            Some(group) => group.members().len() as u32,
            None => self.tree.members().len() as u32,
        }
    }

    fn finish(self) -> End {
        let now = self.clocks.elapsed();
        let output: Kept = self.run.outlets.finish(now, self.observer);
        let oom = self.run.held.group.as_ref().and_then(Group::oom_kills).is_some_and(|count| count > 0);
        if let Some(group) = &self.run.held.group {
            group.remove();
        }
        if self.main.is_none() {
            nursery::dismiss(self.run.identity.pid);
        }
        self.run.settled = true;
        let (how, elapsed, usage) = self.main.unwrap_or((How::Unconfirmed, now, Usage::default()));
        let end = End {
            how,
            cause: self.cause,
            oom,
            elapsed,
            killed: self.killed,
            left: self.left,
            escaped: self.escaped,
            leak: self.leak,
            output,
            usage,
        };
        self.observer.ended(&end);
        end
    }
}
