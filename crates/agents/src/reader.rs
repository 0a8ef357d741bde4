//! Feeds an agent's output to the dialect of its program, line by line.
//!
//! Invariant: what comes out does not depend on how the bytes were cut into pieces. A line that is not JSON is text,
//! which agents print among their events; it is counted and never an error. Not here: stderr, which no vendor gives a
//! structure, and passing the bytes on, which happens whether or not they can be read.

use crate::dialect::Dialect;
use crate::lines::{LINE_BYTES_MAX, Line, Lines, Rest};
use crate::program::Program;
use crate::signal::Signal;
use crate::summary::{Note, Summary};
use crate::tally::Tally;

/// Reads one run's stdout.
#[derive(Debug)]
pub struct Reader {
    lines: Lines,
    dialect: Dialect,
    tally: Tally,
}

impl Reader {
    /// A reader at the beginning of the stream.
    pub const fn new(program: Program) -> Self {
        Self { lines: Lines::new(LINE_BYTES_MAX), dialect: Dialect::of(program), tally: Tally::new(program) }
    }

    /// Reads the next piece of stdout; what it says, in order. Neighbouring signs of life are reported once.
    pub fn stdout(&mut self, bytes: &[u8]) -> Vec<Signal> {
        let Self { lines, dialect, tally } = self;
        if dialect.reads() {
            lines.feed(bytes, |line| match line {
                Line::Whole(line) => read(line, dialect, tally),
                Line::TooLong => tally.summary.broken_lines += 1,
            });
        }
        tally.take_signals()
    }

    /// Ends the stream. A whole event without its newline counts; half of one shows that the stream was cut.
    pub fn finish(&mut self) -> Vec<Signal> {
        match self.lines.finish() {
            Rest::Nothing => {}
            Rest::Partial(line) => {
                let broken = self.tally.summary.broken_lines;
                read(&line, &mut self.dialect, &mut self.tally);
                if self.tally.summary.broken_lines > broken {
                    self.tally.note(Note::CutStream);
                }
            }
            Rest::TooLong => {
                self.tally.summary.broken_lines += 1;
                self.tally.note(Note::CutStream);
            }
        }
        self.tally.take_signals()
    }

    /// Everything the stream has said so far.
    pub const fn summary(&self) -> &Summary {
        &self.tally.summary
    }
}

fn read(line: &[u8], dialect: &mut Dialect, tally: &mut Tally) {
    let line = line.trim_ascii();
    if line.is_empty() {
        return;
    }
    if !line.starts_with(b"{") {
        tally.summary.text_lines += 1;
        return tally.activity();
    }
    // A vendor that cuts a character in half still wrote the rest of the event.
    let line = String::from_utf8_lossy(line);
    if dialect.read(&line, tally) {
        tally.summary.events += 1;
    } else {
        tally.summary.broken_lines += 1;
        tally.activity();
    }
}
