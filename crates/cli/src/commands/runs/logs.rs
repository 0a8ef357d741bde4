//! `callboard logs`: what a run wrote and what it is writing, byte for byte where no terminal reads it.
//!
//! Invariant: stdout of the run goes to stdout and stderr to stderr, unchanged, unless times are asked for; what goes to a
//! terminal is filtered, and that something was left out is said. What had to make room or was lost is said on standard
//! error. Following ends when the run has. Deliberately absent: input.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::time::Duration;

use callboard_engine::{Host, Viewpoint, evaluate};
use callboard_kernel::{EntityId, Moment, Value, fact};
use callboard_ledger::Ledger;
use callboard_supervisor::Stream;
use callboard_supervisor::output::{Log, Piece, Pieces, What};
use clap::Args;

use crate::error::{Error, Exit};

use crate::clock;
use crate::input::ids;
use crate::launch::waiting;
use crate::show::closing;
use crate::show::record_text::count;
use crate::show::screen::Screen;
use crate::show::terminal_filter::{Keep, TerminalFilter};
use crate::store::Store;

/// Print what a run wrote.
///
/// At a terminal escape sequences and characters that steer it are left out; a file or a pipe gets every byte.
#[derive(Args, Debug)]
pub(crate) struct LogsArgs {
    /// Its id, or as much of it as tells it apart.
    #[arg(value_name = "ID")]
    id: String,
    /// Go on until the run has ended.
    #[arg(long, short)]
    follow: bool,
    /// Only its standard output.
    #[arg(long, conflicts_with = "stderr")]
    stdout: bool,
    /// Only its standard error.
    #[arg(long)]
    stderr: bool,
    /// Only about the last this many bytes, from the beginning of a line.
    #[arg(long, value_name = "BYTES")]
    tail: Option<u64>,
    /// The time before each line.
    #[arg(long, short)]
    times: bool,
    /// Every byte as it is, to a terminal too.
    #[arg(long)]
    raw: bool,
}

/// Follow a run until it ends, and end as it did.
///
/// Ctrl-C leaves the run alone. At a terminal only what draws passes: colours, cursor movement, the alternate screen. What
/// would make the terminal answer, copy, rename itself or report keys is left out.
#[derive(Args, Debug)]
pub(crate) struct AttachArgs {
    /// Its id, or as much of it as tells it apart.
    #[arg(value_name = "ID")]
    id: String,
    /// Every byte as it is, to a terminal too.
    #[arg(long)]
    raw: bool,
}

/// How long between two looks at what came.
const LOOK: Duration = Duration::from_millis(50);
/// What is shown first of a run that somebody attaches to.
const ATTACH_TAIL: u64 = 8 * 1024;

impl AttachArgs {
    /// Follows it.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        let (id, tail, raw) = (self.id.clone(), Some(ATTACH_TAIL), self.raw);
        let logs = LogsArgs { id, follow: true, stdout: false, stderr: false, tail, times: false, raw };
        logs.print(screen, store, Keep::Screen)?;
        let ledger = store.open_existing()?;
        let id = ids::find(&ledger, &self.id)?;
        let stored =
            waiting::until_ended(&ledger, id, None)?.ok_or_else(|| Error::NoEntity(id.to_string()))?;
        let host = Host::this();
        let view = evaluate(&stored, &Viewpoint::present(clock::now(), &host));
        let short = ids::Short::among([id].into_iter()).of(id);
        let line = closing::line(&view, &short, closing::width_of_stderr());
        // Nobody to tell is no failure of the run.
        drop(writeln!(anstream::stderr(), "{line}"));
        Ok(closing::exit(&view))
    }
}

