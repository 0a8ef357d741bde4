//! The disk: files by name, what was done to them in order, and a gate that can hold everybody up.
//!
//! Invariant: every call is one step under one lock, and every change is in the log before anybody can see it; a
//! failed call changes what its fault says and nothing else. Deliberately absent: which of the changes survive a power
//! cut; the platter decides that from the log.

use std::collections::{BTreeMap, HashMap};
use std::os::raw::{c_int, c_void};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::ffi;

use super::fault::{Call, Effect, Fault, Trouble};
use super::lock::FileLocks;
use super::platter::{Image, Platter};
use super::shm::Shm;

/// One change, in the order they were made.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    Create {
        file: u64,
        name: String,
    },
    Delete {
        name: String,
        dir_synced: bool,
    },
    Write {
        file: u64,
        at: u64,
        bytes: Box<[u8]>,
    },
    Truncate {
        file: u64,
        to: u64,
    },
    Sync {
        file: u64,
    },
    /// A sync that failed, after which nothing of what it should have written is tried again.
    SyncLost {
        file: u64,
    },
}

/// A file system in memory.
pub(crate) struct Disk {
    state: Mutex<State>,
    moved: Condvar,
    base: Image,
}

#[derive(Default)]
struct State {
    names: BTreeMap<String, u64>,
    files: HashMap<u64, File>,
    log: Vec<Op>,
    trouble: Trouble,
    gate: Gate,
    next: u64,
}

#[derive(Default)]
struct File {
    bytes: Vec<u8>,
    locks: FileLocks,
    shm: Option<Shm>,
    handles: u64,
}

#[derive(Default)]
struct Gate {
    closed: bool,
    waiting: u64,
}

/// An open file.
pub(super) struct Handle {
    pub(super) disk: Arc<Disk>,
    file: u64,
    who: u64,
    name_to_delete: Option<String>,
}

/// A writer that has not come this far by then never will.
const PATIENCE: Duration = Duration::from_secs(20);

impl Disk {
    /// A disk with these files on it, all of them synced.
    pub(crate) fn with(base: Image) -> Self {
        let mut state = State::default();
        for (name, bytes) in &base {
            state.names.insert(name.clone(), state.next);
            state.files.insert(state.next, File { bytes: bytes.clone(), ..File::default() });
            state.next += 1;
        }
        Self { state: Mutex::new(state), moved: Condvar::new(), base }
    }

    /// From here on this fault strikes; calls are counted from the beginning.
    pub(crate) fn fail(&self, fault: Fault) {
        self.lock().trouble.fault = Some(fault);
    }

    /// Nothing fails any more.
    pub(crate) fn heal(&self) {
        self.lock().trouble.fault = None;
    }

    /// How often the fault struck.
    pub(crate) fn hits(&self) -> u64 {
        self.lock().trouble.hits
    }

    /// Will every call from here on work?
    pub(crate) fn is_well(&self) -> bool {
        self.lock().trouble.is_over()
    }

    /// How many calls of a sort were made; `None` counts all of them.
    pub(crate) fn calls(&self, call: Option<Call>) -> u64 {
        self.lock().trouble.count(call)
    }

    /// How many changes were made.
    pub(crate) fn changes(&self) -> usize {
        self.lock().log.len()
    }

    /// Every change since the beginning.
    pub(crate) fn log(&self) -> Vec<Op> {
        self.lock().log.clone()
    }

    /// What was on the disk at the beginning, all of it synced.
    pub(crate) const fn base(&self) -> &Image {
        &self.base
    }

    /// The files as everybody sees them.
    pub(crate) fn seen(&self) -> Image {
        let state = self.lock();
        state.names.iter().map(|(name, file)| (name.clone(), state.files[file].bytes.clone())).collect()
    }

    /// What the disk would hold after a power cut, as of this moment.
    pub(crate) fn platter(&self) -> Platter {
        let mut platter = Platter::with(&self.base);
        self.lock().log.iter().for_each(|op| platter.take(op));
        platter
    }

    /// How many files are open.
    pub(super) fn open_files(&self) -> u64 {
        self.lock().files.values().map(|file| file.handles).sum()
    }

