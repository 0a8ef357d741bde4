//! Installs what the tests need and a fresh machine does not have.
//!
//! Invariant: nothing is installed that is there already, on PATH or where the distribution puts it. Not here: what a
//! build needs; cargo fetches that by itself.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::cargo;

/// The agent program that the tests run for real, and the release whose stream they know. It is a native program in its
/// package and runs a turn in half a second, which is why it is this one.
const CODEX: &str = "@openai/codex";
const CODEX_VERSION: &str = "0.166.0";

/// Has everything at hand that `cargo nextest run` will ask for; the variables that tell the tests where it is.
pub(crate) fn nextest(root: &Path) -> Result<Vec<(&'static str, PathBuf)>> {
    runner(root)?;
    postgresql()?;
    let codex = codex(&cargo::target_directory(root)?.join("agents"))?;
    Ok(codex.map(|program| ("CALLBOARD_CODEX", program)).into_iter().collect())
}

/// Has everything at hand that the fault driver will ask for: a server, and the program itself beside the driver. Built
/// together, the two share the driver's switches.
pub(crate) fn torture(root: &Path) -> Result<()> {
    postgresql()?;
    cargo::run(root, &["build", "--quiet", "--locked", "-p", "callboard", "-p", "callboard-torture"])
}

/// The agent program, installed below the target directory and nowhere else; none where there is no npm.
fn codex(directory: &Path) -> Result<Option<PathBuf>> {
    if !has_codex(directory) {
        let package = format!("{CODEX}@{CODEX_VERSION}");
        if !succeeds("npm", &["--version"]) {
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

fn succeeds(program: &str, arguments: &[&str]) -> bool {
    Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
}

fn runner(root: &Path) -> Result<()> {
    if cargo::succeeds(root, &["nextest", "--version"])? {
        return Ok(());
    }
    eprintln!("cargo-nextest is not installed; installing it with `cargo install cargo-nextest --locked`");
    cargo::run(root, &["install", "cargo-nextest", "--locked"])
}

/// A server for throwaway clusters; whatever cluster the distribution starts by itself is left alone.
fn postgresql() -> Result<()> {
    if has_server(&places()) {
        return Ok(());
    }
    eprintln!("no PostgreSQL server is installed; installing it with `apt-get install postgresql`");
    apt_get(&["update"])?;
    apt_get(&["install", "--yes", "--no-install-recommends", "postgresql"])?;
    if has_server(&places()) {
        Ok(())
    } else {
        bail!("PostgreSQL was installed, and no `initdb` can be found")
    }
}

fn apt_get(arguments: &[&str]) -> Result<()> {
    let status = Command::new("apt-get")
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .status()
        .context("failed to start apt-get; install a PostgreSQL server by hand, then run this again")?;
    if status.success() { Ok(()) } else { bail!("`apt-get {}` ended with {status}", arguments.join(" ")) }
}

fn has_server(places: &[PathBuf]) -> bool {
    places.iter().any(|place| place.join("initdb").is_file())
}

/// PATH, and where Debian and Red Hat put the programs that only a server needs.
fn places() -> Vec<PathBuf> {
    let mut places: Vec<PathBuf> =
        std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default();
    for versions in ["/usr/lib/postgresql", "/usr/pgsql"] {
        let Ok(entries) = std::fs::read_dir(versions) else { continue };
        places.extend(entries.flatten().map(|entry| entry.path().join("bin")));
    }
    places
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

    #[test]
    fn a_server_is_where_its_initdb_is() {
        let directory = std::env::temp_dir().join(format!("xtask-provision-{}", std::process::id()));
        assert!(!has_server(std::slice::from_ref(&directory)));
        std::fs::create_dir_all(&directory).expect("the directory is ours");
        std::fs::write(directory.join("initdb"), "").expect("the directory is ours");
        assert!(has_server(&["/nowhere".into(), directory.clone()]));
        std::fs::remove_dir_all(&directory).expect("the directory is ours");
    }
}
