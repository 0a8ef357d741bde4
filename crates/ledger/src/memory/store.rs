//! A store in memory, shared by everybody who opens it.
//!
//! Invariant: it lives as long as somebody has it, whoever of its writers is gone; one transaction at a time. Two stores with the same
//! name have the same id and the same key, so that a simulation with the same seed writes the same bytes.

use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::log::Log;
use super::medium::{Medium, Sound};
use crate::proof::checkpoint::{PublicKey, Seal};
use crate::writing::wake_up::WakeUp;

/// A store in memory. Clones share it.
#[derive(Clone)]
pub struct Memory(pub(super) Arc<Shared>);

pub(super) struct Shared {
    pub(super) name: String,
    pub(super) id: String,
    /// Signs every commit, unless nobody asked for it.
    pub(super) seal: Option<Seal>,
    pub(super) medium: Arc<dyn Medium>,
    log: Mutex<Log>,
    turn: Arc<Turn>,
    /// Sent after every commit, for whoever waits for the log to grow.
    pub(super) wake_up: WakeUp,
}

/// Who may write: one at a time.
#[derive(Default)]
struct Turn {
    is_taken: Mutex<bool>,
    freed: Condvar,
}

/// The right to write, until it is dropped.
pub struct Held(Arc<Turn>);

impl Memory {
    /// An empty store whose every commit is signed.
    #[must_use]
    pub fn new(name: &str) -> Self {
        let secret = *blake3::hash(format!("key of {name}").as_bytes()).as_bytes();
        let seal = Seal::of_secret(secret);
        let signers = vec![seal.public_key()];
        Self::with(name, Some(seal), signers, Arc::new(Sound))
    }

    /// An empty store on a medium that may fail. Nothing is signed, because a signature costs more than everything else that a
    /// simulated commit does.
    #[must_use]
    pub fn on(name: &str, medium: Arc<dyn Medium>) -> Self {
        Self::with(name, None, Vec::new(), medium)
    }

    /// A copy of the store as it is, unsigned and on another medium, for whoever follows several continuations of one history.
    /// Neither sees what the other writes from here on.
    #[must_use]
    pub fn fork(&self, medium: Arc<dyn Medium>) -> Self {
        let copy = Self::on(&self.0.name, medium);
        copy.0.log().clone_from(&self.0.log());
        copy
    }

    fn with(name: &str, seal: Option<Seal>, signers: Vec<PublicKey>, medium: Arc<dyn Medium>) -> Self {
        let id = blake3::hash(name.as_bytes()).to_hex()[..32].to_owned();
        let log = Mutex::new(Log { signers, ..Log::default() });
        let (turn, wake_up) = (Arc::default(), WakeUp::default());
        Self(Arc::new(Shared { name: name.to_owned(), id, seal, medium, log, turn, wake_up }))
    }

    /// What it is called where others have a path.
    pub(crate) fn path(&self) -> PathBuf {
        PathBuf::from(format!("memory:{}", self.0.name))
    }

    /// Holds the store as another writer would, until the answer is dropped.
    #[must_use]
    pub fn hold(&self) -> Held {
        loop {
            if let Some(held) = self.0.turn(Duration::from_secs(1)) {
                return held;
            }
        }
    }
}

impl Shared {
    pub(super) fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the right to write, and not for ever.
    pub(super) fn turn(&self, busy_wait: Duration) -> Option<Held> {
        let is_taken = self.turn.is_taken.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.turn.freed.wait_timeout_while(is_taken, busy_wait, |is_taken| *is_taken);
        let (mut is_taken, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if *is_taken {
            return None;
        }
        *is_taken = true;
        Some(Held(Arc::clone(&self.turn)))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        *self.0.is_taken.lock().unwrap_or_else(PoisonError::into_inner) = false;
        self.0.freed.notify_one();
    }
}