    /// Holds up everybody who makes a call from here on.
    pub(crate) fn close_gate(&self) {
        self.lock().gate.closed = true;
    }

    /// Waits until somebody stands at the gate; false if nobody came.
    pub(crate) fn await_arrival(&self) -> bool {
        let none = |state: &mut State| state.gate.waiting == 0;
        let waited = self.moved.wait_timeout_while(self.lock(), PATIENCE, none);
        waited.unwrap_or_else(PoisonError::into_inner).0.gate.waiting > 0
    }

    /// Lets everybody go on.
    pub(crate) fn open_gate(&self) {
        self.lock().gate.closed = false;
        self.moved.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call begins: past the gate, with the state to itself.
    fn enter(&self) -> MutexGuard<'_, State> {
        let mut state = self.lock();
        if state.gate.closed {
            state.gate.waiting += 1;
            self.moved.notify_all();
            let held = self.moved.wait_while(state, |state| state.gate.closed);
            state = held.unwrap_or_else(PoisonError::into_inner);
            state.gate.waiting -= 1;
        }
        state
    }

    /// A call that fails as a whole or not at all begins.
    fn start(&self, call: Call) -> Result<MutexGuard<'_, State>, c_int> {
        let mut state = self.enter();
        match state.trouble.meet(call) {
            Some(_) => Err(call.error()),
            None => Ok(state),
        }
    }

    pub(super) fn open(self: &Arc<Self>, name: Option<&str>, flags: c_int) -> Result<Handle, c_int> {
        let mut state = self.start(Call::Open)?;
        let found = name.and_then(|name| state.names.get(name).copied());
        let file = match (found, flags & ffi::SQLITE_OPEN_CREATE != 0 || name.is_none()) {
            (Some(file), _) => file,
            (None, false) => return Err(ffi::SQLITE_CANTOPEN),
            (None, true) => state.create(name),
        };
        let who = state.number();
        state.file(file).handles += 1;
        let name_to_delete = name.filter(|_| flags & ffi::SQLITE_OPEN_DELETEONCLOSE != 0);
        Ok(Handle { disk: Arc::clone(self), file, who, name_to_delete: name_to_delete.map(str::to_owned) })
    }

    pub(super) fn delete(&self, name: &str, dir_synced: bool) -> Result<(), c_int> {
        let mut state = self.start(Call::Delete)?;
        if state.unlink(name, dir_synced) { Ok(()) } else { Err(ffi::SQLITE_IOERR_DELETE_NOENT) }
    }

    /// An empty file does not count as being there, as in SQLite's own file system layer.
    pub(super) fn exists(&self, name: &str) -> Result<bool, c_int> {
        let state = self.start(Call::Access)?;
        Ok(state.names.get(name).is_some_and(|file| !state.files[file].bytes.is_empty()))
    }
}

impl State {
    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn file(&mut self, file: u64) -> &mut File {
        self.files.entry(file).or_default()
    }

    fn create(&mut self, name: Option<&str>) -> u64 {
        let file = self.number();
        self.files.insert(file, File::default());
        if let Some(name) = name {
            self.names.insert(name.to_owned(), file);
            self.log.push(Op::Create { file, name: name.to_owned() });
        }
        file
    }

    fn unlink(&mut self, name: &str, dir_synced: bool) -> bool {
        let Some(file) = self.names.remove(name) else { return false };
        self.log.push(Op::Delete { name: name.to_owned(), dir_synced });
        self.forget_if_unused(file);
        true
    }

    /// A file without a name lives as long as somebody has it open.
    fn forget_if_unused(&mut self, file: u64) {
        if self.file(file).handles == 0 && !self.names.values().any(|named| *named == file) {
            self.files.remove(&file);
        }
    }

    fn write(&mut self, file: u64, at: u64, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        self.log.push(Op::Write { file, at, bytes: bytes.into() });
        let content = &mut self.file(file).bytes;
        let (at, end) = (at as usize, at as usize + bytes.len());
        if content.len() < end {
            content.resize(end, 0);
        }
        content[at..end].copy_from_slice(bytes);
    }
}

