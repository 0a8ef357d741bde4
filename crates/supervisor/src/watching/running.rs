//! A run that goes on, and the handle to stop it from elsewhere.

use std::fmt;
use std::marker::PhantomData;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, pidfd_send_signal};

use crate::child::before_exec::Report;
use crate::child::children;
use crate::containment::{Group, Held, Roots, Tree};
use crate::output::Outlets;
use crate::process::Mark;
use crate::sandbox::{Guard, Walls};
use crate::watching::notify_socket::Notices;
use crate::watching::poll_loop::Watch;
use crate::watching::waker::Wake;
use crate::{Containment, End, Identity, Observer, Signals, Spec, StopCause};

/// A run that has started.
///
/// It stays on the thread that started it: the kernel ends the child when that thread ends, so that a supervisor that dies
/// leaves no agent behind. Dropping it ends the whole tree.
pub struct Running {
    pub(crate) spec: Spec,
    pub(crate) started: Instant,
    pub(crate) identity: Identity,
    pub(crate) pid: Pid,
    pub(crate) pidfd: OwnedFd,
    pub(crate) held: Held,
    pub(crate) outlets: Outlets,
    pub(crate) wake: Arc<Wake>,
    pub(crate) notices: Option<Notices>,
    pub(crate) signals: Option<Signals>,
    /// What the main process says until it has become the program.
    pub(crate) report: Option<Report>,
    /// The memory that the main process had of us before it became the program.
    pub(crate) inherited_rss_bytes: u64,
    /// The walls around it, if it has a sandbox.
    pub(crate) walls: Option<Walls>,
    /// Who watches them.
    pub(crate) guard: Option<Guard>,
    /// The main process is reaped.
    pub(crate) reaped: bool,
    /// Nobody is left, or what is left has been reported.
    pub(crate) settled: bool,
    /// Given up when nobody is left.
    pub(crate) place: Option<children::Place>,
    pub(crate) on_this_thread: PhantomData<*const ()>,
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running")
            .field("program", &self.spec.program)
            .field("identity", &self.identity)
            .field("containment", &self.held.containment)
            .finish_non_exhaustive()
    }
}

/// Stops a run from any thread.
#[derive(Clone, Debug)]
pub struct Stopper(Arc<Wake>);

impl Stopper {
    /// Asks for a stop: the polite signal, the grace period, KILL. Who asks again makes it [hurry](Self::hurry).
    pub fn stop(&self, cause: StopCause) {
        self.0.stop(cause);
    }

    /// Skips what is left of the grace period, once a stop has begun.
    pub fn hurry(&self) {
        self.0.hurry();
    }
}

impl Running {
    /// Who the main process is.
    #[must_use]
    pub const fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Whether the main process is there and has not become the program yet, as on a file system that does not answer.
    /// Then [`Observer::started`] or [`Observer::not_started`] tells what becomes of it.
    #[must_use]
    pub const fn is_starting(&self) -> bool {
        self.report.is_some()
    }

    /// The walls around it, if it has a sandbox.
    #[must_use]
    pub const fn walls(&self) -> Option<&Walls> {
        self.walls.as_ref()
    }

    /// What holds the run, and which limits are in force.
    #[must_use]
    pub const fn containment(&self) -> &Containment {
        &self.held.containment
    }

    /// A handle to stop it from elsewhere.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        Stopper(Arc::clone(&self.wake))
    }

    /// Lets the signals that reach us act on this run.
    #[must_use]
    pub fn listen(mut self, signals: Signals) -> Self {
        self.signals = Some(signals);
        self
    }

    /// Watches until nobody of the tree is left.
    pub fn watch(self, observer: &mut dyn Observer) -> End {
        self.watch_and_return_signals(observer).0
    }

    /// Watches until nobody of the tree is left, and gives back the signals for an owner that has more to do.
    pub fn watch_and_return_signals(mut self, observer: &mut dyn Observer) -> (End, Option<Signals>) {
        let end = Watch::new(&mut self, observer).run();
        (end, self.signals.take())
    }

    pub(crate) fn tree(&self) -> Tree {
        Tree::new(Roots { marker: self.spec.marker.clone(), main: Some(self.mark()), ours: true })
    }

    const fn mark(&self) -> Mark {
        Mark { pid: self.identity.pid, started_ticks: self.identity.started_ticks }
    }

    /// Ends everybody without asking.
    fn put_down(&mut self) {
        // The main process first: it is the only one that is certain to be there.
        pidfd_send_signal(&self.pidfd, Signal::KILL).ok();
        if let Some(group) = &self.held.group {
            group.kill();
        }
        let until = Instant::now() + DROPPED_WAIT;
        while !self.reaped && Instant::now() < until {
            self.reaped = matches!(children::reap_main(self.pid), Ok(Some(_)) | Err(_));
            if !self.reaped {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        self.tree().kill(DROPPED_WAIT);
        while self.held.group.as_mut().is_some_and(Group::is_populated) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        if let Some(group) = &self.held.group {
            group.remove();
        }
        children::dismiss(self.identity.pid);
    }
}

/// How long a run that nobody watches is waited for.
const DROPPED_WAIT: Duration = Duration::from_secs(2);

impl Drop for Running {
    fn drop(&mut self) {
        if !self.settled {
            self.put_down();
        }
    }
}
