//! The loop that watches one run: one `poll`, and then whatever became due.
//!
//! Invariant: it sleeps until something happens or a clock runs out, and wakes up every few seconds to notice when it did
//! not run itself; more often only while those are awaited who outlived a main process that no control group holds.
//! Output is read one piece a round, so a flood delays no clock and no signal. No clock is believed before what the
//! kernel holds was taken: a command that ended before its bound is never late.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::child::children;
use crate::child::pty::Pty;
use crate::containment::{Group, Tree};
use crate::watching::keys::Typed;
use crate::watching::notify_socket::Notices;
use crate::watching::stages::Stage;
use crate::watching::timers::{Clocks, Held};
use crate::watching::tool_call::{self, ToolCall};
use crate::{Cause, End, How, Observer, Running, Survivor, Usage};

pub(crate) struct Watch<'a> {
    pub(crate) run: &'a mut Running,
    pub(crate) observer: &'a mut dyn Observer,
    pub(crate) clocks: Clocks,
    pub(crate) tree: Tree,
    pub(crate) stage: Stage,
    pub(crate) cause: Cause,
    /// How the main process ended, when, and what it used.
    pub(crate) main: Option<(How, Duration, Usage)>,
    /// The last key that was typed at our terminal, if it breaks off.
    pub(crate) typed: Option<Typed>,
    /// The main process was seen to become the program.
    began: bool,
    /// The main process is stopped.
    pub(crate) is_stopped: bool,
    /// Until when a signal to us may still explain the end of the main process, from the start.
    pub(crate) doubt_until: Option<Duration>,
    pub(crate) killed: bool,
    pub(crate) escaped: u32,
    pub(crate) left: u32,
    pub(crate) survivors: Vec<Survivor>,
    pub(crate) leak: bool,
    /// When memory ran out for the last time, from the start.
    pub(crate) starved_at: Option<Duration>,
    /// When the owner is due, from the start.
    pub(crate) tick_at: Option<Duration>,
    /// The next look at the tree, where nobody tells us.
    look_every: Duration,
    pub(crate) tool: ToolCall,
}

/// What `poll` can find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Bell,
    Born,
    Memory,
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
/// How often what the kernel holds is taken before a clock is believed; a command that floods us never lets it end.
const SETTLE_ROUNDS: usize = 64;

impl<'a> Watch<'a> {
    pub(crate) fn new(run: &'a mut Running, observer: &'a mut dyn Observer) -> Self {
        Self {
            clocks: Clocks::new(run.started, run.spec.timers.clone()),
            tree: run.tree(),
            began: !run.is_starting(),
            run,
            observer,
            stage: Stage::Free,
            cause: Cause::OfItself,
            main: None,
            typed: None,
            is_stopped: false,
            doubt_until: None,
            killed: false,
            escaped: 0,
            left: 0,
            survivors: Vec::new(),
            leak: false,
            starved_at: None,
            tick_at: None,
            look_every: LOOK_FIRST,
            tool: ToolCall::default(),
        }
    }