impl Handle {
    /// Reads; what lies behind the end is zeros, and SQLite is told so.
    pub(super) fn read(&self, into: &mut [u8], at: u64) -> Result<(), c_int> {
        let mut state = self.disk.start(Call::Read)?;
        let bytes = &state.file(self.file).bytes;
        let from = bytes.get(at as usize..).unwrap_or_default();
        let there = from.len().min(into.len());
        into[..there].copy_from_slice(&from[..there]);
        into[there..].fill(0);
        if there == into.len() { Ok(()) } else { Err(ffi::SQLITE_IOERR_SHORT_READ) }
    }

    pub(super) fn write(&self, bytes: &[u8], at: u64) -> Result<(), c_int> {
        let mut state = self.disk.enter();
        let grows = state.file(self.file).bytes.len() < at as usize + bytes.len();
        let mut effect = state.trouble.meet(Call::Write);
        if grows {
            effect = effect.or(state.trouble.meet(Call::Grow));
        }
        let (written, answer) = match effect {
            None => (bytes.len(), Ok(())),
            Some(Effect::Full) => (bytes.len() / 2, Err(ffi::SQLITE_FULL)),
            Some(Effect::Half) => (bytes.len() / 2, Err(Call::Write.error())),
            Some(Effect::Whole) => (bytes.len(), Err(Call::Write.error())),
            Some(Effect::Nothing | Effect::Lost) => (0, Err(Call::Write.error())),
        };
        state.write(self.file, at, &bytes[..written]);
        answer
    }

    pub(super) fn truncate(&self, to: u64) -> Result<(), c_int> {
        let mut state = self.disk.start(Call::Truncate)?;
        state.log.push(Op::Truncate { file: self.file, to });
        state.file(self.file).bytes.resize(to as usize, 0);
        Ok(())
    }

    pub(super) fn sync(&self) -> Result<(), c_int> {
        let mut state = self.disk.enter();
        match state.trouble.meet(Call::Sync) {
            None => state.log.push(Op::Sync { file: self.file }),
            Some(Effect::Lost) => {
                state.log.push(Op::SyncLost { file: self.file });
                return Err(Call::Sync.error());
            }
            Some(Effect::Nothing | Effect::Full | Effect::Half | Effect::Whole) => {
                return Err(Call::Sync.error());
            }
        }
        Ok(())
    }

    pub(super) fn size(&self) -> Result<u64, c_int> {
        Ok(self.disk.start(Call::Size)?.file(self.file).bytes.len() as u64)
    }

    pub(super) fn raise(&self, level: c_int) -> Result<(), c_int> {
        self.disk.enter().file(self.file).locks.raise(self.who, level)
    }

    pub(super) fn lower(&self, level: c_int) {
        self.disk.enter().file(self.file).locks.lower(self.who, level);
    }

    pub(super) fn is_reserved(&self) -> bool {
        self.disk.enter().file(self.file).locks.is_reserved()
    }

    pub(super) fn shm_map(&self, region: usize, bytes: usize, extend: bool) -> Result<*mut c_void, c_int> {
        let mut state = self.disk.start(Call::ShmMap)?;
        let shm = state.file(self.file).shm.get_or_insert_default();
        Ok(shm.map(self.who, region, bytes, extend))
    }

    pub(super) fn shm_lock(&self, first: usize, count: usize, flags: c_int) -> Result<(), c_int> {
        let mut state = self.disk.enter();
        let shm = state.file(self.file).shm.as_mut().ok_or(ffi::SQLITE_IOERR_SHMLOCK)?;
        shm.lock(self.who, first, count, flags)
    }

    pub(super) fn shm_leave(&self) {
        let mut state = self.disk.enter();
        let file = state.file(self.file);
        if file.shm.as_mut().is_some_and(|shm| shm.leave(self.who)) {
            file.shm = None;
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shm_leave();
        self.lower(ffi::SQLITE_LOCK_NONE);
        let mut state = self.disk.enter();
        state.file(self.file).handles -= 1;
        if let Some(name) = &self.name_to_delete {
            state.unlink(name, false);
        }
        state.forget_if_unused(self.file);
    }
}
