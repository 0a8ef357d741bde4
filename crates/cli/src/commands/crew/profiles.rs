//! Agent profiles: how an agent program is run, under a name, in `callboard.toml` of the directory that work begins in, or in the user's settings.
//!
//! Invariant: only plain files are read, when work begins; what an agent writes there later changes nothing. An unknown setting is an error.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use callboard_crew::Profile;
use callboard_engine::read_plain;
use serde::Deserialize;

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
}

/// The profile of this name.
pub(crate) fn load(name: &str) -> Result<Profile, Error> {
    let mut looked_in = Vec::new();
    for path in [Some(PathBuf::from(FILE)), config::file()].into_iter().flatten() {
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

fn in_file(path: &Path, name: &str) -> Result<Option<Profile>, Error> {
    let unfit = |because: String| Error::CommandLine {
        because: format!("{}: {because}", path.display()),
        instead: "mend the file; docs/tasks.md has an example".to_owned(),
    };
    let bytes = match read_plain(path, BYTES_MAX) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unfit(error.to_string())),
    };
    let text = String::from_utf8(bytes).map_err(|error| unfit(error.to_string()))?;
    let file: File = toml::from_str(&text).map_err(|error| unfit(error.to_string()))?;
    let Some(written) =
        file.profiles.into_iter().find(|(known, _)| known == name).map(|(_, written)| written)
    else {
        return Ok(None);
    };
    let idle = written.idle_timeout.as_deref().map(span).transpose();
    Ok(Some(Profile {
        name: Some(name.to_owned()),
        command: written.command,
        resume: written.resume,
        env: written.env,
        role: written.role,
        idle_timeout: idle.map_err(|misread| unfit(format!("idle_timeout: {}", misread.because)))?,
        memory_bytes: written.memory_bytes,
        sandbox: written.sandbox,
    }))
}
