//! The agent program that the tests run for real.
//!
//! Invariant: it lies below the target directory in the pinned release, or it is not there at all. Not here: how the
//! tests talk to it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::programs;

/// The agent program that the tests run for real, and the release whose stream they know. It is a native program in its
/// package and runs a turn in half a second, which is why it is this one.
const CODEX: &str = "@openai/codex";
const CODEX_VERSION: &str = "0.166.0";

/// The agent program, installed below the target directory and nowhere else; none where there is no npm.
pub(super) fn codex(directory: &Path) -> Result<Option<PathBuf>> {
    if !has_codex(directory) {
        let package = format!("{CODEX}@{CODEX_VERSION}");
        if !programs::succeeds("npm", &["--version"]) {
            eprintln!("no npm is installed; the tests that run a real agent program ({package}) are skipped");
            return Ok(None);
        }
        eprintln!("{package} is not installed; installing it in {}", directory.display());
        std::fs::create_dir_all(directory)
            .with_context(|| format!("failed to create {}", directory.display()))?;
        let status = Command::new("npm")
            .args(["install", "--prefix"])
            .arg(directory)
            .args(["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error", &package])
            .status()
            .context("failed to start npm")?;
        if !status.success() {
            bail!("`npm install {package}` ended with {status}");
        }
    }
    match codex_program(directory) {
        Some(program) => Ok(Some(program)),
        None => bail!("{CODEX} is installed in {}, and its program is not there", directory.display()),
    }
}

/// Whether the pinned release lies there.
fn has_codex(directory: &Path) -> bool {
    let manifest = directory.join("node_modules").join(CODEX).join("package.json");
    let manifest = std::fs::read_to_string(manifest).unwrap_or_default();
    let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap_or_default();
    manifest["version"] == CODEX_VERSION && codex_program(directory).is_some()
}

/// The native program; a package beside the main one carries it, named for the platform.
fn codex_program(directory: &Path) -> Option<PathBuf> {
    let packages = std::fs::read_dir(directory.join("node_modules/@openai")).ok()?;
    packages
        .flatten()
        .filter_map(|package| std::fs::read_dir(package.path().join("vendor")).ok())
        .flat_map(|platforms| platforms.flatten())
        .map(|platform| platform.path().join("bin/codex"))
        .find(|program| program.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_program_is_there_in_the_pinned_release_or_not_at_all() {
        let directory = std::env::temp_dir().join(format!("xtask-provision-codex-{}", std::process::id()));
        assert!(!has_codex(&directory));
        let package = directory.join("node_modules").join(CODEX);
        let native = directory.join("node_modules/@openai/codex-some-platform/vendor/some-triple/bin");
        std::fs::create_dir_all(&package).expect("the directory is ours");
        std::fs::create_dir_all(&native).expect("the directory is ours");
        std::fs::write(native.join("codex"), "").expect("the directory is ours");
        std::fs::write(package.join("package.json"), "{\"version\":\"0.1.0\"}")
            .expect("the directory is ours");
        assert!(!has_codex(&directory));
        let pinned = format!("{{\"version\":\"{CODEX_VERSION}\"}}");
        std::fs::write(package.join("package.json"), pinned).expect("the directory is ours");
        assert!(has_codex(&directory));
        assert_eq!(codex(&directory).expect("it is there"), Some(native.join("codex")));
        std::fs::remove_dir_all(&directory).expect("the directory is ours");
    }
}