    pub(crate) fn run(mut self) -> End {
        if let Some(pty) = &mut self.run.outlets.pty {
            pty.make_raw();
        }
        while self.stage != Stage::Over {
            let limit = self.limit();
            self.clocks.sleeps(limit);
            let events = self.wait(Some(limit));
            self.clocks.runs();
            for event in events {
                self.handle(event);
            }
            self.due();
        }
        self.finish()
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Bell => self.asked(),
            Event::Born => self.born(),
            Event::Memory => {
                self.run.held.memory_kills.heard();
                self.starved_at = Some(self.clocks.elapsed());
            }
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
                let (now, tick) = (self.clocks.elapsed(), tool_call::tick());
                if self.run.outlets.take(index, now, self.observer) {
                    self.clocks.alive(now);
                    self.tool.heard(tick, self.observer.waits());
                }
            }
            Event::Reader(index) => self.run.outlets.resume(index),
        }
    }

    /// The main process has become the program, or says why not.
    fn born(&mut self) {
        let Some(said) = self.run.report.as_ref().and_then(crate::child::before_exec::Report::read) else {
            return;
        };
        self.run.report = None;
        match said {
            // After a stop nobody can tell: a process that is killed closes the pipe as one does that becomes the program.
            Ok(()) if self.stage == Stage::Free => {
                self.began = true;
                self.observer.started();
            }
            Ok(()) => {}
            Err(stillborn) => {
                self.observer.not_started(crate::child::start::Failure::from(stillborn).told(&self.run.spec));
                // It is about to end, and says nothing that was not said.
                crate::child::wait_status::bury(self.run.pid);
                children::dismiss(self.run.identity.pid);
                self.run.reaped = true;
                self.main = Some((How::Exited { code: 127 }, self.clocks.elapsed(), Usage::default()));
                self.stage = Stage::Over;
            }
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
        let starved = run.held.memory_kills.bell().filter(|_| going);
        let single = [
            (Event::Bell, Some(run.wake.bell()), PollFlags::IN),
            (Event::Signals, run.signals.as_ref().map(AsFd::as_fd), PollFlags::IN),
            (Event::Notices, run.notices.as_ref().map(Notices::descriptor), PollFlags::IN),
            (Event::Typed, pty.and_then(Pty::typed), PollFlags::IN),
            (Event::KeysTaken, pty.and_then(Pty::waits_for), PollFlags::OUT),
            (Event::Born, run.report.as_ref().map(AsFd::as_fd), PollFlags::IN),
            (Event::Memory, starved.map(|(bell, _)| bell), starved.map_or(PollFlags::IN, |(_, flags)| flags)),
            (Event::Main, going.then(|| run.pidfd.as_fd()), PollFlags::IN),
            (Event::Group, run.held.group.as_ref().filter(|_| !going).map(Group::events), PollFlags::PRI),
        ];
        let outputs = run.outlets.open().map(|(index, from)| (Event::Output(index), from, PollFlags::IN));
        let waiting = run.outlets.waiting().map(|(index, to)| (Event::Reader(index), to, PollFlags::OUT));
        let readers = run.outlets.readers().map(|(index, to)| (Event::Reader(index), to, PollFlags::empty()));
        let single = single.into_iter().filter_map(|(event, from, flags)| Some((event, from?, flags)));
        single.chain(outputs).chain(waiting).chain(readers).collect()
    }

    /// Takes what the kernel already holds: the end of the main process, output, signals. A clock that ran out while we did
    /// not look is believed only after that.
    pub(crate) fn settle(&mut self) {
        for _ in 0..SETTLE_ROUNDS {
            let events = self.wait(Some(Duration::ZERO));
            let mut held = events.into_iter().filter(|event| match event {
                Event::Bell | Event::Born | Event::Memory | Event::Main => true,
                Event::Signals | Event::Notices | Event::Output(_) => true,
                Event::Group | Event::Typed | Event::KeysTaken | Event::Reader(_) => false,
            });
            let Some(first) = held.next() else { break };
            [first].into_iter().chain(held).for_each(|event| self.handle(event));
        }
        self.weigh_silence();
    }

    /// Lets the clocks for signs of life stand still while there is a known reason for silence.
    fn weigh_silence(&mut self) {
        let waits = self.observer.waits().map(Held::Waits);
        let held = if self.is_stopped { Some(Held::Stopped) } else { waits };
        self.clocks.hold(held, self.clocks.elapsed());
    }

    /// How long `poll` may sleep.
    fn limit(&mut self) -> Duration {
        self.weigh_silence();
        let now = self.clocks.elapsed();
        let clock = (self.stage == Stage::Free).then(|| self.clocks.next(now)).flatten();
        let stage = self.stage.deadline().map(|at| at.saturating_sub(now));
        let due = self.observer.due();
        self.tick_at = due.map(|due| now.saturating_add(due));
        let look = (self.main.is_some() && self.run.held.group.is_none()).then(|| {
            self.look_every = (self.look_every * 2).min(LOOK_LAST);
            self.look_every
        });
        let doubt = self.doubt_until.map(|until| until.saturating_sub(now));
        let limits = [clock, stage, due, look, doubt, self.tool.look()].into_iter().flatten();
        limits.min().unwrap_or(Duration::MAX).min(self.clocks.pulse())
    }

    fn finish(mut self) -> End {
        let now = self.clocks.elapsed();
        let output = self.run.outlets.finish(now, self.observer);
        let memory = self.memory(now);
        if let Some(group) = self.run.held.group.take() {
            group.remove();
        }
        self.run.notices = None;
        if self.main.is_none() {
            children::dismiss(self.run.identity.pid);
        }
        self.run.settled = true;
        self.run.place = None;
        let main = self.main.unwrap_or((How::Unconfirmed, now, Usage::default()));
        self.main = Some(main);
        let (how, elapsed, usage) = main;
        let mut end = End {
            how,
            began: self.began,
            cause: self.cause,
            oom: memory.main,
            oom_kills: memory.kills,
            flaw: self.flaw(),
            elapsed,
            stood_still: self.clocks.stood_still(),
            killed: self.killed,
            left: self.left,
            survivors: std::mem::take(&mut self.survivors),
            escaped: self.escaped,
            leak: self.leak,
            output,
            usage,
        };
        self.sighted();
        self.observer.ended(&end);
        self.drain();
        self.run.outlets.restore_terminals();
        end.output.passed = self.run.outlets.passed();
        end
    }

    /// What is wrong with the file of a program that fell to a signal which broken files cause.
    fn flaw(&self) -> Option<String> {
        const CRASHES: [i32; 4] = [libc::SIGILL, libc::SIGBUS, libc::SIGSEGV, libc::SIGKILL];
        let (how, ..) = self.main?;
        let crashed = matches!(how, How::Signaled { signal, .. } if CRASHES.contains(&signal));
        (crashed && self.cause == Cause::OfItself)
            .then(|| crate::child::not_executable::broken(&self.run.spec))
            .flatten()
    }

    /// What is known of memory at the end.
    fn memory(&self, now: Duration) -> crate::containment::MemoryVerdict {
        let (how, at) = self.main.map_or((How::Unconfirmed, now), |(how, at, _)| (how, at));
        let since_last = self.starved_at.map(|starved| at.saturating_sub(starved));
        self.run.held.memory_kills.verdict(how, self.run.identity.pid, since_last)
    }

    /// Passes on what a slow reader has not taken yet, until it has, or until somebody asks for a stop.
    fn drain(&mut self) {
        if self.run.outlets.waiting().next().is_none() {
            return;
        }
        // What was asked for before has ended the run and is no wish to end this.
        let before = self.run.wake.take();
        self.observer.draining(self.run.outlets.backlog());
        while self.run.outlets.waiting().next().is_some() {
            let due = self.observer.due();
            self.tick_at = due.map(|due| self.clocks.elapsed().saturating_add(due));
            for event in self.wait(due) {
                let is_stop = match event {
                    Event::Reader(index) => {
                        self.run.outlets.resume(index);
                        false
                    }
                    Event::Signals => self.is_asked_to_stop(),
                    Event::Bell => {
                        let asked = self.run.wake.take();
                        (asked.stop.is_some() && before.stop.is_none()) || (asked.hurry && !before.hurry)
                    }
                    Event::Born | Event::Memory | Event::Main | Event::Group | Event::Notices => false,
                    Event::Typed | Event::KeysTaken | Event::Output(_) => false,
                };
                if is_stop {
                    return self.run.outlets.abandon();
                }
            }
            if self.tick_at.is_some_and(|at| at <= self.clocks.elapsed()) {
                self.observer.tick();
            }
        }
    }

    /// Whether a signal that reached us means a stop, once the command has ended.
    fn is_asked_to_stop(&mut self) -> bool {
        let caught = self.run.signals.as_mut().map(crate::Signals::caught).unwrap_or_default();
        if caught.iter().any(|received| received.caught == crate::Caught::Suspend) {
            self.suspend();
        }
        caught.iter().any(|received| received.caught.may_stop())
    }
}
