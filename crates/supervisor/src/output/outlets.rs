//! The ends of a child's pipes that we hold, and what is done with what comes out of them.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};

use crate::{Kept, Observer, Spec, Stdin, Stream};

/// Both output streams of a run.
#[derive(Debug)]
pub(crate) struct Outlets {
    sources: [Source; 2],
    buffer: Vec<u8>,
    kept: Kept,
}

#[derive(Debug)]
struct Source {
    stream: Stream,
    pipe: Option<OwnedFd>,
}

/// What one read costs a run that says little.
const BUFFER_BYTES: usize = 16 * 1024;
/// What one read takes from a run that floods us.
const FLOOD_BYTES: usize = 1024 * 1024;

impl Outlets {
    /// Lays the pipes, and says which of the child's descriptors is its terminal.
    pub(crate) fn lay(spec: &Spec, command: &mut Command) -> io::Result<(Self, Option<i32>)> {
        let (out, out_child) = pipe_with(PipeFlags::CLOEXEC)?;
        let (err, err_child) = pipe_with(PipeFlags::CLOEXEC)?;
        command.stdout(Stdio::from(out_child)).stderr(Stdio::from(err_child));
        command.stdin(match spec.stdin {
            Stdin::Inherit => Stdio::inherit(),
            Stdin::Null => Stdio::null(),
        });
        rustix::io::ioctl_fionbio(&out, true)?;
        rustix::io::ioctl_fionbio(&err, true)?;
        let sources = [
            Source { stream: Stream::Stdout, pipe: Some(out) },
            Source { stream: Stream::Stderr, pipe: Some(err) },
        ];
        Ok((Self { sources, buffer: vec![0; BUFFER_BYTES], kept: Kept::default() }, None))
    }

    /// The pipes that are open.
    pub(crate) fn open(&self) -> impl Iterator<Item = (usize, BorrowedFd<'_>)> {
        use std::os::fd::AsFd;
        self.sources
            .iter()
            .enumerate()
            .filter_map(|(index, source)| Some((index, source.pipe.as_ref()?.as_fd())))
    }

    pub(crate) fn are_closed(&self) -> bool {
        self.sources.iter().all(|source| source.pipe.is_none())
    }

    /// Takes what one pipe holds; `true` if there may be more.
    pub(crate) fn take(&mut self, index: usize, at: Duration, observer: &mut dyn Observer) -> bool {
        let source = &mut self.sources[index];
        let Some(pipe) = &source.pipe else { return false };
        match rustix::io::read(pipe, &mut self.buffer[..]) {
            Ok(0) => {
                source.pipe = None;
                false
            }
            Ok(count) => {
                let stream = source.stream;
                if count == self.buffer.len() && count < FLOOD_BYTES {
                    // A larger pipe is a favour the kernel may refuse; a larger buffer helps in any case.
                    fcntl_setpipe_size(pipe, FLOOD_BYTES).ok();
                    self.buffer.resize(FLOOD_BYTES, 0);
                }
                match stream {
                    Stream::Stdout => self.kept.stdout_bytes += count as u64,
                    Stream::Stderr => self.kept.stderr_bytes += count as u64,
                }
                observer.output(stream, &self.buffer[..count], at);
                true
            }
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => false,
            Err(_) => {
                source.pipe = None;
                false
            }
        }
    }

    /// Takes what is there, and closes.
    pub(crate) fn finish(&mut self, at: Duration, observer: &mut dyn Observer) -> Kept {
        for index in 0..self.sources.len() {
            let mut rounds = 0;
            while rounds < LAST_ROUNDS && self.take(index, at, observer) {
                rounds += 1;
            }
            self.sources[index].pipe = None;
        }
        self.kept
    }
}

/// Reads of what is left in a pipe that somebody unseen keeps filling.
const LAST_ROUNDS: usize = 64;
