//! Runs npm in the directory of the dashboard.
//!
//! Invariant: what npm prints is shown, and anything but success is an error that repeats the command. Not here: having
//! npm, which `provision` sees to.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// The version of node, as it prints it.
pub(crate) fn version() -> Result<String> {
    let output = Command::new("node").arg("--version").output().context("failed to start node")?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Runs npm with variables that what it runs can read.
pub(crate) fn run(web: &Path, arguments: &[&str], variables: &[(&str, PathBuf)]) -> Result<()> {
    let status = Command::new("npm")
        .current_dir(web)
        .args(arguments)
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .status()
        .context("failed to start npm")?;
    if !status.success() {
        bail!("`npm {}` in {} ended with {status}", arguments.join(" "), web.display());
    }
    Ok(())
}
