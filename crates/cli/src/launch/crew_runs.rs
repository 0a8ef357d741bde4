//! Runs that a worker starts: each is a shim of its own, as with `run --detach`, and inherits the environment of the worker.
//!
//! Invariant: the words of a request reach the shim as they are, on its input, and no shell reads them. Deliberately absent: supervising.

use std::process::Child;
use std::sync::{Mutex, PoisonError};

use callboard_crew::RunLauncher;
use callboard_kernel::EntityId;
use callboard_wire::RunRequest;

use crate::launch::detaching;
use crate::launch::recipe::Recipe;
use crate::launch::shim_input::{self, Variables};
use crate::store::Store;

/// Starts runs for workers.
pub(crate) struct CrewRuns {
    store: Store,
    shims: Mutex<Vec<Child>>,
}

impl CrewRuns {
    pub(crate) const fn new(store: Store) -> Self {
        Self { store, shims: Mutex::new(Vec::new()) }
    }

    fn environment() -> Variables {
        let is_given =
            |name: &std::ffi::OsStr| name.to_str().is_none_or(|name| !shim_input::is_withheld(name));
        std::env::vars_os().filter(|(name, _)| is_given(name)).collect()
    }
}

impl RunLauncher for CrewRuns {
    fn start(&self, id: EntityId, cause: &str, request: &RunRequest) -> Result<(), String> {
        let recipe = Recipe { cause: Some(cause.to_owned()), ..Recipe::of(request.clone()) };
        let shim = detaching::start_in(&self.store, id, &recipe, Self::environment())?;
        self.shims.lock().unwrap_or_else(PoisonError::into_inner).push(shim);
        Ok(())
    }

    fn tidy(&self) {
        let mut shims = self.shims.lock().unwrap_or_else(PoisonError::into_inner);
        shims.retain_mut(|shim| !matches!(shim.try_wait(), Ok(Some(_)) | Err(_)));
    }
}
