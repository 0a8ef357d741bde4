//! Runs that a worker starts: each is a shim of its own, as with `run --detach`, and inherits the environment of the worker.
//!
//! Invariant: the words of a request reach the shim as they are, on its input, and no shell reads them. The token of a run is recorded
//! before it opens anything. Deliberately absent: supervising.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Child;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use callboard_crew::{McpServer, RunLauncher};
use callboard_kernel::EntityId;
use callboard_server::{Keyring, NewToken, Scope, serving_in};
use callboard_wire::RunRequest;

use crate::clock;
use crate::error::Error;
use crate::launch::detaching;
use crate::launch::recipe::Recipe;
use crate::launch::shim_input::{self, Variables};
use crate::store::Store;
use crate::store::grants::{self, Act, Grant};

/// How long the token of a run opens anything at the most; it ends with the run.
const TOKEN_LIFE: Duration = Duration::from_secs(7 * 24 * 3600);

/// Starts runs for workers.
pub(crate) struct CrewRuns {
    store: Store,
    shims: Mutex<Vec<Child>>,
    /// Tokens of runs that are not there yet.
    tokens: Mutex<BTreeMap<EntityId, NewToken>>,
}

impl CrewRuns {
    pub(crate) const fn new(store: Store) -> Self {
        Self { store, shims: Mutex::new(Vec::new()), tokens: Mutex::new(BTreeMap::new()) }
    }

    fn environment() -> Variables {
        let is_given =
            |name: &std::ffi::OsStr| name.to_str().is_none_or(|name| !shim_input::is_withheld(name));
        std::env::vars_os().filter(|(name, _)| is_given(name)).collect()
    }

    /// The command line that serves the board to an agent outside of a sandbox; nothing if the store needs a password, which no agent is
    /// given.
    fn program(&self) -> Result<Option<Vec<String>>, Error> {
        let store = match self.store.file()? {
            Some(path) => path.into_os_string(),
            None => match (self.store.named(), self.store.for_agents()) {
                (Some(named), Some(public)) if named == public => public,
                _ => return Ok(None),
            },
        };
        let this = std::env::current_exe().map_err(Error::Shim)?;
        let mut words = vec![this.into_os_string(), "--store".into(), store];
        if let Some(key) = self.store.given_key() {
            words.extend(["--key-file".into(), key.into_os_string()]);
        }
        words.push("mcp".into());
        // Settings are text.
        Ok(words.into_iter().map(|word| word.into_string().ok()).collect())
    }

    /// The server of this store, with a token of its own for a run that is not there yet.
    fn address(&self, id: EntityId) -> Result<Option<McpServer>, Error> {
        let state_dir = self.store.state_dir()?;
        let Some(address) = serving_in(&state_dir) else { return Ok(None) };
        let now = clock::now();
        let new = keyring(&state_dir)?.make(Scope::Agent(id), now, Some(now.plus(TOKEN_LIFE)));
        let new = new.map_err(keys)?;
        let (url, token) = (format!("http://{address}/mcp"), new.text().to_owned());
        locked(&self.tokens).insert(id, new);
        Ok(Some(McpServer::Address { url, token }))
    }

    /// Records the token of a run, and lets it open what it is for.
    fn grant(&self, id: EntityId, new: NewToken) -> Result<(), Error> {
        let (ring, ledger) = (keyring(&self.store.state_dir()?)?, self.store.open()?);
        let now = clock::now();
        let token = new.id.clone();
        let grant = Grant { id: &token, scope: Scope::Agent(id), expires: Some(now.plus(TOKEN_LIFE)) };
        grants::record(&ledger, Act::Created, grant, now)?;
        ring.keep(new).map(drop).map_err(|error| {
            drop(grants::record(&ledger, Act::NotKept, grant, clock::now()));
            keys(error)
        })
    }
}

fn locked<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

fn keyring(state_dir: &Path) -> Result<Keyring, Error> {
    Keyring::open(state_dir).map_err(keys)
}

fn keys(error: callboard_server::KeyError) -> Error {
    Error::Serve(callboard_server::ServeError::Keys(error))
}

impl RunLauncher for CrewRuns {
    fn start(&self, id: EntityId, cause: &str, request: &RunRequest) -> Result<(), String> {
        let token = locked(&self.tokens).remove(&id);
        let recipe = Recipe { cause: Some(cause.to_owned()), ..Recipe::of(request.clone()) };
        let shim = detaching::start_in(&self.store, id, &recipe, Self::environment())?;
        locked(&self.shims).push(shim);
        if let Some(Err(error)) = token.map(|token| self.grant(id, token)) {
            // The agent works without the board; its run is there.
            error.tell();
        }
        Ok(())
    }

    fn mcp_server(&self, id: EntityId, is_sandboxed: bool) -> Result<McpServer, String> {
        if !is_sandboxed && let Some(words) = self.program().map_err(|error| error.to_string())? {
            return Ok(McpServer::Program(words));
        }
        let served = self.address(id).map_err(|error| error.to_string())?;
        served.ok_or_else(|| {
            let because =
                if is_sandboxed { "the sandbox hides the store" } else { "the store needs a password" };
            format!("{because}, and no server runs on it; start one: callboard serve")
        })
    }

    fn tidy(&self) {
        locked(&self.shims).retain_mut(|shim| !matches!(shim.try_wait(), Ok(Some(_)) | Err(_)));
    }
}
