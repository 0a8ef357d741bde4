//! Feeds an agent's output to the dialect of its program, line by line, and to the reader of its terminal.
//!
//! Invariant: what comes out does not depend on how the bytes were cut into pieces. A line that is not JSON is text,
//! which agents print among their events; it is counted and never an error. Only a program without a structured stream
//! is read for what it tells its terminal. Not here: passing the bytes on, which happens whether or not they can be read.

use crate::detect::Launch;
use crate::dialect::Dialect;
use crate::lines::{LINE_BYTES_MAX, Line, Lines, Rest};
use crate::program::Program;
use crate::signal::{KnownBy, Signal};
use crate::summary::{ModelBy, Note, Summary};
use crate::tally::Tally;
use crate::terminal::{Terminal, Told, without_controls};

/// What a line of stderr may measure; those that mean something are short.
const ERROR_LINE_BYTES_MAX: usize = 64 * 1024;

/// Reads one run's stdout, and what its program says on stderr alone.
#[derive(Debug)]
pub struct Reader {
    lines: Lines,
    error_lines: Lines,
    dialect: Dialect,
    terminal: Option<Terminal>,
    tally: Tally,
}

impl Reader {
    /// A reader at the beginning of the stream.
    pub const fn new(program: Program) -> Self {
        Self::with(program, None)
    }

    /// A reader for a command, whose command line tells more than whose stream it prints.
    pub fn launched(program: Program, launch: &Launch) -> Self {
        let mut reader = Self::with(program, launch.program);
        reader.tally.summary.launched = launch.program;
        if let Some(model) = &launch.model {
            reader.tally.model_from(model, ModelBy::CommandLine);
        }
        reader
    }

    const fn with(program: Program, named: Option<Program>) -> Self {
        let terminal = if program.reports_end() { None } else { Some(Terminal::new(named)) };
        Self {
            lines: Lines::new(LINE_BYTES_MAX),
            error_lines: Lines::new(ERROR_LINE_BYTES_MAX),
            dialect: Dialect::of(program),
            terminal,
            tally: Tally::new(program),
        }
    }

    /// Names the model that the program's settings ask for, which counts where nothing better is known.
    pub fn settings_name(&mut self, model: &str) {
        self.tally.model_from(model, ModelBy::Settings);
    }

    /// Reads the next piece of stdout; what it says, in order. Neighbouring signs of life are reported once.
    pub fn stdout(&mut self, bytes: &[u8]) -> Vec<Signal> {
        let Self { lines, dialect, tally, terminal, .. } = self;
        if dialect.reads() {
            lines.feed(bytes, |line| match line {
                Line::Whole(line) => read(line, dialect, tally),
                Line::TooLong => tally.summary.broken_lines += 1,
            });
        }
        if let Some(terminal) = terminal {
            terminal.feed(bytes, |told| match told {
                Told::Waits(waiting) => tally.waits(waiting),
                Told::Goes(by) => goes(by, tally),
            });
        }
        tally.take_signals()
    }

    /// Reads the next piece of stderr.
    pub fn stderr(&mut self, bytes: &[u8]) -> Vec<Signal> {
        let Self { error_lines, dialect, tally, .. } = self;
        if dialect.reads_stderr() {
            error_lines.feed(bytes, |line| {
                if let Line::Whole(line) = line {
                    dialect.stderr(&without_controls(&String::from_utf8_lossy(line)), tally);
                }
            });
        }
        tally.take_signals()
    }

    /// A person typed something. What was only interpreted as waiting for that is over.
    pub fn typed(&mut self) -> Vec<Signal> {
        if self
            .tally
            .summary
            .waiting
            .as_ref()
            .is_some_and(|waiting| waiting.known_by == KnownBy::Notification)
        {
            self.tally.waits_no_more();
        }
        self.tally.take_signals()
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
        self.dialect.finish(&mut self.tally);
        self.tally.take_signals()
    }

    /// Everything the stream has said so far.
    pub const fn summary(&self) -> &Summary {
        &self.tally.summary
    }
}

/// The program says that it does something. What it said in another way stands until it takes that back the same way,
/// unless that was only interpreted.
fn goes(by: KnownBy, tally: &mut Tally) {
    let is_over = |waiting: &crate::signal::Waiting| {
        waiting.known_by == by || waiting.known_by == KnownBy::Notification || by == KnownBy::Status
    };
    if tally.summary.waiting.as_ref().is_some_and(is_over) {
        tally.waits_no_more();
    }
}

fn read(line: &[u8], dialect: &mut Dialect, tally: &mut Tally) {
    let line = line.trim_ascii();
    if line.is_empty() {
        return;
    }
    if !line.starts_with(b"{") {
        tally.summary.text_lines += 1;
        dialect.text(&without_controls(&String::from_utf8_lossy(line)), tally);
        return tally.activity();
    }
    if !tally.summary.program.reports_end() {
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
