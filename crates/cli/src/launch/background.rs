//! Runs that the server starts: each is a shim of its own, as with `run --detach`.
//!
//! Invariant: the words of a request reach the shim as they are, on its input, and no shell reads them. The server waits for
//! each shim's end some time, so that no dead process is left in the table. Of the server's environment a run inherits what is
//! on a list. Deliberately absent: supervising.

use std::process::Child;
use std::sync::{Mutex, PoisonError};

use callboard_engine::mutant;
use callboard_kernel::EntityId;
use callboard_server::{NotStarted, Runner};
use callboard_wire::RunRequest;

use crate::commands::runs::retry;
use crate::launch::detaching;
use crate::launch::recipe::Recipe;
use crate::launch::shim_input::Variables;
use crate::store::Store;

/// Starts runs for the server.
pub(crate) struct Background {
    store: Store,
    /// Variables of the server that its runs inherit beside the usual ones.
    passed_on: Vec<String>,
    shims: Mutex<Vec<Child>>,
}

impl Background {
    pub(crate) const fn new(store: Store, passed_on: Vec<String>) -> Self {
        Self { store, passed_on, shims: Mutex::new(Vec::new()) }
    }

    /// The environment of the runs that the server starts: what is on the list, of what the server has.
    fn environment(&self) -> Variables {
        let is_passed_on = |name: &str| inherits(name) || self.passed_on.iter().any(|passed| passed == name);
        std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_passed_on)).collect()
    }

    fn start_shim(&self, id: EntityId, recipe: &Recipe) -> Result<(), NotStarted> {
        self.keep(detaching::start_in(&self.store, id, recipe, self.environment()).map_err(unfit)?);
        Ok(())
    }

    fn keep(&self, shim: Child) {
        self.shims.lock().unwrap_or_else(PoisonError::into_inner).push(shim);
        self.tidy();
    }
}

impl Runner for Background {
    fn start(&self, id: EntityId, cause: &str, request: &RunRequest) -> Result<(), NotStarted> {
        self.start_shim(id, &Recipe { cause: Some(cause.to_owned()), ..Recipe::of(request.clone()) })
    }

    fn retry(&self, id: EntityId, cause: &str, repeats: EntityId) -> Result<(), NotStarted> {
        let (_, recipe) = retry::kept(&self.store, &repeats.to_string())
            .map_err(|error| NotStarted::Unfit(error.to_string()))?;
        let (retry_of, cause) = (Some(repeats.to_string()), Some(cause.to_owned()));
        self.start_shim(id, &Recipe { retry_of, cause, ..recipe })
    }

    fn tidy(&self) {
        let mut shims = self.shims.lock().unwrap_or_else(PoisonError::into_inner);
        shims.retain_mut(|shim| !matches!(shim.try_wait(), Ok(Some(_)) | Err(_)));
    }
}

/// What runs inherit of the server's environment: who the user is, where their files lie, how they read text. Nothing that can
/// carry a key, and nothing that changes which code a program loads.
const INHERITED: [&str; 22] = [
    "CALLBOARD_NOTIFY",
    "COLORTERM",
    "HOME",
    "LANG",
    "LANGUAGE",
    "LOGNAME",
    "NO_COLOR",
    "PATH",
    "SHELL",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_DIRS",
    "XDG_CONFIG_HOME",
    "XDG_DATA_DIRS",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "XDG_STATE_HOME",
];

/// Does every run that the server starts inherit this variable?
fn inherits(name: &str) -> bool {
    INHERITED.contains(&name) || name.starts_with("LC_") || mutant::VARIABLES.contains(&name)
}

/// What the shim said when it did not start; the first line of it is the cause.
fn unfit(told: String) -> NotStarted {
    match told.is_empty() {
        true => NotStarted::Failed("it ended without a word".to_owned()),
        false => NotStarted::Unfit(told),
    }
}
