//! Programs of the distribution: which are there, and how to get those that are not.
//!
//! Invariant: nothing but `apt-get` installs programs here, and where it cannot, the error names what to install by hand.
//! Not here: which programs are needed for what.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// Whether the program is there and succeeds.
pub(super) fn succeeds(program: &str, arguments: &[&str]) -> bool {
    Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
}

/// The directories of PATH.
pub(super) fn path() -> Vec<PathBuf> {
    std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default()
}

/// Installs packages of the distribution.
pub(super) fn install(packages: &[&str]) -> Result<()> {
    apt_get(&["update"], packages)?;
    apt_get(&[&["install", "--yes", "--no-install-recommends"], packages].concat(), packages)
}

fn apt_get(arguments: &[&str], packages: &[&str]) -> Result<()> {
    let packages = packages.join(" ");
    let status = Command::new("apt-get")
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .status()
        .with_context(|| {
            format!("failed to start apt-get; install {packages} by hand, then run this again")
        })?;
    if status.success() {
        return Ok(());
    }
    let command = arguments.join(" ");
    bail!("`apt-get {command}` ended with {status}; install {packages} by hand, then run this again")
}
