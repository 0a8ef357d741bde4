//! Which agent program it is that is told of the board, as a profile says it.

use std::ffi::OsString;
use std::str::FromStr;

use callboard_agents::{Launch, Program};

/// The agent program that is told how to reach the task board.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum McpClient {
    /// The one that the command line starts, if it is known.
    #[default]
    Recognised,
    /// Claude Code, by `--mcp-config`.
    Claude,
    /// Codex, by `-c mcp_servers.callboard.…`.
    Codex,
    /// Gemini CLI, by a file that `GEMINI_CLI_SYSTEM_DEFAULTS_PATH` names.
    Gemini,
    /// opencode, by `OPENCODE_CONFIG_CONTENT`.
    Opencode,
    /// None.
    Nobody,
}

/// A word that names no agent program here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no agent program that is told of the board; expected {expected}", expected = McpClient::expected())]
pub struct UnknownMcpClient(String);

/// An agent program on a command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) client: McpClient,
    /// Where its own arguments begin.
    pub(crate) arguments_at: usize,
}

impl McpClient {
    /// Every choice.
    pub const ALL: [Self; 6] =
        [Self::Recognised, Self::Claude, Self::Codex, Self::Gemini, Self::Opencode, Self::Nobody];

    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Recognised => "auto",
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Opencode => "opencode",
            Self::Nobody => "none",
        }
    }

    fn expected() -> String {
        let [first @ .., last] = Self::ALL.map(Self::name);
        format!("{} or {last}", first.join(", "))
    }

    /// The agent program that a command line starts. One that was named and is not recognised, because a script starts it, gets its
    /// arguments behind the first word.
    pub(crate) fn find(self, argv: &[String]) -> Option<Found> {
        let words: Vec<OsString> = argv.iter().map(OsString::from).collect();
        let launch = Launch::of(&words);
        let seen = match launch.program {
            Some(Program::Claude) => Some(Self::Claude),
            Some(Program::Codex) => Some(Self::Codex),
            Some(Program::Gemini) => Some(Self::Gemini),
            Some(Program::Opencode) => Some(Self::Opencode),
            Some(
                Program::Goose
                | Program::Cursor
                | Program::Amp
                | Program::Qwen
                | Program::Aider
                | Program::Plain,
            )
            | None => None,
        };
        let found = |client, arguments_at| Some(Found { client, arguments_at });
        match self {
            Self::Nobody => None,
            Self::Recognised => found(seen?, launch.arguments_at),
            named @ (Self::Claude | Self::Codex | Self::Gemini | Self::Opencode) => {
                let is_seen = seen == Some(named);
                found(named, if is_seen { launch.arguments_at } else { argv.len().min(1) })
            }
        }
    }
}

impl FromStr for McpClient {
    type Err = UnknownMcpClient;

    fn from_str(name: &str) -> Result<Self, UnknownMcpClient> {
        let known = Self::ALL.into_iter().find(|client| client.name() == name);
        known.ok_or_else(|| UnknownMcpClient(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn finds(wanted: McpClient, line: &str, expected: Option<(McpClient, usize)>) {
        let argv: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let found = wanted.find(&argv).map(|found| (found.client, found.arguments_at));
        assert_eq!(found, expected, "{line}");
    }

    #[test]
    fn a_program_is_recognised_named_or_left_alone() {
        use McpClient::{Claude, Codex, Gemini, Nobody, Recognised};
        finds(Recognised, "claude -p fix", Some((Claude, 1)));
        finds(Recognised, "env A=b codex exec fix", Some((Codex, 3)));
        finds(Recognised, "node /x/@google/gemini-cli/bundle/gemini.js -p fix", Some((Gemini, 2)));
        finds(Recognised, "sh -c claude", None);
        finds(Recognised, "aider --message fix", None);
        finds(Nobody, "claude -p fix", None);
        finds(Claude, "my-wrapper -p fix", Some((Claude, 1)));
        finds(Claude, "nice -n 5 claude -p fix", Some((Claude, 4)));
    }

    #[test]
    fn a_word_is_read_back_and_an_unknown_one_lists_the_known() {
        for client in McpClient::ALL {
            assert_eq!(client.name().parse(), Ok(client));
        }
        let told = "claud".parse::<McpClient>().unwrap_err().to_string();
        assert!(told.ends_with("expected auto, claude, codex, gemini, opencode or none"), "{told}");
    }
}
