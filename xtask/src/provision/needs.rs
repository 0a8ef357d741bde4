//! Which of the things that a fresh machine does not have each check needs.
//!
//! Invariant: a check that starts finds everything it will ask for. Not here: how each thing is had.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::agents::agents;
use super::page::{chromium, node};
use super::postgresql::postgresql;
use super::schemathesis::schemathesis;
use crate::cargo;

/// Has everything at hand that `cargo nextest run` will ask for; the variables that tell the tests where it is.
pub(crate) fn nextest(root: &Path) -> Result<Vec<(&'static str, PathBuf)>> {
    runner(root)?;
    postgresql()?;
    let target = cargo::target_directory(root)?;
    let agents = agents(&target.join("agents"));
    let schemathesis = schemathesis(&target.join("schemathesis"));
    let schemathesis = schemathesis.map(|program| ("CALLBOARD_SCHEMATHESIS", program));
    Ok(agents.into_iter().chain(schemathesis).collect())
}

/// Installs the agent programs while other checks run; `nextest` waits for it.
pub(crate) fn agents_ahead(root: &Path) -> Result<()> {
    let place = cargo::target_directory(root)?.join("agents");
    // Nobody waits for the thread itself: the list of the programs is there once, whoever asks for it first.
    std::thread::spawn(move || agents(&place));
    Ok(())
}

/// Has everything at hand that the fault driver will ask for: a server, and the program itself beside the driver. Built
/// together, the two share the driver's switches.
pub(crate) fn torture(root: &Path) -> Result<()> {
    postgresql()?;
    cargo::run(root, &["build", "--quiet", "--locked", "-p", "callboard", "-p", "callboard-torture"])
}

/// Has everything at hand that the dashboard is built and checked with.
pub(crate) fn page(root: &Path) -> Result<()> {
    node(&root.join("web"))
}

/// The same, and a browser.
pub(crate) fn browser(root: &Path) -> Result<()> {
    page(root)?;
    chromium()
}

fn runner(root: &Path) -> Result<()> {
    if cargo::succeeds(root, &["nextest", "--version"])? {
        return Ok(());
    }
    eprintln!("cargo-nextest is not installed; installing it with `cargo install cargo-nextest --locked`");
    cargo::run(root, &["install", "cargo-nextest", "--locked"])
}
