//! The place of one trial: a directory of its own, gone afterwards unless something did not hold there.
//!
//! Invariant: what failed can be looked at. A run with a removed safeguard is meant to fail and keeps nothing.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tempfile::TempDir;

use crate::harness::driver::{Plan, Tally};

/// A directory with room for one store.
pub(crate) struct Scene(TempDir);

impl Scene {
    pub(crate) fn new() -> Result<Self> {
        let directory = tempfile::Builder::new().prefix("callboard-torture-").tempdir();
        Ok(Self(directory.context("failed to make a directory for the store")?))
    }

    /// Where the store is, or will be.
    pub(crate) fn store(&self) -> PathBuf {
        self.0.path().join("ledger.db")
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Keeps the directory, and says where it is.
    pub(crate) fn keep(&mut self, plan: &Plan) -> String {
        if plan.mutant.is_some() {
            return format!("seed {}, store not kept", plan.seed);
        }
        self.0.disable_cleanup(true);
        format!("seed {}, store kept in {}", plan.seed, self.0.path().display())
    }

    /// Copies a closed store and its key into this place.
    pub(crate) fn fill_from(&self, store: &Path) -> Result<()> {
        for suffix in ["", ".key"] {
            let (from, to) = (with_suffix(store, suffix), with_suffix(&self.store(), suffix));
            std::fs::copy(&from, &to).with_context(|| format!("failed to copy {}", from.display()))?;
        }
        Ok(())
    }
}

/// Plays on a scene of its own, which is kept if the play cannot go on; what did not hold is in the tally.
pub(crate) fn play(plan: &Plan, play: impl FnOnce(&Scene, &mut Tally) -> Result<()>) -> Tally {
    let mut tally = Tally::default();
    let outcome = Scene::new().and_then(|mut scene| {
        let outcome = play(&scene, &mut tally);
        outcome.with_context(|| scene.keep(plan))
    });
    if let Err(error) = outcome {
        tally.failures.push(format!("{error:#}"));
    }
    tally
}

/// The file beside the store whose name ends with `suffix`.
pub(crate) fn with_suffix(store: &Path, suffix: &str) -> PathBuf {
    let mut name = store.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
