//! The ends of a child's pipes and of its terminal that we hold, and what is done with what comes out of them.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::time::Duration;

use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};
use rustix::termios::isatty;

use super::keep::Keeper;
use super::pass::Pass;
use crate::child::pty::{self, Pty};
use crate::{Audience, Kept, Observer, Passed, Spec, Stdin, Stream};

/// Everything a run writes to.
#[derive(Debug)]
pub(crate) struct Outlets {
    sources: Vec<Source>,
    pub(crate) pty: Option<Pty>,
    keeper: Option<Keeper>,
    buffer: Vec<u8>,
    kept: Kept,
}

/// One thing the child writes to.
#[derive(Debug)]
struct Source {
    /// What it is kept as. What is written to a terminal beside a redirected stdout is only passed on.
    stream: Option<Stream>,
    from: Option<OwnedFd>,
    pass: Option<Pass>,
    is_terminal: bool,
}

/// The child's ends.
#[derive(Debug)]
pub(crate) struct Ends {
    /// Its stdin, stdout and stderr; without one it has ours. None of them has one of their numbers here, so that
    /// none is overwritten before it is in its place.
    pub(crate) standard: [Option<OwnedFd>; 3],
    /// Which of them is its terminal.
    pub(crate) terminal: Option<i32>,
}

/// What one read costs a run that says little.
const BUFFER_BYTES: usize = 16 * 1024;
/// What one read takes from a run that floods us.
const FLOOD_BYTES: usize = 1024 * 1024;
/// Reads of what is left in a pipe that somebody unseen keeps filling.
const LAST_ROUNDS: usize = 64;

impl Outlets {
    /// Lays the pipes.
    pub(crate) fn lay(spec: &Spec) -> io::Result<(Self, Ends)> {
        let keeper = spec.keep.as_ref().map(Keeper::new);
        let foreground = spec.audience == Audience::Foreground;
        let spill_dir = spec.keep.as_ref().map_or_else(std::env::temp_dir, |keep| keep.dir.clone());
        let mut outlets = Self {
            sources: Vec::new(),
            pty: None,
            keeper,
            buffer: vec![0; BUFFER_BYTES],
            kept: Kept::default(),
        };
        let stdin = rustix::stdio::stdin();
        let keys = foreground && spec.stdin == Stdin::Inherit && pty::is_ours(stdin);
        let outputs = [rustix::stdio::stdout(), rustix::stdio::stderr()];
        let are_terminals = outputs.map(|output| foreground && isatty(output));
        let ours = if keys { Some(stdin) } else { (0..2).find(|n| are_terminals[*n]).map(|n| outputs[n]) };
        let terminal = match ours {
            Some(ours) => {
                let (pty, child) = Pty::open(ours, keys)?;
                outlets.pty = Some(pty);
                Some(child)
            }
            None => None,
        };
        let mut standard = [const { None }; 3];
        standard[0] = match (&terminal, spec.stdin) {
            (Some(terminal), Stdin::Inherit) if keys => Some(terminal.try_clone()?),
            (_, Stdin::Inherit) if foreground && isatty(stdin) => Some(nothing()?),
            (_, Stdin::Inherit) => None,
            (_, Stdin::Null) => Some(nothing()?),
        };
        let mut shared = None;
        for (number, stream) in [Stream::Stdout, Stream::Stderr].into_iter().enumerate() {
            let child = match terminal.as_ref().filter(|_| are_terminals[number]) {
                Some(terminal) => {
                    shared.get_or_insert((stream, outputs[number]));
                    terminal.try_clone()?
                }
                None => outlets.pipe(stream, foreground.then_some((outputs[number], &spill_dir)))?,
            };
            standard[number + 1] = Some(child);
        }
        outlets.add_terminal(shared, ours, spill_dir)?;
        let first = [keys, are_terminals[0], are_terminals[1]].iter().position(|is| *is);
        Ok((outlets, Ends { standard: apart(standard)?, terminal: first.map(|number| number as i32) }))
    }

