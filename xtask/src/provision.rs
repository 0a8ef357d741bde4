//! Installs what the tests need and a fresh machine does not have.
//!
//! Invariant: nothing is installed that is there already, on PATH or where the distribution puts it. Not here: what a
//! build needs; cargo fetches that by itself.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::cargo;

/// Has everything at hand that `cargo nextest run` will ask for.
pub(crate) fn run(root: &Path) -> Result<()> {
    nextest(root)?;
    postgresql()
}

fn nextest(root: &Path) -> Result<()> {
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
    fn a_server_is_where_its_initdb_is() {
        let directory = std::env::temp_dir().join(format!("xtask-provision-{}", std::process::id()));
        assert!(!has_server(std::slice::from_ref(&directory)));
        std::fs::create_dir_all(&directory).expect("the directory is ours");
        std::fs::write(directory.join("initdb"), "").expect("the directory is ours");
        assert!(has_server(&["/nowhere".into(), directory.clone()]));
        std::fs::remove_dir_all(&directory).expect("the directory is ours");
    }
}
