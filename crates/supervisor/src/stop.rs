//! The stages of a run, from free to gone, and every way from one to the next.
//!
//! Invariant: a run is over when its main process is reaped, nobody is left and its output is closed; or when what is left
//! has been killed, waited for and counted. The first cause stays: a child that ends while it is being stopped was stopped.

use std::time::Duration;

use rustix::process::{Signal, pidfd_send_signal};

use crate::containment::Group;
use crate::watch::Watch;
use crate::{Cause, How, StopCause, Usage, nursery};

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

impl Watch<'_> {
    /// Begins a stop, if none has begun.
    pub(crate) fn stop(&mut self, cause: Cause) {
        match self.stage {
            Stage::Free => {
                self.cause = cause;
                self.stage = Stage::Polite { kill_at: self.after_grace() };
                self.observer.stopping(cause);
                self.signal(match cause {
                    Cause::Stopped(StopCause::Interrupt) => Signal::INT,
                    Cause::Stopped(StopCause::Quit) => Signal::QUIT,
                    Cause::Stopped(_) | Cause::Timer { .. } | Cause::OfItself => Signal::TERM,
                });
                self.signal(Signal::CONT);
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

    /// The main process has ended.
    pub(crate) fn main_ended(&mut self) {
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
                self.cause = self.typed_cause(how);
                self.stage = Stage::Lingering { until: now.saturating_add(self.run.spec.timers.leak) };
            }
            // What was asked with INT may have been ignored by those in the background.
            Stage::Polite { .. } if left => drop(self.signal(Signal::TERM)),
            Stage::Polite { .. } | Stage::Lingering { .. } | Stage::Parting { .. } => {}
            Stage::Killed { .. } | Stage::Over => {}
        }
    }

    /// An end by INT after Ctrl-C was typed into the child's terminal is the doing of who typed it.
    fn typed_cause(&self, how: How) -> Cause {
        let by = |signal| {
            how == How::Exited { code: 128 + signal as u8 }
                || matches!(how, How::Signaled { signal: found, .. } if found == signal)
        };
        if self.typed.interrupt && by(libc::SIGINT) {
            Cause::Stopped(StopCause::Interrupt)
        } else if self.typed.quit && by(libc::SIGQUIT) {
            Cause::Stopped(StopCause::Quit)
        } else {
            Cause::OfItself
        }
    }

    /// Does what the time has come for.
    pub(crate) fn due(&mut self) {
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
                self.left = self.count_left().max(u32::from(self.main.is_none()));
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
            self.escaped = self.escaped.max(self.count_left());
        }
        self.killed = true;
        if let Some(group) = &self.run.held.group {
            group.kill();
        }
        if self.run.held.group.is_none() || self.has_strays() {
            self.tree.kill(CONFIRM);
        }
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
            None => nursery::has_children() && !self.tree.members().is_empty(),
        }
    }

    fn count_left(&mut self) -> u32 {
        let strays = self.has_strays();
        match &self.run.held.group {
            Some(group) if !strays => group.members().len() as u32,
            Some(_) | None => self.tree.members().len() as u32,
        }
    }

    /// Whether somebody of the tree has left the control group, as root can. It shows when the main process is gone and we
    /// still have children; another run's children cannot be told from strays, so then nobody is suspected.
    fn has_strays(&mut self) -> bool {
        self.main.is_some()
            && nursery::has_children()
            && nursery::is_sole_run()
            && self.run.held.group.as_ref().is_some_and(|group| {
                let inside = Group::members(group);
                self.tree.members().iter().any(|mark| !inside.contains(&mark.pid))
            })
    }
}
