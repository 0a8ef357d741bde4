//! The loop that watches one run: one `poll`, and then whatever became due.
//!
//! Invariant: it sleeps until something happens or a clock runs out; it never wakes up just to look, except while
//! those are awaited who outlived a main process that no control group holds. Output is read one piece a round, so a
//! flood delays no clock and no signal.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::containment::{Group, Tree};
use crate::notify::Notices;
use crate::pty::{Keys, Pty};
use crate::stop::Stage;
use crate::timers::Clocks;
use crate::{Cause, End, How, Observer, Running, Usage, nursery};

pub(crate) struct Watch<'a> {
    pub(crate) run: &'a mut Running,
    pub(crate) observer: &'a mut dyn Observer,
    pub(crate) clocks: Clocks,
    pub(crate) tree: Tree,
    pub(crate) stage: Stage,
    pub(crate) cause: Cause,
    /// How the main process ended, when, and what it used.
    pub(crate) main: Option<(How, Duration, Usage)>,
    /// What was typed at our terminal.
    pub(crate) typed: Keys,
    pub(crate) killed: bool,
    pub(crate) escaped: u32,
    pub(crate) left: u32,
    pub(crate) leak: bool,
    /// When the owner is due, from the start.
    pub(crate) tick_at: Option<Duration>,
    /// The next look at the tree, where nobody tells us.
    look_every: Duration,
}

/// What `poll` can find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Bell,
    Main,
    Group,
    Signals,
    Notices,
    Typed,
    KeysTaken,
    Output(usize),
    Reader(usize),
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
            typed: Keys::default(),
            killed: false,
            escaped: 0,
            left: 0,
            leak: false,
            tick_at: None,
            look_every: LOOK_FIRST,
        }
    }

    pub(crate) fn run(mut self) -> End {
        if let Some(pty) = &mut self.run.outlets.pty {
            pty.make_raw();
        }
        while self.stage != Stage::Over {
            let limit = self.limit();
            for event in self.wait(limit) {
                self.handle(event);
            }
            self.due();
        }
        self.finish()
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Bell => self.asked(),
            Event::Main => self.main_ended(),
            // Whether somebody is left is asked after every round.
            Event::Group => {}
            Event::Signals => self.caught(),
            Event::Notices => self.notified(),
            Event::Typed => self.keys(),
            Event::KeysTaken => {
                if let Some(pty) = &mut self.run.outlets.pty {
                    pty.pass_keys();
                }
            }
            Event::Output(index) => {
                let now = self.clocks.elapsed();
                if self.run.outlets.take(index, now, self.observer) {
                    self.clocks.alive(now);
                }
            }
            Event::Reader(index) => self.run.outlets.resume(index),
        }
    }

    /// Sleeps until something happens.
    fn wait(&self, limit: Option<Duration>) -> Vec<Event> {
        let limit = limit.map(|limit| Timespec {
            tv_sec: limit.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: limit.subsec_nanos().into(),
        });
        let watched = self.watched();
        let mut waiting: Vec<PollFd<'_>> = watched
            .iter()
            .map(|(_, descriptor, flags)| PollFd::from_borrowed_fd(*descriptor, *flags))
            .collect();
        if poll(&mut waiting, limit.as_ref()).is_err() {
            // Interrupted by a signal, whose handler has rung a bell.
            return Vec::new();
        }
        let ready = waiting.iter().zip(&watched).filter(|(waited, _)| !waited.revents().is_empty());
        ready.map(|(_, (event, ..))| *event).collect()
    }

    fn watched(&self) -> Vec<(Event, BorrowedFd<'_>, PollFlags)> {
        let run = &*self.run;
        let pty = run.outlets.pty.as_ref();
        let going = self.main.is_none();
        let single = [
            (Event::Bell, Some(run.wake.bell()), PollFlags::IN),
            (Event::Signals, run.signals.as_ref().map(AsFd::as_fd), PollFlags::IN),
            (Event::Notices, run.notices.as_ref().map(Notices::descriptor), PollFlags::IN),
            (Event::Typed, pty.and_then(Pty::typed), PollFlags::IN),
            (Event::KeysTaken, pty.and_then(Pty::waits_for), PollFlags::OUT),
            (Event::Main, going.then(|| run.pidfd.as_fd()), PollFlags::IN),
            (Event::Group, run.held.group.as_ref().filter(|_| !going).map(Group::events), PollFlags::PRI),
        ];
        let outputs = run.outlets.open().map(|(index, from)| (Event::Output(index), from, PollFlags::IN));
        let readers = run.outlets.waiting().map(|(index, to)| (Event::Reader(index), to, PollFlags::OUT));
        let single = single.into_iter().filter_map(|(event, from, flags)| Some((event, from?, flags)));
        single.chain(outputs).chain(readers).collect()
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

    fn finish(mut self) -> End {
        let now = self.clocks.elapsed();
        let output = self.run.outlets.finish(now, self.observer);
        let oom = self.run.held.group.as_ref().and_then(Group::oom_kills).is_some_and(|count| count > 0);
        if let Some(group) = self.run.held.group.take() {
            group.remove();
        }
        self.run.notices = None;
        if self.main.is_none() {
            nursery::dismiss(self.run.identity.pid);
        }
        self.run.settled = true;
        self.run.place = None;
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
        self.flush();
        end
    }

    /// Passes on what a slow reader has not taken yet, until it has or somebody is impatient.
    fn flush(&mut self) {
        while self.run.outlets.waiting().next().is_some() {
            for event in self.wait(None) {
                match event {
                    Event::Reader(index) => self.run.outlets.resume(index),
                    Event::Signals => {
                        let caught =
                            self.run.signals.as_mut().map(crate::Signals::caught).unwrap_or_default();
                        if caught.into_iter().any(|caught| caught.usual_answer() != crate::Answer::Ignore) {
                            return self.run.outlets.abandon();
                        }
                    }
                    Event::Bell if self.run.wake.take().hurry => return self.run.outlets.abandon(),
                    Event::Bell | Event::Main | Event::Group | Event::Notices => {}
                    Event::Typed | Event::KeysTaken | Event::Output(_) => {}
                }
            }
        }
    }
}
