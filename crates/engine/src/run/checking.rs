//! Programs that a verification runs, under the same supervisor as everything else.
//!
//! Invariant: a check that hangs is ended with everything it started, and what it says is kept only as far as somebody
//! will read it.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use callboard_supervisor::{Cause, How, Observer, Spec, StartError, Stream, Timers, start};

use crate::delivery::{Check, Program, ProgramEnd, Ran};

/// The marker of the checks of a run.
pub(crate) fn checks_of(run: &str) -> String {
    format!("{run}-check")
}

/// Runs checks with the supervisor, under this marker.
pub(crate) struct Supervised<'a> {
    pub(crate) marker: &'a str,
}

/// The end of each stream.
struct Tails {
    max: usize,
    streams: [VecDeque<u8>; 2],
    cut: bool,
}

impl Observer for Tails {
    fn output(&mut self, stream: Stream, bytes: &[u8], _: Duration) {
        let tail = &mut self.streams[stream as usize];
        tail.extend(bytes);
        let surplus = tail.len().saturating_sub(self.max);
        tail.drain(..surplus);
        self.cut |= surplus > 0;
    }
}

impl Check for Supervised<'_> {
    fn run(&self, program: &Program<'_>) -> io::Result<Ran> {
        let (first, rest) =
            program.argv.split_first().ok_or_else(|| io::Error::other("the command is empty"))?;
        let timers =
            Timers { total: Some(program.limit), grace: Duration::from_secs(1), ..Timers::default() };
        let mut spec = Spec::new(first, self.marker).args(rest);
        spec.cwd = program.dir.to_owned();
        spec.timers = timers;
        spec.without = program.without.iter().map(Into::into).collect();
        let running = start(spec).map_err(|error| match error {
            StartError::NotFound { source, .. }
            | StartError::NotExecutable { source, .. }
            | StartError::MissingCwd { source, .. }
            | StartError::Resources { source, .. }
            | StartError::Setup { source, .. } => source,
            StartError::Invalid(why) => io::Error::other(why),
        })?;
        let mut tails =
            Tails { max: program.output_max, streams: [VecDeque::new(), VecDeque::new()], cut: false };
        let end = running.watch(&mut tails);
        let [stdout, stderr] = tails.streams.map(Vec::from);
        let end = match (end.cause, end.how) {
            (Cause::Timer { .. }, _) => ProgramEnd::Limit,
            (_, How::Exited { code }) => ProgramEnd::Code(code.into()),
            (_, How::Signaled { signal, .. }) => ProgramEnd::Signal(signal),
            (_, How::Unconfirmed) => ProgramEnd::Limit,
        };
        Ok(Ran { end, stdout, stderr, cut: tails.cut })
    }
}
