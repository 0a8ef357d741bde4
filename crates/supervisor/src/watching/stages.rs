//! The stages of a run, from free to gone, and every way from one to the next.
//!
//! Invariant: a run is over when its main process is reaped, nobody is left and its output is closed; or when what is left
//! has been killed, waited for and counted. The first cause stays: a child that ends while it is being stopped was stopped.

use std::time::Duration;

use rustix::process::{Pid, Signal, pidfd_send_signal};

use crate::child::children;
use crate::containment::Group;
use crate::process::{Mark, Stat, uid_of};
use crate::watching::poll_loop::Watch;
use crate::watching::sender::name_of;
use crate::{Answer, Cause, How, Received, StopCause, Survivor, Usage};

/// Where a run is. Moments count from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// It does what it does.
    Free,
    /// It was asked to end; KILL follows at this moment.
    Polite { kill_at: Duration },
    /// The main process has ended by itself, and somebody outlives it or holds its output; they may until this moment.
    Lingering { until: Duration },
    /// Those who outlived it were asked to end; KILL follows at this moment.
    Parting { kill_at: Duration },
    /// KILL was sent; who is there after this moment is reported as left.
    Killed { give_up: Duration },
    /// Nobody is waited for.
    Over,
}

impl Stage {
    /// The moment at which the stage ends by itself.
    pub(crate) const fn deadline(self) -> Option<Duration> {
        match self {
            Self::Free | Self::Over => None,
            Self::Polite { kill_at } | Self::Parting { kill_at } => Some(kill_at),
            Self::Lingering { until } => Some(until),
            Self::Killed { give_up } => Some(give_up),
        }
    }
}

/// How long a KILL may take until it counts as not confirmed.
const CONFIRM: Duration = Duration::from_secs(5);
/// How long a signal to us may be behind the one that ended the main process, where somebody signals both.
const DOUBT: Duration = Duration::from_millis(20);
/// How many of those who cannot be killed are told one by one.
const SURVIVORS_MAX: usize = 16;

