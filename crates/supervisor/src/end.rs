//! How a run ended: what was read, not what was guessed.

use std::time::Duration;

/// Everything that is known of an end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// The wait status of the main process.
    pub how: How,
    /// Whether the main process was seen to become the program before somebody ended it.
    pub began: bool,
    /// Whose doing it was.
    pub cause: Cause,
    /// Whether the kernel killed the main process because memory ran out; none where nobody can know. A child that was
    /// killed for memory is counted in `oom_kills` alone.
    pub oom: Option<bool>,
    /// How many processes of the run the kernel killed because memory ran out; none where nobody counts.
    pub oom_kills: Option<u64>,
    /// What is wrong with the program that a signal ended, if its file shows it: it is cut short.
    pub flaw: Option<String>,
    /// From the start to the end of the main process, without the time in which we did not run.
    pub elapsed: Duration,
    /// How long we did not run: suspended, stopped, frozen, or kept from a processor.
    pub stood_still: Duration,
    /// KILL was needed.
    pub killed: bool,
    /// Who is still there although KILL was sent: the kill is not confirmed. Otherwise 0.
    pub left: u32,
    /// Those who are still there, one by one, as far as they can be seen.
    pub survivors: Vec<Survivor>,
    /// Who outlived the main process and had to be ended.
    pub escaped: u32,
    /// Somebody outlived the main process beyond the leak time.
    pub leak: bool,
    /// What became of the output.
    pub output: Kept,
    /// What it used.
    pub usage: Usage,
}

/// A process that is still there although KILL was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survivor {
    /// Its pid.
    pub pid: u32,
    /// When it began, in clock ticks since the boot.
    pub started_ticks: u64,
    /// Its name.
    pub name: String,
    /// The user it runs as.
    pub uid: Option<u32>,
    /// The system refuses to let us signal it.
    pub is_refused: bool,
}

/// What the main process left behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// It ended by itself, with this code.
    Exited {
        /// 0 to 255.
        code: u8,
    },
    /// A signal ended it.
    Signaled {
        /// 1 to 64.
        signal: i32,
        /// The kernel wrote a core file.
        core_dumped: bool,
    },
    /// It did not go although KILL was sent, as a process that waits for a dead disk. It is still there.
    Unconfirmed,
}

impl How {
    /// Reads a wait status.
    #[must_use]
    pub const fn from_raw(status: i32) -> Self {
        match status & 0x7f {
            0 => Self::Exited { code: (status >> 8 & 0xff) as u8 },
            signal => Self::Signaled { signal, core_dumped: status & 0x80 != 0 },
        }
    }

    /// The wait status, as the system writes it.
    #[must_use]
    pub const fn raw(self) -> Option<i32> {
        match self {
            Self::Exited { code } => Some((code as i32) << 8),
            Self::Signaled { signal, core_dumped } => Some(signal | if core_dumped { 0x80 } else { 0 }),
            Self::Unconfirmed => None,
        }
    }
}

/// Whose doing an end was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Its own. A child that exits with 124 or 143 by itself did so by itself.
    OfItself,
    /// One of our clocks.
    Timer {
        /// Which one.
        timer: Timer,
        /// What was allowed.
        configured: Duration,
        /// What had gone by on that clock.
        elapsed: Duration,
    },
    /// Somebody asked.
    Stopped(StopCause),
}

/// The clocks of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// From the start to the end.
    Total,
    /// From the start to the first sign of life.
    FirstOutput,
    /// Between two signs of life.
    Silence,
    /// While it waits for a person.
    Waiting,
    /// While a tool call is open.
    Tool,
}

/// Who asked for a stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopCause {
    /// Ctrl-C on our terminal. The polite signal is INT instead of TERM.
    Interrupt,
    /// Ctrl-\ on our terminal. The polite signal is QUIT.
    Quit,
    /// TERM to us.
    Terminate,
    /// Our terminal was closed.
    Hangup,
    /// INT to us from a program. The polite signal is INT.
    SentInterrupt,
    /// QUIT to us from a program. The polite signal is QUIT.
    SentQuit,
    /// HUP to us from a program.
    SentHangup,
    /// An operator.
    Operator,
    /// The run that started this one.
    Parent,
    /// A run beside this one, below the same parent, was aborted or failed.
    Sibling,
    /// A run that this one started failed.
    Child,
    /// An agent in another run, or in this one.
    Agent,
    /// A budget was used up.
    Budget,
    /// The owner shuts down.
    Shutdown,
}

/// What became of the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Bytes the child wrote to stdout, or to its terminal.
    pub stdout_bytes: u64,
    /// Bytes the child wrote to stderr.
    pub stderr_bytes: u64,
    /// Bytes that were kept first and made room for later ones.
    pub dropped: u64,
    /// Bytes that could not be written, because the disk was full or failed.
    pub lost: u64,
    /// What became of the passing-on.
    pub passed: Passed,
}

/// What became of the bytes that were passed on to our own stdout and stderr.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// Bytes that were read from the command and found no reader, for whatever cause.
    pub dropped: u64,
    /// The reader went away, and the command's pipe was closed because of it.
    pub closed: bool,
    /// Of the dropped bytes, those that were refused although the reader is there: its disk is full or fails, or the
    /// backlog is full.
    pub refused: u64,
    /// What the system said when bytes were refused; none if the backlog was full.
    pub errno: Option<i32>,
}

/// What the main process and the descendants it waited for used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// CPU time in user mode.
    pub user: Duration,
    /// CPU time in the kernel.
    pub system: Duration,
    /// The largest resident set of one of them, in bytes. None if it was no larger than what a child has of us before it
    /// becomes the program, which the kernel counts too.
    pub max_rss_bytes: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wait_status_reads_back() {
        for code in 0..=255 {
            let how = How::from_raw(i32::from(code) << 8);
            assert_eq!(how, How::Exited { code });
            assert_eq!(how.raw(), Some(i32::from(code) << 8));
        }
        for signal in 1..=64 {
            for core in [0, 0x80] {
                let how = How::from_raw(signal | core);
                assert_eq!(how, How::Signaled { signal, core_dumped: core != 0 });
                assert_eq!(how.raw(), Some(signal | core));
            }
        }
    }
}
