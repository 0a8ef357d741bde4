//! What an owner is told while a run goes on, and what it may answer.

use std::time::Duration;

use crate::sandbox::Sightings;
use crate::{End, How, Sender, StartError, StopCause};

/// The owner of a run. It is called on the thread that watches, so what it does delays the run's own clocks and
/// output: it must not wait for anything.
pub trait Observer {
    /// The child wrote. `at` counts from the start.
    fn output(&mut self, stream: Stream, bytes: &[u8], at: Duration) {
        let _ = (stream, bytes, at);
    }

    /// The main process has become the program, later than the start of the run.
    fn started(&mut self) {}

    /// The main process did not become the program, later than the start of the run. Nothing else is told of the run but
    /// its end, which says nothing.
    fn not_started(&mut self, error: StartError) {
        drop(error);
    }

    /// The child notified, as programs do under systemd.
    fn notified(&mut self, notification: Notification) {
        let _ = notification;
    }

    /// The sandbox noticed something for the first time, and this is all that it has noticed. It is told once more before the
    /// end.
    fn sighted(&mut self, sightings: &Sightings) {
        let _ = sightings;
    }

    /// A person pressed a key at the run's terminal, and it was passed on. What a terminal sends by itself is no key.
    fn typed(&mut self) {}

    /// The main process was stopped, or goes on.
    fn stopped(&mut self, by: Option<StoppedBy>) {
        let _ = by;
    }

    /// What the run waits for, if the owner knows. The clocks for signs of life stand still meanwhile. It is asked after
    /// every event.
    fn waits(&mut self) -> Option<Wait> {
        None
    }

    /// A stop has begun: a timer ran out, or somebody asked. The polite signal was sent.
    fn stopping(&mut self, cause: crate::Cause) {
        let _ = cause;
    }

    /// The wait status of the main process was read, `at` from the start. Others of its tree may go on, and its output may
    /// still be on the way to a slow reader.
    fn exited(&mut self, how: How, at: Duration) {
        let _ = (how, at);
    }

    /// The run has ended, and so many bytes of its output wait for a slow reader. [`Observer::tick`] goes on; a stop ends
    /// the waiting and changes nothing about the end.
    fn draining(&mut self, bytes: u64) {
        let _ = bytes;
    }

    /// When the owner next wants [`Observer::tick`], from this moment on. It is asked after every event; without an
    /// answer the run sleeps.
    fn due(&mut self) -> Option<Duration> {
        None
    }

    /// The time the owner wanted has come.
    fn tick(&mut self) {}

    /// What the owner wants done by itself; asked after every [`Observer::tick`].
    fn asks(&mut self) -> Answer {
        Answer::Ignore
    }

    /// A signal reached us, and [`Signals`](crate::Signals) were taken. It is asked for those that may stop the run.
    fn signal(&mut self, received: Received) -> Answer {
        received.usual_answer()
    }

    /// The processes of the tool call that was to be ended are gone, or were counted as left; nothing if no call was open. The
    /// run goes on.
    fn tool_ended(&mut self, end: Option<ToolEnd>) {
        let _ = end;
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

/// What stopped the main process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoppedBy {
    /// A signal (SIGSTOP and its kind) that somebody else sent.
    Signal,
    /// A person suspended the run and us, as with Ctrl-Z. We are stopped as soon as this call returns.
    Suspended,
}

/// What a run waits for, so that it is not silent without a reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// A person has to do something.
    Person,
    /// A tool call has no result yet.
    Tool {
        /// Which one; another call has another number, and its own time.
        call: u64,
    },
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
    /// HUP, as from a terminal that is closed.
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
    /// Whether it is one of those that may stop a run.
    #[must_use]
    pub const fn may_stop(self) -> bool {
        match self {
            Self::Interrupt | Self::Terminate | Self::Hangup | Self::Quit => true,
            Self::Resize | Self::Suspend | Self::Resume => false,
        }
    }

    /// The name of the signal.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Interrupt => "SIGINT",
            Self::Terminate => "SIGTERM",
            Self::Hangup => "SIGHUP",
            Self::Quit => "SIGQUIT",
            Self::Resize => "SIGWINCH",
            Self::Suspend => "SIGTSTP",
            Self::Resume => "SIGCONT",
        }
    }
}

/// A signal that reached us, and who sent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Which one.
    pub caught: Caught,
    /// Who sent it.
    pub sender: Sender,
}

impl Received {
    /// What most owners want: the run stops.
    #[must_use]
    pub const fn usual_answer(self) -> Answer {
        let is_terminal = matches!(self.sender, Sender::Terminal);
        match self.caught {
            Caught::Interrupt if is_terminal => Answer::Stop(StopCause::Interrupt),
            Caught::Interrupt => Answer::Stop(StopCause::SentInterrupt),
            Caught::Quit if is_terminal => Answer::Stop(StopCause::Quit),
            Caught::Quit => Answer::Stop(StopCause::SentQuit),
            Caught::Hangup if is_terminal => Answer::Stop(StopCause::Hangup),
            Caught::Hangup => Answer::Stop(StopCause::SentHangup),
            Caught::Terminate => Answer::Stop(StopCause::Terminate),
            Caught::Resize | Caught::Suspend | Caught::Resume => Answer::Ignore,
        }
    }

    /// The signal and its sender in words, such as `SIGTERM from pid 123 (bash, uid 0)`.
    #[must_use]
    pub fn words(self) -> String {
        format!("{} from {}", self.caught.name(), self.sender.words())
    }
}

/// What is done about a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The run stops for this cause. Where it stops already, it hurries.
    Stop(StopCause),
    /// The processes of the open tool call end, and nobody else.
    EndTool,
    /// Nothing.
    Ignore,
}

/// What became of the processes of a tool call that was to be ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolEnd {
    /// How many there were when the end was asked for.
    pub asked: u32,
    /// KILL was needed.
    pub killed: bool,
    /// How many are there although KILL was sent.
    pub left: u32,
}
