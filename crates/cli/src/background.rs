//! Runs that the server starts: each is a shim of its own, as with `run --detach`.
//!
//! Invariant: the words of a request reach the shim as words, after `--`, and no shell reads them. The server waits for
//! each shim's end some time, so that no dead process is left in the table. Deliberately absent: supervising.

use std::ffi::OsString;
use std::process::Child;
use std::sync::{Mutex, PoisonError};

use callboard_kernel::EntityId;
use callboard_server::{NotStarted, RunRequest, Runner};

use crate::commands::retry;
use crate::detaching;
use crate::store::Store;

/// Starts runs for the server.
pub(crate) struct Background {
    store: Store,
    shims: Mutex<Vec<Child>>,
}

impl Background {
    pub(crate) const fn new(store: Store) -> Self {
        Self { store, shims: Mutex::new(Vec::new()) }
    }

    fn keep(&self, shim: Child) {
        self.shims.lock().unwrap_or_else(PoisonError::into_inner).push(shim);
        self.tidy();
    }
}

impl Runner for Background {
    fn start(&self, id: EntityId, cause: &str, request: &RunRequest) -> Result<(), NotStarted> {
        let shim = detaching::start_in(&self.store, id, &request.cwd, &words(id, cause, request));
        self.keep(shim.map_err(unfit)?);
        Ok(())
    }

    fn retry(&self, id: EntityId, cause: &str, repeats: EntityId) -> Result<(), NotStarted> {
        let (_, args, cwd) = retry::kept(&self.store, &repeats.to_string())
            .map_err(|error| NotStarted::Unfit(error.to_string()))?;
        let words = args.again(repeats, true).as_shim(id, cause);
        self.keep(detaching::start_in(&self.store, id, &cwd, &words).map_err(unfit)?);
        Ok(())
    }

    fn tidy(&self) {
        let mut shims = self.shims.lock().unwrap_or_else(PoisonError::into_inner);
        shims.retain_mut(|shim| !matches!(shim.try_wait(), Ok(Some(_)) | Err(_)));
    }
}

/// What the shim said when it did not start; the first line of it is the cause.
fn unfit(told: String) -> NotStarted {
    match told.is_empty() {
        true => NotStarted::Failed("it ended without a word".to_owned()),
        false => NotStarted::Unfit(told),
    }
}

fn words(id: EntityId, cause: &str, request: &RunRequest) -> Vec<OsString> {
    let RunRequest { argv, cwd: _, title, labels, timeout_s, idle_timeout_s, expect, parent } = request;
    let mut words: Vec<OsString> =
        vec!["run".into(), format!("--shim-of={id}").into(), format!("--cause={cause}").into()];
    let mut option = |name: &str, value: &str| words.push(format!("--{name}={value}").into());
    title.iter().for_each(|title| option("title", title));
    labels.iter().for_each(|(name, value)| option("label", &format!("{name}={value}")));
    let ms = |seconds: f64| format!("{}ms", (seconds * 1000.0).round().max(1.0) as u64);
    timeout_s.iter().for_each(|seconds| option("timeout", &ms(*seconds)));
    idle_timeout_s.iter().for_each(|seconds| option("idle-timeout", &ms(*seconds)));
    expect.iter().for_each(|path| option("expect", path));
    parent.iter().for_each(|parent| option("parent", &parent.to_string()));
    words.push("--".into());
    words.extend(argv.iter().map(OsString::from));
    words
}
