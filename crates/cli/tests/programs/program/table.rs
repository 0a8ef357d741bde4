//! The programs of the tests and what they share.

use std::ffi::OsString;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{aider, claude, codex, gemini, opencode, qwen};

/// An agent program from its registry.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Program {
    Codex,
    Claude,
    Opencode,
    Gemini,
    Qwen,
    Aider,
}

/// Where a launch takes place.
#[derive(Debug)]
pub(crate) struct Launch<'a> {
    pub(crate) home: &'a Path,
    pub(crate) work: &'a Path,
    /// The model server, without a path.
    pub(crate) url: &'a str,
}

impl Program {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Codex => "codex",
            Self::Claude => "claude",
            Self::Opencode => "opencode",
            Self::Gemini => "gemini",
            Self::Qwen => "qwen",
            Self::Aider => "aider",
        }
    }

    /// The variable that says where it is installed.
    pub(crate) const fn variable(self) -> &'static str {
        match self {
            Self::Codex => "CALLBOARD_CODEX",
            Self::Claude => "CALLBOARD_CLAUDE",
            Self::Opencode => "CALLBOARD_OPENCODE",
            Self::Gemini => "CALLBOARD_GEMINI",
            Self::Qwen => "CALLBOARD_QWEN",
            Self::Aider => "CALLBOARD_AIDER",
        }
    }

    /// Where it is installed; none if it was not installed for the tests. A place that is named and empty ends the test.
    pub(crate) fn place(self) -> Option<PathBuf> {
        let place = PathBuf::from(std::env::var_os(self.variable())?);
        assert!(place.is_file(), "{} names {}, and there is no such file", self.variable(), place.display());
        Some(place)
    }

    /// The command line of one turn without a person.
    pub(crate) fn command_line(self, place: &Path) -> Vec<OsString> {
        let (interpreter, words): (Option<PathBuf>, &[&str]) = match self {
            Self::Codex => (None, codex::WORDS),
            Self::Claude => (None, claude::WORDS),
            Self::Opencode => (None, opencode::WORDS),
            Self::Gemini => (Some(node()), gemini::WORDS),
            Self::Qwen => (Some(node()), qwen::WORDS),
            Self::Aider => (None, aider::WORDS),
        };
        let program = interpreter.into_iter().chain([place.to_owned()]).map(OsString::from);
        program.chain(words.iter().map(OsString::from)).collect()
    }

    /// Writes the settings of the program into its home and its directory, and gives the command its environment.
    pub(crate) fn surround(self, command: &mut Command, launch: &Launch<'_>) -> io::Result<()> {
        shared(command, launch)?;
        match self {
            Self::Codex => codex::surround(command, launch),
            Self::Claude => claude::surround(command, launch),
            Self::Opencode => opencode::surround(command, launch),
            Self::Gemini => gemini::surround(command, launch),
            Self::Qwen => qwen::surround(command, launch),
            Self::Aider => aider::surround(command, launch),
        }
    }
}

fn shared(command: &mut Command, launch: &Launch<'_>) -> io::Result<()> {
    let place = |name: &str| -> io::Result<PathBuf> {
        let place = launch.home.join(name);
        std::fs::create_dir_all(&place)?;
        Ok(place)
    };
    std::fs::create_dir_all(launch.work)?;
    let runtime = place("run")?;
    std::fs::set_permissions(&runtime, std::fs::Permissions::from_mode(0o700))?;
    let path =
        format!("{}:/usr/local/bin:/usr/bin:/bin", node().parent().unwrap_or(Path::new("/")).display());
    command
        .current_dir(launch.work)
        .env_clear()
        .env("PATH", path)
        .env("TERM", "xterm-256color")
        .env("HOME", launch.home)
        .env("TMPDIR", place("tmp")?)
        .env("XDG_RUNTIME_DIR", runtime)
        .env("XDG_CONFIG_HOME", place(".config")?)
        .env("XDG_CACHE_HOME", place(".cache")?)
        .env("XDG_DATA_HOME", place(".local/share")?)
        .env("XDG_STATE_HOME", place(".local/state")?)
        .envs(["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"].map(|name| (name, launch.url)))
        .envs(["http_proxy", "https_proxy", "all_proxy"].map(|name| (name, launch.url)))
        .envs(["NO_PROXY", "no_proxy"].map(|name| (name, "127.0.0.1")));
    Ok(())
}

/// Two of the programs are scripts.
fn node() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|place| place.join("node")).find(|node| node.is_file());
    found.unwrap_or_else(|| PathBuf::from("/usr/bin/node"))
}

/// Writes a settings file; its directory is created.
pub(super) fn write(path: &Path, text: &str) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory)?;
    }
    std::fs::write(path, text)
}
