//! Runs that the server starts: each is a shim of its own, as with `run --detach`.
//!
//! Invariant: the words of a request reach the shim as words, after `--`, and no shell reads them. The server waits for
//! each shim's end some time, so that no dead process is left in the table. Of the server's environment a run inherits what is
//! on a list. Deliberately absent: supervising.

use std::ffi::OsString;
use std::path::Path;
use std::process::Child;
use std::sync::{Mutex, PoisonError};

use callboard_engine::mutant;
use callboard_kernel::EntityId;
use callboard_server::{NotStarted, RunRequest, Runner};

use crate::commands::retry;
use crate::detaching::{self, Surroundings};
use crate::private::Variables;
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

    fn start_in(
        &self,
        id: EntityId,
        cwd: &Path,
        words: &[OsString],
        variables: &Variables,
    ) -> Result<(), NotStarted> {
        let around = Surroundings { cwd, environment: self.environment(), variables };
        self.keep(detaching::start_in(&self.store, id, words, around).map_err(unfit)?);
        Ok(())
    }

    fn keep(&self, shim: Child) {
        self.shims.lock().unwrap_or_else(PoisonError::into_inner).push(shim);
        self.tidy();
    }
}

impl Runner for Background {
    fn start(&self, id: EntityId, cause: &str, request: &RunRequest) -> Result<(), NotStarted> {
        let odd = |(name, value): &(&String, &String)| {
            name.is_empty() || name.contains(['=', '\0']) || value.contains('\0')
        };
        if let Some((name, _)) = request.env.iter().find(odd) {
            return Err(NotStarted::Unfit(format!("invalid environment variable {name:?}")));
        }
        let variables = request.env.iter().map(|(name, value)| (name.into(), value.into())).collect();
        self.start_in(id, &request.cwd, &words(id, cause, request), &variables)
    }

    fn retry(&self, id: EntityId, cause: &str, repeats: EntityId) -> Result<(), NotStarted> {
        let (_, args, cwd) = retry::kept(&self.store, &repeats.to_string())
            .map_err(|error| NotStarted::Unfit(error.to_string()))?;
        let words = args.again(repeats, true).as_shim(id, cause);
        self.start_in(id, &cwd, &words, &Variables::new())
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

fn words(id: EntityId, cause: &str, request: &RunRequest) -> Vec<OsString> {
    let RunRequest { argv, cwd: _, env, title, labels, timeout_s, idle_timeout_s, expect, parent } = request;
    let mut words: Vec<OsString> =
        vec!["run".into(), format!("--shim-of={id}").into(), format!("--cause={cause}").into()];
    let mut option = |name: &str, value: &str| words.push(format!("--{name}={value}").into());
    title.iter().for_each(|title| option("title", title));
    labels.iter().for_each(|(name, value)| option("label", &format!("{name}={value}")));
    let ms = |seconds: f64| format!("{}ms", (seconds * 1000.0).round().max(1.0) as u64);
    timeout_s.iter().for_each(|seconds| option("timeout", &ms(*seconds)));
    idle_timeout_s.iter().for_each(|seconds| option("idle-timeout", &ms(*seconds)));
    expect.iter().for_each(|path| option("expect", path));
    // Everybody can read a command line; the values go another way.
    env.keys().for_each(|name| option("env", name));
    parent.iter().for_each(|parent| option("parent", &parent.to_string()));
    words.push("--".into());
    words.extend(argv.iter().map(OsString::from));
    words
}