    /// Lays one pipe and gives back the child's end.
    fn pipe(&mut self, stream: Stream, to: Option<(BorrowedFd<'static>, &PathBuf)>) -> io::Result<OwnedFd> {
        let (from, child) = pipe_with(PipeFlags::CLOEXEC)?;
        rustix::io::ioctl_fionbio(&from, true)?;
        let pass = to.map(|(output, spill_dir)| Pass::new(output, spill_dir.clone()));
        self.sources.push(Source { stream: Some(stream), from: Some(from), pass, is_terminal: false });
        Ok(child)
    }

    /// What is written to the child's terminal is its first output that is one, or only shown on ours.
    fn add_terminal(
        &mut self,
        shared: Option<(Stream, BorrowedFd<'static>)>,
        ours: Option<BorrowedFd<'static>>,
        spill_dir: PathBuf,
    ) -> io::Result<()> {
        let (Some(pty), Some(ours)) = (&self.pty, ours) else { return Ok(()) };
        let (stream, output) = shared.map_or((None, ours), |(stream, output)| (Some(stream), output));
        let pass = Some(Pass::new(output, spill_dir));
        self.sources.push(Source { stream, from: Some(pty.controller()?), pass, is_terminal: true });
        Ok(())
    }

    /// What is open to be read.
    pub(crate) fn open(&self) -> impl Iterator<Item = (usize, BorrowedFd<'_>)> {
        self.sources
            .iter()
            .enumerate()
            .filter_map(|(index, source)| Some((index, source.from.as_ref()?.as_fd())))
    }

    /// The readers of ours that something waits for.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = (usize, BorrowedFd<'_>)> {
        let waits = |source: &'_ Source| source.pass.as_ref().and_then(Pass::waits_for).is_some();
        self.sources
            .iter()
            .enumerate()
            .filter(move |(_, source)| waits(source))
            .filter_map(|(index, source)| Some((index, source.pass.as_ref()?.waits_for()?)))
    }

    /// The readers of ours that nothing waits for and that may go away.
    pub(crate) fn readers(&self) -> impl Iterator<Item = (usize, BorrowedFd<'_>)> {
        let open = self.sources.iter().enumerate().filter(|(_, source)| source.is_open_pipe());
        open.filter_map(|(index, source)| Some((index, source.pass.as_ref()?.watches()?)))
    }

    /// How many bytes wait for a reader.
    pub(crate) fn backlog(&self) -> u64 {
        self.sources.iter().filter_map(|source| source.pass.as_ref()).map(Pass::backlog).sum()
    }

    pub(crate) fn are_closed(&self) -> bool {
        self.sources.iter().all(|source| source.from.is_none())
    }

    /// Takes what one of them holds; `true` if there was something.
    pub(crate) fn take(&mut self, index: usize, at: Duration, observer: &mut dyn Observer) -> bool {
        let source = &mut self.sources[index];
        let Some(from) = &source.from else { return false };
        let count = match rustix::io::read(from, &mut self.buffer[..]) {
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => return false,
            // A terminal whose last user is gone answers with an error.
            Ok(0) | Err(_) => {
                source.from = None;
                return false;
            }
            Ok(count) => count,
        };
        if count == self.buffer.len() && count < FLOOD_BYTES {
            // A larger pipe is a favour the kernel may refuse; a larger buffer helps in any case.
            fcntl_setpipe_size(from, FLOOD_BYTES).ok();
            self.buffer.resize(FLOOD_BYTES, 0);
        }
        let bytes = &self.buffer[..count];
        if let Some(stream) = source.stream {
            match stream {
                Stream::Stdout => self.kept.stdout_bytes += count as u64,
                Stream::Stderr => self.kept.stderr_bytes += count as u64,
            }
            if let Some(keeper) = &mut self.keeper {
                keeper.write(stream, at, bytes);
            }
            observer.output(stream, bytes, at);
        }
        if let Some(pass) = &mut source.pass {
            pass.push(bytes);
        }
        source.follow_reader();
        true
    }

    /// A reader of ours is ready for what waits, or has gone.
    pub(crate) fn resume(&mut self, index: usize) {
        if let Some(pass) = &mut self.sources[index].pass {
            pass.resume(&mut self.buffer);
        }
        self.sources[index].follow_reader();
    }

    /// Takes what is there, closes, and gives the account.
    pub(crate) fn finish(&mut self, at: Duration, observer: &mut dyn Observer) -> Kept {
        for index in 0..self.sources.len() {
            let mut rounds = 0;
            while rounds < LAST_ROUNDS && self.take(index, at, observer) {
                rounds += 1;
            }
            self.sources[index].from = None;
        }
        self.pty = None;
        if let Some(keeper) = &mut self.keeper {
            keeper.finish(at);
            keeper.account(&mut self.kept);
        }
        self.kept.passed = self.passed();
        self.kept
    }

    /// Gives up what still waits for a reader.
    pub(crate) fn abandon(&mut self) {
        for source in &mut self.sources {
            if let Some(pass) = &mut source.pass {
                pass.abandon();
            }
        }
    }

    /// Resets what the command has left set on our terminals.
    pub(crate) fn restore_terminals(&mut self) {
        self.sources.iter_mut().filter_map(|source| source.pass.as_mut()).for_each(Pass::restore);
    }

    /// What became of the passing-on so far.
    pub(crate) fn passed(&self) -> Passed {
        let passes = self.sources.iter().filter_map(|source| source.pass.as_ref()).map(Pass::account);
        passes.fold(Passed::default(), |all, one| Passed {
            dropped: all.dropped + one.dropped,
            closed: all.closed || one.closed,
            refused: all.refused + one.refused,
            errno: all.errno.or(one.errno),
        })
    }
}

impl Source {
    fn is_open_pipe(&self) -> bool {
        self.from.is_some() && !self.is_terminal
    }

    /// Closes the child's pipe when its reader has gone, so that the child's next write ends as it would have ended
    /// without us: with SIGPIPE. A child at a terminal gets a hangup instead.
    fn follow_reader(&mut self) {
        if self.is_open_pipe()
            && !crate::mutant::removed("follow_reader")
            && self.pass.as_ref().is_some_and(Pass::is_closed)
        {
            self.from = None;
        }
    }
}

fn nothing() -> io::Result<OwnedFd> {
    Ok(File::open("/dev/null")?.into())
}

/// Moves those away that have the number of a standard descriptor, which happens in a process that closed its own.
fn apart(standard: [Option<OwnedFd>; 3]) -> io::Result<[Option<OwnedFd>; 3]> {
    const STANDARD: i32 = 3;
    let mut moved = [const { None }; 3];
    for (place, end) in moved.iter_mut().zip(standard) {
        *place = match end {
            Some(end) if end.as_raw_fd() < STANDARD => Some(rustix::io::fcntl_dupfd_cloexec(&end, STANDARD)?),
            end => end,
        };
    }
    Ok(moved)
}