impl LogsArgs {
    /// Prints it.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        self.print(screen, store, Keep::Text)
    }

    fn print(&self, screen: &Screen, store: &Store, keep: Keep) -> Result<Exit, Error> {
        let ledger = store.open_to_read()?;
        let id = ids::find(&ledger, &self.id)?;
        let dir = directory(&ledger, id)?;
        let log = Log::open(dir).map_err(|_| Error::NoOutput(id))?;
        let from = match self.tail {
            None => 0,
            Some(bytes) => log.tail(bytes).map_err(Error::Read)?,
        };
        let mut pieces = log.read(from);
        let mut lines = Lines { times: self.times, is_fresh: [true; 2], skip_to_line: from > 0 };
        let filter = |is_terminal: bool| (is_terminal && !self.raw).then(|| TerminalFilter::new(keep));
        let mut filters = [filter(screen.is_terminal()), filter(std::io::stderr().is_terminal())];
        loop {
            // Asked first, so that what came before the end is printed before it is believed.
            let is_over = !self.follow || waiting::until_ended(&ledger, id, Some(Duration::ZERO))?.is_some();
            self.drain(screen, &mut pieces, &mut lines, &mut filters)?;
            if is_over {
                finish(screen, &mut filters, keep)?;
                return Ok(Exit::DONE);
            }
            std::thread::sleep(LOOK);
        }
    }

    fn drain(
        &self,
        screen: &Screen,
        pieces: &mut Pieces,
        lines: &mut Lines,
        filters: &mut [Option<TerminalFilter>; 2],
    ) -> Result<(), Error> {
        for piece in pieces.by_ref() {
            let Piece { at_us, what, .. } = piece.map_err(Error::Read)?;
            match what {
                What::Bytes(stream, bytes) if self.wants(stream) => {
                    let mut bytes = lines.set(stream, at_us, bytes);
                    if let Some(filter) = &mut filters[stream as usize] {
                        bytes = filter.feed(&bytes);
                    }
                    write(screen, stream, &bytes)?;
                }
                What::Bytes(..) => {}
                What::Dropped(bytes) => say(&format!("{bytes} bytes had to make room for later ones")),
                What::Lost(_, bytes) => say(&format!("{bytes} bytes could not be kept: the disk was full")),
            }
        }
        screen.data().flush().map_err(Error::Write)
    }

    const fn wants(&self, stream: Stream) -> bool {
        match stream {
            Stream::Stdout => !self.stderr,
            Stream::Stderr => !self.stdout,
        }
    }
}

fn write(screen: &Screen, stream: Stream, bytes: &[u8]) -> Result<(), Error> {
    let written = match stream {
        Stream::Stdout => screen.data().write_all(bytes),
        Stream::Stderr => std::io::stderr().lock().write_all(bytes),
    };
    written.map_err(Error::Write)
}

/// Puts the terminals back as they were, and says that something was left out where a reader of text would not see it.
fn finish(screen: &Screen, filters: &mut [Option<TerminalFilter>; 2], keep: Keep) -> Result<(), Error> {
    let mut left_out = 0;
    for stream in [Stream::Stdout, Stream::Stderr] {
        if let Some(filter) = &mut filters[stream as usize] {
            write(screen, stream, &filter.end())?;
            left_out += filter.left_out();
        }
    }
    screen.data().flush().map_err(Error::Write)?;
    if left_out > 0 && keep == Keep::Text {
        let sequences = count(left_out, "terminal sequence");
        say(&format!("{sequences} left out; every byte: --raw, or a pipe"));
    }
    Ok(())
}

/// Says something about the output that is not part of it.
fn say(what: &str) {
    // Nobody to tell is no failure.
    drop(writeln!(anstream::stderr(), "callboard: {what}"));
}

fn directory(ledger: &Ledger, id: EntityId) -> Result<PathBuf, Error> {
    let stored = ledger.entity(id).map_err(Error::Ask)?.ok_or_else(|| Error::NoEntity(id.to_string()))?;
    match stored.entity.facts.value(fact::DIR) {
        Some(Value::Text(dir)) => Ok(PathBuf::from(dir)),
        _ => Err(Error::NoOutput(id)),
    }
}

/// Puts times before lines, and leaves out the half line that a tail begins with.
struct Lines {
    times: bool,
    /// Does a new line begin next, in each stream?
    is_fresh: [bool; 2],
    skip_to_line: bool,
}

impl Lines {
    fn set(&mut self, stream: Stream, at_us: u64, mut bytes: Vec<u8>) -> Vec<u8> {
        if std::mem::take(&mut self.skip_to_line)
            && let Some(end) = bytes.iter().position(|byte| *byte == b'\n')
        {
            bytes.drain(..=end);
        }
        if !self.times {
            return bytes;
        }
        let at = Moment::from_micros(i64::try_from(at_us).unwrap_or(i64::MAX));
        let mut set = Vec::with_capacity(bytes.len() + 32);
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.is_fresh[stream as usize] {
                set.extend_from_slice(format!("{at}  ").as_bytes());
            }
            self.is_fresh[stream as usize] = line.ends_with(b"\n");
            set.extend_from_slice(line);
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_stand_before_lines_and_not_within_them() {
        let mut lines = Lines { times: true, is_fresh: [true; 2], skip_to_line: false };
        let mut text = lines.set(Stream::Stdout, 0, b"a\nb".to_vec());
        text.extend(lines.set(Stream::Stdout, 1_000_000, b"c\nd\n".to_vec()));
        let text = String::from_utf8(text).unwrap();
        let at = "1970-01-01T00:00:00.000000Z";
        assert_eq!(text, format!("{at}  a\n{at}  bc\n1970-01-01T00:00:01.000000Z  d\n"));
    }
}
