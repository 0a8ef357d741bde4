//! A second place that remembers how far a store was sealed, so that a cut, a rollback, a swap or a lost WAL is found.
//!
//! Invariant: it lies beside the key and not in the store, and is written by a thread of its own, within a second of the
//! seal and after the answer. What it holds is never newer than what was committed, so a crash leaves it a little behind and
//! never wrong. While it contradicts the store it is left as it is, until somebody accepts the store. Deliberately absent:
//! refusing to write. A run that ends must be recorded, and whoever can cut a log can also remove it.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use callboard_kernel::Moment;
use serde::{Deserialize, Serialize};

use crate::engine::Ask;
use crate::error::ReadError;
use crate::mutant;
use crate::proof::checkpoint::{Checkpoint, PublicKey, Root};
use crate::proof::sealed::Step;
use crate::record::Hash;

/// How far a log is sealed, in one document: what the second place holds, and what can be kept elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealedRoot {
    /// Which store.
    pub store: String,
    /// The newest record that is sealed.
    pub seq: u64,
    /// When it was decided.
    pub at: Moment,
    /// The hash over every record up to it.
    pub root: String,
    /// The record of the seal before it.
    pub after_seq: u64,
    /// The hash over every record up to that one, from which the root goes on.
    pub after_root: String,
    /// Who sealed it.
    pub key: String,
    /// The seal.
    pub signature: String,
}

/// Sealing at most once in this time is written down.
const PAUSE: Duration = Duration::from_millis(500);

impl SealedRoot {
    fn of(store: &str, checkpoint: &Checkpoint, base: (u64, Hash)) -> Self {
        Self {
            store: store.to_owned(),
            seq: checkpoint.seq,
            at: checkpoint.at,
            root: checkpoint.root.to_string(),
            after_seq: base.0,
            after_root: base.1.to_string(),
            key: PublicKey(checkpoint.public_key).to_string(),
            signature: checkpoint.signature_text(),
        }
    }

    /// How far the log is sealed; nothing if it is not.
    pub(crate) fn newest(reader: &dyn Ask) -> Result<Option<Self>, ReadError> {
        let mut ends = reader.newest_checkpoints()?.into_iter();
        let Some(newest) = ends.next() else { return Ok(None) };
        let base = ends.next().map_or((0, Hash::GENESIS), |before| (before.seq, before.root));
        Ok(Some(Self::of(&reader.store_id()?, &newest, base)))
    }

    /// Is it signed by the key it names?
    pub(crate) fn is_signed(&self) -> bool {
        let read = || {
            let (root, key) = (Hash::from_hex(&self.root)?, Hash::from_hex(&self.key)?);
            let signature = Checkpoint::signature_of(&self.signature)?;
            Some(Checkpoint { seq: self.seq, at: self.at, root, public_key: key.0, signature, unsealed: 0 })
        };
        read().is_some_and(|checkpoint| checkpoint.is_signed())
    }

    /// What is not as it was when this was sealed.
    pub(crate) fn contradicts(&self, reader: &dyn Ask) -> Result<Option<String>, ReadError> {
        let (store, seq) = (reader.store_id()?, self.seq);
        if store != self.store {
            let was = &self.store;
            return Ok(Some(format!(
                "it is another store: {was} was sealed up to record {seq}, this is {store}"
            )));
        }
        let head = reader.head()?;
        if head < seq {
            return Ok(Some(format!("the log ends at record {head}, and it was sealed up to record {seq}")));
        }
        let changed = |upto: u64| Some(format!("the records up to {upto} are not those that were sealed"));
        let (Some(after), Some(sealed)) = (Hash::from_hex(&self.after_root), Hash::from_hex(&self.root))
        else {
            return Ok(Some("what was kept of its seal cannot be read".to_owned()));
        };
        if self.after_seq > 0 && reader.root_at(self.after_seq)? != Some(after) {
            return Ok(changed(self.after_seq));
        }
        let mut root = Root::after(after);
        let mut read = self.after_seq;
        reader.each_record(self.after_seq, seq, &mut |line| {
            root.add(line.hash);
            read = line.seq;
            Ok(())
        })?;
        Ok(if read == seq && root.finish() == sealed { None } else { changed(seq) })
    }
}

