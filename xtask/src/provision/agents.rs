//! The agent programs that the tests run for real.
//!
//! Invariant: each lies below the target directory in its pinned release, or it is not there at all and the reason is
//! said; a release that is there costs nothing. Not here: how the tests talk to them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Instant;

/// One program: where it comes from, and which file of its package is started.
struct Agent {
    name: &'static str,
    /// The variable that tells the tests where it is.
    variable: &'static str,
    registry: Registry,
    package: &'static str,
    /// Another release prints another stream and exits with other codes.
    version: &'static str,
    program: fn(&Path) -> Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Registry {
    Npm,
    Pypi,
}

const AGENTS: &[Agent] = &[
    Agent {
        name: "codex",
        variable: "CALLBOARD_CODEX",
        registry: Registry::Npm,
        package: "@openai/codex",
        version: "0.166.0",
        program: |place| {
            let vendor = below(&place.join("node_modules/@openai"), "vendor")?;
            below(&vendor, "bin/codex")
        },
    },
    Agent {
        name: "claude",
        variable: "CALLBOARD_CLAUDE",
        registry: Registry::Npm,
        package: "@anthropic-ai/claude-code",
        version: "2.1.325",
        program: |place| below(&place.join("node_modules/@anthropic-ai"), "claude"),
    },
    Agent {
        name: "opencode",
        variable: "CALLBOARD_OPENCODE",
        registry: Registry::Npm,
        // Its main package brings two copies of the program; the platform's own brings one.
        package: if cfg!(target_arch = "aarch64") {
            "opencode-linux-arm64"
        } else {
            "opencode-linux-x64-baseline"
        },
        version: "1.18.33",
        program: |place| below(&place.join("node_modules"), "bin/opencode"),
    },
    Agent {
        name: "gemini",
        variable: "CALLBOARD_GEMINI",
        registry: Registry::Npm,
        package: "@google/gemini-cli",
        version: "0.61.0",
        program: |place| below(&place.join("node_modules/@google"), "bundle/gemini.js"),
    },
    Agent {
        name: "qwen",
        variable: "CALLBOARD_QWEN",
        registry: Registry::Npm,
        package: "@qwen-code/qwen-code",
        // Later releases need a newer node than the dashboard does.
        version: "0.15.10",
        program: |place| below(&place.join("node_modules/@qwen-code"), "cli.js"),
    },
    Agent {
        name: "aider",
        variable: "CALLBOARD_AIDER",
        registry: Registry::Pypi,
        package: "aider-chat",
        version: "0.86.2",
        program: |place| Some(place.join("bin/aider")).filter(|program| program.is_file()),
    },
    // No agent, but had and reported in the same way: the official client of another language, for the tests of `callboard mcp`.
    Agent {
        name: "mcp-sdk",
        variable: "CALLBOARD_MCP_SDK",
        registry: Registry::Npm,
        package: "@modelcontextprotocol/sdk",
        version: "1.32.2",
        program: |place| Some(place.to_owned()).filter(|place| place.join("node_modules").is_dir()),
    },
];

/// Where each program is, or why it is not there.
type Places = Vec<(&'static Agent, Result<PathBuf, String>)>;

static PLACES: OnceLock<Places> = OnceLock::new();

/// The variables that tell the tests where the programs are. The first caller installs them all at once, and whoever asks
/// meanwhile waits for that.
pub(super) fn agents(directory: &Path) -> Vec<(&'static str, PathBuf)> {
    let found = PLACES.get_or_init(|| install_all(directory));
    found.iter().filter_map(|(agent, place)| Some((agent.variable, place.clone().ok()?))).collect()
}

/// Says which programs the tests ran and which they skipped.
pub(crate) fn report_agents() {
    let Some(found) = PLACES.get() else { return };
    let list = |is_there: bool| {
        let names: Vec<String> = found
            .iter()
            .filter(|(_, place)| place.is_ok() == is_there)
            .map(|(agent, place)| match place {
                Ok(_) => format!("{} {}", agent.name, agent.version),
                Err(reason) => format!("{} {} ({reason})", agent.name, agent.version),
            })
            .collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    };
    eprintln!("agent programs run for real: {}; skipped: {}", list(true), list(false));
}

fn install_all(directory: &Path) -> Places {
    std::thread::scope(|scope| {
        let installing: Vec<_> =
            AGENTS.iter().map(|agent| (agent, scope.spawn(|| install(agent, directory)))).collect();
        let done = installing.into_iter().map(|(agent, installing)| {
            let place = installing.join().unwrap_or_else(|_| Err("the installation panicked".to_owned()));
            if let Err(reason) = &place {
                eprintln!("skipped: the tests of {} {}: {reason}", agent.name, agent.version);
            }
            (agent, place)
        });
        done.collect()
    })
}

/// The program in its pinned release, installed if it is not there.
fn install(agent: &Agent, directory: &Path) -> Result<PathBuf, String> {
    let place = directory.join(format!("{}-{}", agent.name, agent.version));
    // Written last, so that an installation that was cut short is begun again.
    let marker = place.join(".installed");
    if !marker.is_file() {
        let release = format!("{} {}", agent.package, agent.version);
        eprintln!("{release} is not installed; installing it in {}", place.display());
        let begun = Instant::now();
        std::fs::create_dir_all(&place).map_err(|error| format!("{}: {error}", place.display()))?;
        match agent.registry {
            Registry::Npm => from_npm(agent, &place)?,
            Registry::Pypi => from_pypi(agent, &place)?,
        }
        std::fs::write(&marker, &release).map_err(|error| format!("{}: {error}", marker.display()))?;
        eprintln!("{release} was installed in {:.0} s", begun.elapsed().as_secs_f64());
    }
    (agent.program)(&place).ok_or_else(|| format!("its program is not below {}", place.display()))
}

fn from_npm(agent: &Agent, place: &Path) -> Result<(), String> {
    let package = format!("{}@{}", agent.package, agent.version);
    let mut command = Command::new("npm");
    command.args(["install", "--prefix"]).arg(place);
    command.args(["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error", &package]);
    succeed(&mut command)
}

fn from_pypi(agent: &Agent, place: &Path) -> Result<(), String> {
    let package = format!("{}=={}", agent.package, agent.version);
    succeed(Command::new("python3").args(["-m", "venv"]).arg(place))?;
    let mut pip = Command::new(place.join("bin/pip"));
    succeed(pip.args(["install", "--quiet", "--disable-pip-version-check", &package]))
}

/// Runs it to its end; the error is its last word.
fn succeed(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{name} does not start: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
    Err(format!("{name} ended with {}: {last}", output.status))
}

/// The first `name` in a directory of this one; packages beside the main one are named for their platform.
fn below(directory: &Path, name: &str) -> Option<PathBuf> {
    let mut places: Vec<PathBuf> =
        std::fs::read_dir(directory).ok()?.flatten().map(|entry| entry.path().join(name)).collect();
    places.sort();
    places.into_iter().find(|place| place.exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_there_when_its_release_was_installed_to_the_end() {
        let directory = std::env::temp_dir().join(format!("xtask-provision-agents-{}", std::process::id()));
        let agent = &AGENTS[0];
        let place = directory.join(format!("{}-{}", agent.name, agent.version));
        let native = place.join("node_modules/@openai/codex-some-platform/vendor/some-triple/bin");
        std::fs::create_dir_all(&native).expect("the directory is ours");
        std::fs::write(place.join(".installed"), "").expect("the directory is ours");
        let missing = install(agent, &directory).expect_err("there is no program");
        assert!(missing.starts_with("its program is not below "), "{missing}");
        std::fs::write(native.join("codex"), "").expect("the directory is ours");
        assert_eq!(install(agent, &directory), Ok(native.join("codex")));
        std::fs::remove_dir_all(&directory).expect("the directory is ours");
    }

    #[test]
    fn a_registry_that_fails_is_quoted() {
        let failed = succeed(Command::new("sh").args(["-c", "echo no such package >&2; exit 3"]));
        assert_eq!(failed, Err("sh ended with exit status: 3: no such package".to_owned()));
        assert!(succeed(&mut Command::new("/nowhere/npm")).is_err());
    }

    #[test]
    fn no_two_programs_share_a_place_or_a_variable() {
        for (number, agent) in AGENTS.iter().enumerate() {
            for other in &AGENTS[..number] {
                assert_ne!((agent.name, agent.variable), (other.name, other.variable));
            }
        }
    }
}
