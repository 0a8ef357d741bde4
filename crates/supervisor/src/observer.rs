//! What an owner is told while a run goes on, and what it may answer.

use std::time::Duration;

use crate::{End, StopCause};

/// The owner of a run. It is called on the thread that watches, so what it does delays the run's own clocks and
/// output: it must not wait for anything.
pub trait Observer {
    /// The child wrote. `at` counts from the start.
    fn output(&mut self, stream: Stream, bytes: &[u8], at: Duration) {
        let _ = (stream, bytes, at);
    }

    /// The child notified, as programs do under systemd.
    fn notified(&mut self, notification: Notification) {
        let _ = notification;
    }

    /// The main process was stopped (SIGSTOP and its kind) or goes on.
    fn stopped(&mut self, stopped: bool) {
        let _ = stopped;
    }

    /// A stop has begun: a timer ran out, or somebody asked.
    fn stopping(&mut self, cause: crate::Cause) {
        let _ = cause;
    }

    /// When the owner next wants [`Observer::tick`], from this moment on. It is asked after every event; without an
    /// answer the run sleeps.
    fn due(&mut self) -> Option<Duration> {
        None
    }

    /// The time the owner wanted has come.
    fn tick(&mut self) {}

    /// A signal reached us, and [`Signals`](crate::Signals) were taken. It is asked for those that may stop the run.
    fn signal(&mut self, caught: Caught) -> Answer {
        caught.usual_answer()
    }

    /// The run has ended. What is left of its output may still be on the way to a slow reader.
    fn ended(&mut self, end: &End) {
        let _ = end;
    }
}

/// An owner that wants to know nothing but the end.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quiet;

impl Observer for Quiet {}

/// Where the child wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stream {
    /// Its stdout, or its terminal.
    Stdout,
    /// Its stderr.
    Stderr,
}

/// A word of the notification protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notification {
    /// `READY=1`
    Ready,
    /// `STATUS=…`
    Status(String),
    /// `WATCHDOG=1`: a sign of life.
    Watchdog,
    /// `STOPPING=1`
    Stopping,
    /// `EXTEND_TIMEOUT_USEC=…`: the clocks of first output and silence have at least this long from here, the total has not.
    Extend(Duration),
    /// Any other word, as it came.
    Other(String),
}

/// A signal that reached us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caught {
    /// INT, as from Ctrl-C.
    Interrupt,
    /// TERM.
    Terminate,
    /// HUP: the terminal is gone.
    Hangup,
    /// QUIT, as from Ctrl-\.
    Quit,
    /// WINCH: the terminal has another size, which the run passes on by itself.
    Resize,
    /// TSTP, as from Ctrl-Z: the run suspends itself and us.
    Suspend,
    /// CONT: we go on.
    Resume,
}

impl Caught {
    /// What most owners want: the run stops.
    #[must_use]
    pub const fn usual_answer(self) -> Answer {
        match self {
            Self::Interrupt => Answer::Stop(StopCause::Interrupt),
            Self::Terminate => Answer::Stop(StopCause::Terminate),
            Self::Hangup => Answer::Stop(StopCause::Hangup),
            Self::Quit => Answer::Stop(StopCause::Quit),
            Self::Resize | Self::Suspend | Self::Resume => Answer::Ignore,
        }
    }
}

/// What is done about a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The run stops for this cause. Where it stops already, it hurries.
    Stop(StopCause),
    /// Nothing.
    Ignore,
}