/// The second place of one open store.
pub(crate) struct Witness {
    path: PathBuf,
    store: String,
    /// What contradicts it, as it was opened.
    doubt: Mutex<Option<String>>,
    told: Arc<Told>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// What the writer told the thread.
#[derive(Default)]
struct Told {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    newest: Option<SealedRoot>,
    is_closing: bool,
}

impl Told {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where the second place of a store lies: beside its key. One key may seal several stores, so a key that does not lie
/// beside the store has a second place for each.
pub(crate) fn path_of(key: &Path, store: Option<&str>) -> PathBuf {
    let mut name = key.as_os_str().to_owned();
    name.push(".sealed");
    if let Some(store) = store {
        let digest = blake3::hash(store.as_bytes()).to_hex();
        name.push(format!("-{}", &digest.as_str()[..16]));
    }
    name.into()
}

impl Witness {
    /// Compares the store with what its second place remembers. It is read before the log, so the log cannot be older.
    pub(crate) fn open(path: PathBuf, reader: &dyn Ask) -> Result<Self, ReadError> {
        let remembered = read(&path).filter(|_| !mutant::removed("remember_the_seal"));
        let doubt = match &remembered {
            // A standby may not have heard yet of what was sealed.
            Some(root) => root.contradicts(reader)?.filter(|_| !reader.is_standby()),
            None => None,
        };
        let (doubt, store) = (Mutex::new(doubt), reader.store_id()?);
        Ok(Self { path, store, doubt, told: Arc::default(), thread: Mutex::default() })
    }

    /// What contradicts the second place, if anything does.
    pub(crate) fn doubt(&self) -> Option<String> {
        self.doubt.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Remembers a seal that was committed; returns at once.
    pub(crate) fn sealed(&self, step: &Step) {
        if self.doubt().is_some() {
            return;
        }
        self.told.lock().newest = Some(SealedRoot::of(&self.store, &step.checkpoint, step.base));
        self.told.changed.notify_one();
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if thread.is_none() {
            let (path, told) = (self.path.clone(), Arc::clone(&self.told));
            let builder = std::thread::Builder::new().name("ledger-witness".to_owned());
            // Without the thread the place is written when the store is closed.
            *thread = builder.spawn(move || remember(&path, &told)).ok();
        }
    }

    /// Takes the store as it is for the true one.
    pub(crate) fn accept(&self, root: Option<&SealedRoot>) -> std::io::Result<()> {
        match root {
            Some(root) => write(&self.path, root)?,
            None => forget(&self.path)?,
        }
        *self.doubt.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Ok(())
    }

    /// Writes what is left to write.
    pub(crate) fn close(&self) {
        self.told.lock().is_closing = true;
        self.told.changed.notify_one();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread
            && thread.join().is_err()
        {
            // Its panic was printed when it happened; the place is a little behind, which is no contradiction.
        }
    }
}

/// Writes the newest seal a little after it was told, so that a store that is open for a moment costs one file and not one for
/// each commit.
fn remember(path: &Path, told: &Told) {
    loop {
        let state = told.lock();
        let waited = told.changed.wait_while(state, |state| state.newest.is_none() && !state.is_closing);
        let state = waited.unwrap_or_else(PoisonError::into_inner);
        let paused = told.changed.wait_timeout_while(state, PAUSE, |state| !state.is_closing);
        let (mut state, _) = paused.unwrap_or_else(PoisonError::into_inner);
        let (newest, is_closing) = (state.newest.take(), state.is_closing);
        drop(state);
        if let Some(newest) = newest
            && read(path).is_none_or(|known| known.store != newest.store || known.seq < newest.seq)
        {
            // A place that cannot be written stays behind; `doctor` looks at the directory.
            write(path, &newest).ok();
        }
        if is_closing {
            return;
        }
    }
}

fn read(path: &Path) -> Option<SealedRoot> {
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

/// Writes a file of its own and gives it the name, so that a reader finds the old one or the new one.
fn write(path: &Path, root: &SealedRoot) -> std::io::Result<()> {
    let mut number = [0; 8];
    getrandom::fill(&mut number).map_err(std::io::Error::other)?;
    let mut own = path.as_os_str().to_owned();
    own.push(format!(".{:016x}", u64::from_ne_bytes(number)));
    let own = PathBuf::from(own);
    let mut text = serde_json::to_string_pretty(root).map_err(std::io::Error::other)?;
    text.push('\n');
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&own)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| std::fs::rename(&own, path));
    if written.is_err() {
        std::fs::remove_file(&own).ok();
    }
    written
}

/// Forgets what was remembered of a store that a backup takes the place of.
pub(crate) fn forget(path: &Path) -> std::io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}
