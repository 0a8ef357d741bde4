//! What is to be run: a program, its surroundings, its timers, its limits.

use std::ffi::OsString;
use std::os::fd::RawFd;
use std::path::PathBuf;
use std::time::Duration;

use crate::sandbox::Sandbox;

/// One run, as it is asked for.
#[derive(Clone, Debug)]
pub struct Spec {
    /// The program, looked up in the child's `PATH` when it has no slash.
    pub program: OsString,
    /// Its arguments, without the program itself.
    pub args: Vec<OsString>,
    /// Where it starts.
    pub cwd: PathBuf,
    /// What is added to our environment.
    pub env: Vec<(OsString, OsString)>,
    /// What is taken out of our environment.
    pub without: Vec<OsString>,
    /// The nonce of the run. It is in the environment of every descendant (`CALLBOARD_RUN`) and in the name of the
    /// control group, so that who escaped is found again. Letters, digits, `-` and `_`.
    pub marker: String,
    /// What the child reads.
    pub stdin: Stdin,
    /// Who sees the output.
    pub audience: Audience,
    /// When it is too late.
    pub timers: Timers,
    /// What it may use.
    pub limits: Limits,
    /// Where its output is kept.
    pub keep: Option<Keep>,
    /// How high the ladder of containment is climbed.
    pub climb: Climb,
    /// Open descriptors beyond the first three that the child keeps under their numbers. It gets no others.
    pub descriptors: Vec<RawFd>,
    /// Whether it can gain privileges. It cannot in a sandbox.
    pub privileges: Privileges,
    /// What it may reach; everything without one.
    pub sandbox: Option<Sandbox>,
}

impl Spec {
    /// A detached run of a program with no timers, no limits, and output that nobody keeps.
    #[must_use]
    pub fn new(program: impl Into<OsString>, marker: impl Into<String>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            cwd: PathBuf::from("."),
            env: Vec::new(),
            without: Vec::new(),
            marker: marker.into(),
            stdin: Stdin::Null,
            audience: Audience::Nobody,
            timers: Timers::default(),
            limits: Limits::default(),
            keep: None,
            climb: Climb::Highest,
            descriptors: Vec::new(),
            privileges: Privileges::NoNew,
            sandbox: None,
        }
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }
}

/// What the child reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stdin {
    /// Ours. A terminal is passed on through a pseudoterminal.
    Inherit,
    /// Nothing.
    #[default]
    Null,
}

/// Who sees the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Audience {
    /// Whoever reads our stdout and stderr: every byte is passed on, and a terminal stays a terminal.
    Foreground,
    /// Nobody.
    #[default]
    Nobody,
}

/// When it is too late. All clocks are monotonic: setting the time of day changes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timers {
    /// From the start to the end.
    pub total: Option<Duration>,
    /// From the start to the first output or notification.
    pub first_output: Option<Duration>,
    /// Between two signs of life: output, or a notification.
    pub silence: Option<Duration>,
    /// How long it may wait for a person. The clock of silence stands still meanwhile.
    pub waiting: Option<Duration>,
    /// How long one tool call may take. The clock of silence stands still meanwhile.
    pub tool: Option<Duration>,
    /// Between the polite signal and KILL.
    pub grace: Duration,
    /// How long those who outlive the main process may go on, and how long their output is still read.
    pub leak: Duration,
}

impl Default for Timers {
    fn default() -> Self {
        Self {
            total: None,
            first_output: None,
            silence: None,
            waiting: None,
            tool: None,
            grace: Duration::from_secs(10),
            leak: Duration::from_millis(500),
        }
    }
}

/// What the run may use. Each is held by a control group where one can be had, otherwise by a resource limit of every
/// single process; [`Containment`](crate::Containment) says which.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Memory of the whole tree, in bytes.
    pub memory_bytes: Option<u64>,
    /// CPU time of each process, in seconds.
    pub cpu_seconds: Option<u64>,
    /// CPU of the whole tree, in percent of one core. There is no resource limit for it.
    pub cpu_percent: Option<u32>,
    /// How many processes and threads.
    pub processes: Option<u64>,
}

/// Where output is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keep {
    /// A directory of this run alone; it is made if it is not there.
    pub dir: PathBuf,
    /// The most that is kept: the beginning, and the end.
    pub max_bytes: u64,
    /// The time of day at the start, in microseconds since 1970: times in the log count from here.
    pub began_us: u64,
}

/// How high the ladder of containment is climbed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Climb {
    /// As high as it goes here.
    #[default]
    Highest,
    /// No control group, even where one could be made: for a host whose groups belong to somebody else.
    Tree,
}

/// Whether a program that runs with the rights of its owner, such as `sudo`, does so for the child.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Privileges {
    /// It does not: neither the child nor any of its descendants ever has more rights than we have (`no_new_privs`).
    #[default]
    NoNew,
    /// It does.
    Gained,
}
