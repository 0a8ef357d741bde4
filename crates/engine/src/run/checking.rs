//! Programs that a verification runs, under the same supervisor as everything else.
//!
//! Invariant: a check that hangs is ended with everything it started, and what it says is kept only as far as somebody
//! will read it. The owner of the run goes on meanwhile: what it has to write is written, and a stop is heard.

#![expect(clippy::disallowed_methods, reason = "it runs programs that look at files of this machine")]

use std::cell::RefCell;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::time::{Duration, Instant};

use callboard_delivery::{Check, CheckProgram, ProgramEnd, Ran};
use callboard_supervisor::sandbox::Sandbox;
use callboard_supervisor::{
    Answer, Cause, How, Observer, Received, Signals, Spec, StartError, StopCause, Stream, Timers, start,
};

use super::perform::withheld;

/// The marker of the checks of a run.
pub(crate) fn checks_of(run: &str) -> String {
    format!("{run}-check")
}

/// How often the owner of a run is asked while its artifacts are looked at.
const LOOK: Duration = Duration::from_millis(20);

/// Runs checks with the supervisor, under this marker.
pub(crate) struct Supervised<'a> {
    marker: &'a str,
    owner: Option<&'a RefCell<Owner<'a>>>,
    /// What the run itself got beside our environment.
    variables: &'a [(OsString, OsString)],
    /// The sandbox of the run, for programs that read or execute what the run wrote.
    sandbox: Option<&'a Sandbox>,
}

impl<'a> Supervised<'a> {
    /// Checks that nobody can stop.
    pub(crate) const fn unowned(marker: &'a str) -> Self {
        Self { marker, owner: None, variables: &[], sandbox: None }
    }

    /// Checks that belong to a run whose owner has to go on and may want to stop.
    pub(crate) const fn owned(
        marker: &'a str,
        owner: &'a RefCell<Owner<'a>>,
        variables: &'a [(OsString, OsString)],
    ) -> Self {
        Self { marker, owner: Some(owner), variables, sandbox: None }
    }

    /// The same, for a run in a sandbox.
    pub(crate) const fn within(self, sandbox: Option<&'a Sandbox>) -> Self {
        Self { sandbox, ..self }
    }
}

/// Whoever owns the run that is checked.
pub(crate) struct Owner<'a> {
    observer: &'a mut dyn Observer,
    /// The signals that reach us, except while a check has them.
    signals: Option<Signals>,
    stopped: Option<StopCause>,
    looked: Option<Instant>,
}

impl<'a> Owner<'a> {
    pub(crate) fn new(observer: &'a mut dyn Observer, signals: Option<Signals>) -> Self {
        Self { observer, signals, stopped: None, looked: None }
    }

    /// Who stopped the checks, if somebody did.
    pub(crate) const fn stopped(&self) -> Option<StopCause> {
        self.stopped
    }

    fn signal(&mut self, received: Received) -> Answer {
        let answer = self.observer.signal(received);
        if let Answer::Stop(cause) = answer {
            self.stopped.get_or_insert(cause);
        }
        answer
    }

    /// Lets the owner go on; `false` once somebody has asked for a stop.
    fn proceeds(&mut self) -> bool {
        if self.looked.is_some_and(|looked| looked.elapsed() < LOOK) {
            return self.stopped.is_none();
        }
        self.looked = Some(Instant::now());
        if self.observer.due().is_some_and(|due| due.is_zero()) {
            self.observer.tick();
        }
        for received in self.signals.as_mut().map(Signals::caught).unwrap_or_default() {
            self.signal(received);
        }
        self.stopped.is_none()
    }
}

/// The end of each stream, and the owner that goes on meanwhile.
struct Tails<'a> {
    max: usize,
    streams: [VecDeque<u8>; 2],
    cut: bool,
    owner: Option<&'a RefCell<Owner<'a>>>,
}

impl Observer for Tails<'_> {
    fn due(&mut self) -> Option<Duration> {
        self.owner?.borrow_mut().observer.due()
    }

    fn tick(&mut self) {
        if let Some(owner) = self.owner {
            owner.borrow_mut().observer.tick();
        }
    }

    fn signal(&mut self, received: Received) -> Answer {
        self.owner.map_or_else(|| received.usual_answer(), |owner| owner.borrow_mut().signal(received))
    }

    fn output(&mut self, stream: Stream, bytes: &[u8], _: Duration) {
        let tail = &mut self.streams[stream as usize];
        tail.extend(bytes);
        let surplus = tail.len().saturating_sub(self.max);
        tail.drain(..surplus);
        self.cut |= surplus > 0;
    }
}

impl Check for Supervised<'_> {
    fn run(&self, program: &CheckProgram<'_>) -> io::Result<Ran> {
        let (first, rest) =
            program.argv.split_first().ok_or_else(|| io::Error::other("the command is empty"))?;
        let timers =
            Timers { total: Some(program.limit), grace: Duration::from_secs(1), ..Timers::default() };
        let mut spec = Spec::new(first, self.marker).args(rest);
        spec.cwd = program.dir.to_owned();
        spec.timers = timers;
        spec.without = withheld(self.variables);
        spec.without.extend(program.without.iter().map(OsString::from));
        spec.env = [self.variables, program.with].concat();
        spec.sandbox = self.sandbox.filter(|_| program.is_promised).cloned();
        let running = start(spec).map_err(|error| match error {
            StartError::NotFound { source, .. }
            | StartError::Interpreter { source, .. }
            | StartError::NotExecutable { source, .. }
            | StartError::MissingCwd { source, .. }
            | StartError::Resources { source, .. }
            | StartError::Setup { source, .. } => source,
            error @ StartError::Sandbox { .. } => io::Error::other(error),
            StartError::Invalid(why) => io::Error::other(why),
        })?;
        let mut tails = Tails {
            max: program.output_max,
            streams: [VecDeque::new(), VecDeque::new()],
            cut: false,
            owner: self.owner,
        };
        let running = match self.owner.and_then(|owner| owner.borrow_mut().signals.take()) {
            Some(signals) => running.listen(signals),
            None => running,
        };
        let (end, signals) = running.watch_and_return_signals(&mut tails);
        if let Some(owner) = self.owner {
            owner.borrow_mut().signals = signals;
        }
        let [stdout, stderr] = tails.streams.map(Vec::from);
        let end = match (end.cause, end.how) {
            (Cause::Timer { .. }, _) => ProgramEnd::Limit,
            (_, How::Exited { code }) => ProgramEnd::Code(code.into()),
            (_, How::Signaled { signal, .. }) => ProgramEnd::Signal(signal),
            (_, How::Unconfirmed) => ProgramEnd::Limit,
        };
        Ok(Ran { end, stdout, stderr, cut: tails.cut })
    }

    fn proceeds(&self) -> bool {
        self.owner.is_none_or(|owner| owner.borrow_mut().proceeds())
    }
}