impl Watch<'_> {
    /// Begins a stop, if none has begun.
    pub(crate) fn stop(&mut self, cause: Cause) {
        match self.stage {
            Stage::Free => {
                if let Some(how) = self.reap() {
                    // It ended before it could be stopped.
                    let received = self.take_signals();
                    return self.after_main(how, &received);
                }
                self.cause = cause;
                // The run around this one kills everybody when its own grace is over, us included.
                let is_inside = cause == Cause::Stopped(StopCause::Parent);
                let grace = self.run.spec.timers.grace / if is_inside { 2 } else { 1 };
                self.stage = Stage::Polite { kill_at: self.clocks.elapsed().saturating_add(grace) };
                self.signal(match cause {
                    Cause::Stopped(StopCause::Interrupt | StopCause::SentInterrupt) => Signal::INT,
                    Cause::Stopped(StopCause::Quit | StopCause::SentQuit) => Signal::QUIT,
                    Cause::Stopped(_) | Cause::Timer { .. } | Cause::OfItself => Signal::TERM,
                });
                self.signal(Signal::CONT);
                self.observer.stopping(cause);
            }
            Stage::Lingering { .. } => self.part(),
            Stage::Polite { .. } | Stage::Parting { .. } | Stage::Killed { .. } | Stage::Over => {}
        }
    }

    /// Skips what is left of the grace period.
    pub(crate) fn hurry(&mut self) {
        match self.stage {
            Stage::Polite { .. } | Stage::Parting { .. } | Stage::Lingering { .. } => self.kill(),
            Stage::Free | Stage::Killed { .. } | Stage::Over => {}
        }
    }

    /// The main process may have ended.
    pub(crate) fn main_ended(&mut self) {
        if let Some(how) = self.reap() {
            // A stop reaches a whole tree: what was sent to us before the main process was signalled is here by now.
            let received = self.take_signals();
            self.after_main(how, &received);
        }
    }

    /// Reaps the main process if it has ended.
    pub(crate) fn reap(&mut self) -> Option<How> {
        if self.main.is_some() {
            return None;
        }
        let (how, usage) = match children::reap_main(self.run.pid) {
            Ok(Some((status, usage))) => (How::from_raw(status), self.own_usage(usage)),
            Ok(None) => return None,
            // Somebody else has reaped our child; that it ended is certain, how is not.
            Err(_) => (How::Unconfirmed, Usage::default()),
        };
        self.run.reaped = true;
        self.main = Some((how, self.clocks.elapsed(), usage));
        Some(how)
    }

    /// The main process has ended, and these signals have reached us meanwhile.
    pub(crate) fn after_main(&mut self, how: How, received: &[Received]) {
        let now = self.clocks.elapsed();
        self.observer.exited(how, now);
        let left = self.is_anybody_left();
        match self.stage {
            Stage::Free => {
                self.stage = Stage::Lingering { until: now.saturating_add(self.run.spec.timers.leak) };
                let typed = self.typed.and_then(|typed| typed.ended(how, now));
                self.cause = typed.map_or(Cause::OfItself, Cause::Stopped);
                if self.cause == Cause::OfItself && is_polite(how) && self.run.signals.is_some() {
                    self.doubt_until = Some(now.saturating_add(DOUBT));
                }
                for received in received {
                    if let Answer::Stop(cause) = self.observer.signal(*received)
                        && self.is_explained_by(cause)
                    {
                        self.explain(cause);
                    }
                }
            }
            // What was asked with INT may have been ignored by those in the background.
            Stage::Polite { .. } if left => drop(self.signal(Signal::TERM)),
            Stage::Polite { .. } | Stage::Lingering { .. } | Stage::Parting { .. } => {}
            Stage::Killed { .. } | Stage::Over => {}
        }
    }

    /// What the command used, without what the kernel counts of us before it became the program.
    fn own_usage(&self, usage: Usage) -> Usage {
        let max_rss_bytes = usage.max_rss_bytes.filter(|bytes| *bytes > self.run.inherited_rss_bytes);
        Usage { max_rss_bytes, ..usage }
    }

    /// Whether a stop that was asked of us explains that the main process ended before we stopped it: who stops a whole
    /// tree has signalled it too. A crash explains itself, and so do an exit with 0 and KILL, which nobody sends to
    /// ask, unless the run around this one stops, which is certain to have reached the main process.
    pub(crate) fn is_explained_by(&self, cause: StopCause) -> bool {
        let Some((how, ..)) = self.main else { return false };
        self.cause == Cause::OfItself
            && match how {
                How::Exited { code: 0 } | How::Signaled { signal: libc::SIGKILL, .. } => {
                    cause == StopCause::Parent
                }
                How::Exited { .. } => true,
                How::Signaled { .. } => is_polite(how),
                How::Unconfirmed => false,
            }
    }

    /// The main process was stopped by who also asked us.
    pub(crate) fn explain(&mut self, cause: StopCause) {
        self.cause = Cause::Stopped(cause);
        self.doubt_until = None;
    }

    /// Does what the time has come for.
    pub(crate) fn due(&mut self) {
        self.clocks.runs();
        let now = self.clocks.elapsed();
        if self.tick_at.is_some_and(|at| at <= now) {
            self.observer.tick();
            match self.observer.asks() {
                Answer::Stop(cause) => self.stop(Cause::Stopped(cause)),
                Answer::EndTool => self.end_tool(),
                Answer::Ignore => {}
            }
        }
        self.tool_due();
        let is_late = self.stage.deadline().is_some_and(|at| at <= now);
        if is_late || (self.stage == Stage::Free && self.clocks.run_out(now).is_some()) {
            self.settle();
        }
        if self.stage == Stage::Free
            && let Some(cause) = self.clocks.run_out(now)
        {
            self.stop(cause);
        }
        self.doubt_until = self.doubt_until.filter(|until| now < *until);
        if self.main.is_some() && self.doubt_until.is_none() && !self.is_anybody_left() {
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
                let left = self.who_is_left();
                self.left = (left.len() as u32).max(u32::from(self.main.is_none()));
                self.survivors = left.into_iter().take(SURVIVORS_MAX).map(survivor).collect();
                self.stage = Stage::Over;
            }
            Stage::Free | Stage::Over => {}
        }
    }

    /// Asks those to end who outlived the main process.
    fn part(&mut self) {
        self.escaped = self.signal(Signal::TERM);
        self.signal(Signal::CONT);
        // Where nobody is found, somebody unseen holds the output, and there is nobody to wait for.
        self.stage =
            if self.escaped == 0 { Stage::Over } else { Stage::Parting { kill_at: self.after_grace() } };
    }

    /// Kills everybody.
    fn kill(&mut self) {
        if self.main.is_none() {
            // It is ours and not reaped, so the signal can reach nobody else.
            pidfd_send_signal(&self.run.pidfd, Signal::KILL).ok();
        } else {
            self.escaped = self.escaped.max(self.who_is_left().len() as u32);
        }
        self.killed = true;
        if let Some(group) = &self.run.held.group {
            group.kill();
        }
        if self.run.held.group.is_none() || self.has_strays() {
            self.tree.kill(CONFIRM);
        }
        self.clocks.worked();
        self.stage = Stage::Killed { give_up: self.clocks.elapsed().saturating_add(CONFIRM) };
    }

    fn after_grace(&self) -> Duration {
        self.clocks.elapsed().saturating_add(self.run.spec.timers.grace)
    }

    /// Signals everybody, and says how many there were.
    pub(crate) fn signal(&mut self, signal: Signal) -> u32 {
        let strays = self.has_strays();
        match &self.run.held.group {
            Some(group) if !strays => group.signal(signal),
            Some(_) | None => self.tree.signal(signal),
        }
    }

    fn is_anybody_left(&mut self) -> bool {
        match &mut self.run.held.group {
            Some(group) => group.is_populated() || self.has_strays(),
            None => children::has_children() && !self.tree.members().is_empty(),
        }
    }

    /// Everybody who has not ended.
    pub(crate) fn members(&mut self) -> Vec<Mark> {
        self.who_is_left()
    }

    fn who_is_left(&mut self) -> Vec<Mark> {
        let strays = self.has_strays();
        match &self.run.held.group {
            Some(group) if !strays => {
                group.members().into_iter().filter_map(Stat::read).map(|stat| Mark::from(&stat)).collect()
            }
            Some(_) | None => self.tree.members(),
        }
    }

    /// Whether somebody of the tree has left the control group, as root can. It shows when the main process is gone and we
    /// still have children; another run's children cannot be told from strays, so then nobody is suspected.
    fn has_strays(&mut self) -> bool {
        self.main.is_some()
            && children::has_children()
            && children::is_sole_run()
            && self.run.held.group.as_ref().is_some_and(|group| {
                let inside = Group::members(group);
                self.tree.members().iter().any(|mark| !inside.contains(&mark.pid))
            })
    }
}

/// Whether a main process ended by one of the signals that ask for an end.
const fn is_polite(how: How) -> bool {
    match how {
        How::Signaled { signal, .. } => {
            matches!(signal, libc::SIGHUP | libc::SIGINT | libc::SIGQUIT | libc::SIGTERM)
        }
        How::Exited { .. } | How::Unconfirmed => false,
    }
}

/// What can be seen of a process that is still there.
fn survivor(mark: Mark) -> Survivor {
    let pid = i32::try_from(mark.pid).ok().and_then(Pid::from_raw);
    let refused = |pid| rustix::process::test_kill_process(pid) == Err(rustix::io::Errno::PERM);
    Survivor {
        pid: mark.pid,
        started_ticks: mark.started_ticks,
        name: name_of(mark.pid).unwrap_or_default(),
        uid: uid_of(mark.pid),
        is_refused: pid.is_some_and(refused),
    }
}
