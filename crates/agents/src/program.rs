//! The agent programs whose stream can be read.
//!
//! Invariant: one name for each, the word that `--adapter` takes and that a record holds. Not here: how to recognise one
//! on a command line, which is `detect`.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

/// A program whose structured stream is known, or `Plain` for everything else.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Program {
    /// Claude Code: `claude -p --output-format stream-json`.
    Claude,
    /// Codex: `codex exec --json`.
    Codex,
    /// Gemini CLI: `gemini --output-format stream-json`.
    Gemini,
    /// opencode: `opencode run --format json`.
    Opencode,
    /// goose: `goose run --output-format stream-json`.
    Goose,
    /// Cursor's agent: `agent -p --output-format stream-json`, which speaks like Claude Code.
    Cursor,
    /// Amp: `amp -x --stream-json`, which speaks like Claude Code.
    Amp,
    /// qwen-code: `qwen --output-format stream-json`, which speaks like Claude Code.
    Qwen,
    /// aider: `aider --message`, which has no structured stream; its text tells of a provider that failed.
    Aider,
    /// Any other program; its output is text and its exit code is all that is known of its end.
    Plain,
}

/// What a program's exit code is worth.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ExitCode {
    /// It was tried with failing providers, and every failure had a code of its own.
    Tells,
    /// It exits with 0 after some failures.
    HidesFailures,
    /// Nobody has tried.
    Untried,
}

/// A name that no program here has.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("no adapter is called `{name}`; known are {}, and none for plain text", Program::known())]
pub struct UnknownProgram {
    name: String,
}

impl Program {
    /// Every program, in the order in which they are listed to people.
    pub const ALL: [Self; 10] = [
        Self::Claude,
        Self::Codex,
        Self::Gemini,
        Self::Opencode,
        Self::Goose,
        Self::Cursor,
        Self::Amp,
        Self::Qwen,
        Self::Aider,
        Self::Plain,
    ];

    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Opencode => "opencode",
            Self::Goose => "goose",
            Self::Cursor => "cursor",
            Self::Amp => "amp",
            Self::Qwen => "qwen",
            Self::Aider => "aider",
            Self::Plain => "plain",
        }
    }

    /// Whether it reports its own end, so that a clean exit without that report is not a clean end.
    pub const fn reports_end(self) -> bool {
        !matches!(self, Self::Aider | Self::Plain)
    }

    /// Whether an exit code of 0 can be believed. Three programs are known to exit with 0 after their provider failed.
    pub const fn exit_code(self) -> ExitCode {
        match self {
            Self::Qwen | Self::Aider | Self::Gemini | Self::Opencode => ExitCode::HidesFailures,
            Self::Claude | Self::Codex => ExitCode::Tells,
            Self::Goose | Self::Cursor | Self::Amp | Self::Plain => ExitCode::Untried,
        }
    }

    fn known() -> String {
        let names: Vec<&str> = Self::ALL
            .iter()
            .filter(|program| !matches!(program, Self::Plain))
            .map(|program| program.name())
            .collect();
        names.join(", ")
    }
}

impl fmt::Display for Program {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

impl FromStr for Program {
    type Err = UnknownProgram;

    fn from_str(name: &str) -> Result<Self, UnknownProgram> {
        if name == "none" {
            return Ok(Self::Plain);
        }
        Self::ALL
            .into_iter()
            .find(|program| program.name() == name)
            .ok_or_else(|| UnknownProgram { name: name.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_back() {
        for program in Program::ALL {
            assert_eq!(program.name().parse(), Ok(program));
        }
        assert_eq!("none".parse(), Ok(Program::Plain));
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let error = "emacs".parse::<Program>().expect_err("emacs is no agent").to_string();
        assert_eq!(
            error,
            "no adapter is called `emacs`; known are claude, codex, gemini, opencode, goose, cursor, amp, qwen, aider, \
             and none for plain text"
        );
    }
}
