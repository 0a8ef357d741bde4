//! Agent profiles: how an agent program is run, under a name, in `callboard.toml` of the directory that work begins in, or in the user's settings.
//!
//! Invariant: only plain files are read, when work begins; what an agent writes there later changes nothing. An unknown setting is an error.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use callboard_crew::{McpClient, Profile, RequestCommands};
use callboard_engine::read_plain;
use serde::{Deserialize, Deserializer};

use crate::error::Error;
use crate::input::moment::span;
use crate::store::config;

/// The file beside which work begins.
const FILE: &str = "callboard.toml";
const BYTES_MAX: u64 = 1024 * 1024;

/// The file of profiles; the user's settings have other parts beside them.
#[derive(Deserialize)]
struct File {
    #[serde(default)]
    profiles: BTreeMap<String, Written>,
    pull_requests: Option<WrittenRequests>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRequests {
    open: Vec<String>,
    report: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    command: Vec<String>,
    #[serde(default)]
    resume: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    role: Option<String>,
    idle_timeout: Option<String>,
    memory_bytes: Option<u64>,
    sandbox: Option<String>,
    #[serde(default, deserialize_with = "client")]
    mcp: McpClient,
}

/// An agent program by its name; the error of the file says where it stands.
fn client<'de, D: Deserializer<'de>>(from: D) -> Result<McpClient, D::Error> {
    String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
}

/// The profile of this name.
pub(crate) fn load(name: &str) -> Result<Profile, Error> {
    let mut looked_in = Vec::new();
    for path in files() {
        if let Some(profile) = in_file(&path, name)? {
            return Ok(profile);
        }
        looked_in.push(path.display().to_string());
    }
    Err(Error::CommandLine {
        because: format!("no profile is called {name:?} in {}", looked_in.join(" or ")),
        instead: format!("write one: [profiles.{name}] command = [\"claude\", \"-p\", \"{{prompt}}\"]"),
    })
}

/// The commands that open pull requests and tell how they stand.
pub(crate) fn requests() -> Result<Option<RequestCommands>, Error> {
    for path in files() {
        let Some(WrittenRequests { open, report }) = read(&path)?.and_then(|file| file.pull_requests) else {
            continue;
        };
        if open.is_empty() || report.is_empty() {
            return Err(unfit(
                &path,
                "pull_requests: open and report are commands, and one of them is empty",
            ));
        }
        return Ok(Some(RequestCommands { open, report }));
    }
    Ok(None)
}

fn files() -> impl Iterator<Item = PathBuf> {
    [Some(PathBuf::from(FILE)), config::file()].into_iter().flatten()
}

fn unfit(path: &Path, because: impl std::fmt::Display) -> Error {
    Error::CommandLine {
        because: format!("{}: {because}", path.display()),
        instead: "mend the file; docs/tasks.md has an example".to_owned(),
    }
}

fn read(path: &Path) -> Result<Option<File>, Error> {
    let bytes = match read_plain(path, BYTES_MAX) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unfit(path, error)),
    };
    let text = String::from_utf8(bytes).map_err(|error| unfit(path, error))?;
    Ok(Some(toml::from_str(&text).map_err(|error| unfit(path, error))?))
}

fn in_file(path: &Path, name: &str) -> Result<Option<Profile>, Error> {
    let Some(written) = read(path)?.and_then(|mut file| file.profiles.remove(name)) else { return Ok(None) };
    let idle = written.idle_timeout.as_deref().map(span).transpose();
    Ok(Some(Profile {
        name: Some(name.to_owned()),
        command: written.command,
        resume: written.resume,
        env: written.env,
        role: written.role,
        idle_timeout: idle.map_err(|misread| unfit(path, format!("idle_timeout: {}", misread.because)))?,
        memory_bytes: written.memory_bytes,
        sandbox: written.sandbox,
        mcp: written.mcp,
    }))
}
