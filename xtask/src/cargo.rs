//! Runs cargo and reads what it knows of the workspace.
//!
//! Invariant: cargo is always the cargo that started this program and runs in the workspace's root, so a
//! check gives the same answer from any directory and toolchain override.
//!
//! Not here: what the answers mean. The types hold only the fields of `cargo metadata` that a rule reads.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

/// The directory that holds the workspace's `Cargo.toml`.
pub(crate) fn workspace_root() -> Result<&'static Path> {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask has no parent directory")
}

/// Runs cargo with its output shown; anything but success is an error that repeats the command.
pub(crate) fn run(root: &Path, arguments: &[&str]) -> Result<()> {
    run_with(root, arguments, &[])
}

/// The same with variables that what it runs can read.
pub(crate) fn run_with(root: &Path, arguments: &[&str], variables: &[(&str, PathBuf)]) -> Result<()> {
    let status = command(root, arguments)
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .status()
        .context("failed to start cargo")?;
    if !status.success() {
        bail!("`cargo {}` ended with {status}", arguments.join(" "));
    }
    Ok(())
}

/// Runs cargo with its output shown and passes its exit code on.
pub(crate) fn exit_code(root: &Path, arguments: &[&str]) -> Result<ExitCode> {
    let status = command(root, arguments).status().context("failed to start cargo")?;
    // Without a code a signal ended it, and 1 is the code of "failed" here.
    let code = status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
    Ok(ExitCode::from(code))
}

/// Whether cargo succeeds with these arguments; what it prints is dropped.
pub(crate) fn succeeds(root: &Path, arguments: &[&str]) -> Result<bool> {
    let output = command(root, arguments).output().context("failed to start cargo")?;
    Ok(output.status.success())
}

/// Where cargo puts what it builds, also if a variable or a setting puts it elsewhere.
pub(crate) fn target_directory(root: &Path) -> Result<PathBuf> {
    #[derive(Deserialize)]
    struct Place {
        target_directory: PathBuf,
    }
    let output = command(root, &["metadata", "--format-version", "1", "--locked", "--no-deps"])
        .output()
        .context("failed to start cargo")?;
    let place: Place =
        serde_json::from_slice(&output.stdout).context("failed to read the answer of `cargo metadata`")?;
    Ok(place.target_directory)
}

/// Every package of the workspace and everything they depend on, on all platforms.
pub(crate) fn metadata(root: &Path) -> Result<Metadata> {
    // `--locked`, because a check must not change the lock file that the next check reads.
    let output = command(root, &["metadata", "--format-version", "1", "--locked"])
        .output()
        .context("failed to start cargo")?;
    if !output.status.success() {
        bail!("`cargo metadata` failed:\n{}", String::from_utf8_lossy(&output.stderr).trim_end());
    }
    serde_json::from_slice(&output.stdout).context("failed to read the answer of `cargo metadata`")
}

#[derive(Debug, Deserialize)]
pub(crate) struct Metadata {
    pub(crate) packages: Vec<Package>,
    pub(crate) workspace_members: Vec<String>,
    pub(crate) workspace_root: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Package {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) version: String,
    /// An SPDX expression, or the older spelling with slashes.
    pub(crate) license: Option<String>,
    /// None for a package that lies in the workspace.
    pub(crate) source: Option<String>,
    pub(crate) manifest_path: String,
    pub(crate) dependencies: Vec<Dependency>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// None for a normal dependency, otherwise `dev` or `build`.
    pub(crate) kind: Option<String>,
    /// Set for a dependency on a neighbouring directory.
    pub(crate) path: Option<String>,
    /// The version requirement; `*` where none was given.
    pub(crate) req: String,
}

impl Metadata {
    /// The packages of this repository.
    pub(crate) fn members(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| self.workspace_members.contains(&package.id))
    }

    /// Where a package's manifest lies below the workspace's root.
    pub(crate) fn manifest<'a>(&self, package: &'a Package) -> &'a str {
        let path = package.manifest_path.as_str();
        path.strip_prefix(&self.workspace_root).map_or(path, |path| path.trim_start_matches('/'))
    }
}

fn command(root: &Path, arguments: &[&str]) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(root).args(arguments);
    command
}
