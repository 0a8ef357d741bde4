//! What reaches a run from outside: signals to us, keys at our terminal, notifications of the child.

use std::time::Instant;

use rustix::process::Signal;

use crate::containment::carries;
use crate::mutant;
use crate::process::Stat;
use crate::watching::keys::{Key, Typed};
use crate::watching::notify_socket::Notice;
use crate::watching::poll_loop::Watch;
use crate::watching::stages::Stage;
use crate::{Answer, Caught, Cause, Notification, Received, Rung, StoppedBy};

impl Watch<'_> {
    /// Somebody rang.
    pub(crate) fn asked(&mut self) {
        let asked = self.run.wake.take();
        if let Some(stopped) = asked.stopped {
            self.is_stopped = stopped;
            self.observer.stopped(stopped.then_some(StoppedBy::Signal));
        }
        if asked.sighted {
            self.sighted();
        }
        if let Some(cause) = asked.stop {
            self.stop(Cause::Stopped(cause));
        }
        if asked.hurry {
            self.hurry();
        }
    }

    /// Tells the owner what the sandbox noticed.
    pub(crate) fn sighted(&mut self) {
        if let Some(guard) = &self.run.guard {
            self.observer.sighted(&guard.sightings());
        }
    }

    /// Signals reached us.
    pub(crate) fn caught(&mut self) {
        let received = self.take_signals();
        if received.is_empty() {
            return;
        }
        // What has ended cannot be stopped; whether the signal explains the end is another question.
        if self.stage == Stage::Free
            && let Some(how) = self.reap()
        {
            return self.after_main(how, &received);
        }
        for received in received {
            let cause = match self.observer.signal(received) {
                Answer::Stop(cause) => cause,
                Answer::EndTool => {
                    self.end_tool();
                    continue;
                }
                Answer::Ignore => continue,
            };
            match self.stage {
                Stage::Lingering { .. } if self.doubt_until.is_some() && self.is_explained_by(cause) => {
                    self.explain(cause);
                }
                Stage::Free => {
                    self.stop(Cause::Stopped(cause));
                    // It may have ended while the sender was looked up, by the very stop that reached us too.
                    if self.is_explained_by(cause) {
                        self.explain(cause);
                    }
                }
                Stage::Lingering { .. } => self.stop(Cause::Stopped(cause)),
                Stage::Polite { .. } | Stage::Parting { .. } => self.hurry(),
                Stage::Killed { .. } | Stage::Over => {}
            }
        }
    }

    /// Takes the signals that reached us, does what is to be done about most of them, and gives those that may stop the
    /// run.
    pub(crate) fn take_signals(&mut self) -> Vec<Received> {
        let mut received = self.run.signals.as_mut().map(crate::Signals::caught).unwrap_or_default();
        for Received { caught, .. } in &received {
            match caught {
                Caught::Resize => {
                    if let Some(pty) = &self.run.outlets.pty {
                        pty.resize();
                    }
                }
                Caught::Suspend => self.suspend(),
                Caught::Resume => {
                    if let Some(pty) = &mut self.run.outlets.pty {
                        pty.make_raw();
                        pty.resize();
                    }
                }
                Caught::Interrupt | Caught::Terminate | Caught::Hangup | Caught::Quit => {}
            }
        }
        received.retain(|received| received.caught.may_stop());
        received
    }

    /// Keys were typed.
    pub(crate) fn keys(&mut self) {
        let Some(pty) = &mut self.run.outlets.pty else { return };
        let seen = pty.take_keys();
        let (is_signal, at) = (seen.are_signals, self.clocks.elapsed());
        let number = match seen.last {
            Some(Key::Interrupt) => Some(libc::SIGINT),
            Some(Key::Quit) => Some(libc::SIGQUIT),
            Some(Key::Other) | None => None,
        };
        if let Some(key) = seen.last {
            // What the command ignores does not end it.
            let acts = number.is_some_and(|number| {
                !is_signal || !crate::watching::signals::is_ignored_by(self.run.identity.pid, number)
            });
            self.typed = acts.then_some(Typed { key, is_signal, at });
        }
        if seen.suspend {
            self.suspend();
        } else if seen.last.is_some() {
            self.observer.typed();
        }
    }

    /// Stops the whole run and ourselves, until somebody lets us go on. The clocks of the run stand still meanwhile.
    pub(crate) fn suspend(&mut self) {
        self.signal(Signal::STOP);
        if let Some(pty) = &mut self.run.outlets.pty {
            pty.restore();
        }
        let since = Instant::now();
        self.observer.stopped(Some(StoppedBy::Suspended));
        // To this very thread: a signal to the process may stop another thread first, and this one would make the terminal
        // raw again before it stands still. It cannot fail for ourselves; if it did, the run would simply go on.
        signal_hook::low_level::raise(libc::SIGSTOP).ok();
        self.clocks.suspended_for(since.elapsed());
        if let Some(pty) = &mut self.run.outlets.pty {
            pty.make_raw();
            pty.resize();
        }
        self.signal(Signal::CONT);
        self.observer.stopped(None);
    }

    /// The child notified.
    pub(crate) fn notified(&mut self) {
        while let Some(Notice { sender, words }) =
            self.run.notices.as_ref().and_then(crate::watching::notify_socket::Notices::next)
        {
            if !self.belongs(sender) {
                continue;
            }
            let now = self.clocks.elapsed();
            self.clocks.alive(now);
            for word in words {
                if let Notification::Extend(by) = word {
                    self.clocks.extend(by);
                }
                self.observer.notified(word);
            }
        }
    }

    /// Whether a process is of this run. Where a control group holds the run, nobody outside of it is, whatever their
    /// environment says.
    fn belongs(&mut self, pid: u32) -> bool {
        if mutant::removed("notices_of_its_own") {
            return true;
        }
        if let Rung::Cgroup { path } = &self.run.held.containment.rung
            && let Some(name) = path.file_name().and_then(|name| name.to_str())
        {
            let groups = std::fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
            return groups.lines().any(|line| line.split('/').any(|part| part == name));
        }
        Stat::read(pid).is_some_and(|stat| stat.session == self.run.identity.pid)
            || carries(pid, &self.run.spec.marker)
            || self.tree.members().iter().any(|mark| mark.pid == pid)
    }
}
