//! Which dialect each program speaks.
//!
//! Invariant: every program is listed, so that a new one does not fall silently to plain text.

use crate::dialect::aider::Aider;
use crate::dialect::claude::Claude;
use crate::dialect::codex::Codex;
use crate::dialect::gemini::Gemini;
use crate::dialect::goose::Goose;
use crate::dialect::opencode;
use crate::program::Program;
use crate::tally::Tally;

/// A vendor's way of writing events, with what it must remember from one to the next.
#[derive(Debug)]
pub(crate) enum Dialect {
    Claude(Claude),
    Codex(Codex),
    Gemini(Gemini),
    Opencode,
    Goose(Goose),
    Aider(Aider),
    Plain,
}

impl Dialect {
    pub(crate) const fn of(program: Program) -> Self {
        match program {
            Program::Claude | Program::Cursor | Program::Amp | Program::Qwen => Self::Claude(Claude::new()),
            Program::Codex => Self::Codex(Codex::new()),
            Program::Gemini => Self::Gemini(Gemini::new()),
            Program::Opencode => Self::Opencode,
            Program::Goose => Self::Goose(Goose::new()),
            Program::Aider => Self::Aider(Aider::new()),
            Program::Plain => Self::Plain,
        }
    }

    /// Whether there is anything to read.
    pub(crate) const fn reads(&self) -> bool {
        !matches!(self, Self::Plain)
    }

    /// Whether stderr says something that stdout does not.
    pub(crate) const fn reads_stderr(&self) -> bool {
        matches!(self, Self::Gemini(_))
    }

    /// Reads one line that begins like an object; false if it is none.
    pub(crate) fn read(&mut self, line: &str, tally: &mut Tally) -> bool {
        match self {
            Self::Claude(claude) => claude.read(line, tally),
            Self::Codex(codex) => codex.read(line, tally),
            Self::Gemini(gemini) => gemini.read(line, tally),
            Self::Opencode => opencode::read(line, tally),
            Self::Goose(goose) => goose.read(line, tally),
            Self::Aider(_) | Self::Plain => false,
        }
    }

    /// Reads one line of text, for a program whose text means something.
    pub(crate) fn text(&mut self, line: &str, tally: &mut Tally) {
        match self {
            Self::Aider(aider) => aider.text(line, tally),
            Self::Claude(_)
            | Self::Codex(_)
            | Self::Gemini(_)
            | Self::Opencode
            | Self::Goose(_)
            | Self::Plain => {}
        }
    }

    /// Reads one line of stderr, for a program that says something there and nowhere else.
    pub(crate) fn stderr(&mut self, line: &str, tally: &mut Tally) {
        match self {
            Self::Gemini(gemini) => gemini.stderr(line, tally),
            Self::Claude(_)
            | Self::Codex(_)
            | Self::Opencode
            | Self::Goose(_)
            | Self::Aider(_)
            | Self::Plain => {}
        }
    }

    /// The output has ended.
    pub(crate) fn finish(&mut self, tally: &mut Tally) {
        match self {
            Self::Aider(aider) => aider.finish(tally),
            Self::Claude(_)
            | Self::Codex(_)
            | Self::Gemini(_)
            | Self::Opencode
            | Self::Goose(_)
            | Self::Plain => {}
        }
    }
}
