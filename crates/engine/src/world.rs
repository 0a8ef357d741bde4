//! The world that the engine is handed: monotonic time, waiting, randomness, processes, the files they leave, and whom to tell.
//!
//! Invariant: whatever the run, the reaper and the notifier do outside of the ledger goes through this trait, so the same code runs on
//! the machine and in the simulation. The wall clock is a trait beside it, because the past is judged with the clock of the
//! past. Deliberately absent: the checks of an artifact contract, the sweep of directories and the search for
//! the run around a process, which only a real machine has.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use callboard_kernel::Moment;
use callboard_kernel::health::ProcessIdentity;
use callboard_notify::{Note, Webhook};
use callboard_supervisor::process::Ended;
use callboard_supervisor::sandbox::Walls;
use callboard_supervisor::{Containment, End, Identity, Observer, Signals, Spec, StartError};

use crate::judging::viewpoint::ProcessTable;

/// What is done at once with others of its kind.
pub type Job<'a> = Box<dyn FnOnce() + Send + 'a>;

/// A machine, real or simulated, as one of its processes has it.
pub trait World: ProcessTable + Send + Sync {
    /// A moment on the clock that never jumps.
    fn instant(&self) -> Instant;

    /// Waits.
    fn sleep(&self, span: Duration);

    /// Fills a buffer with random bytes.
    fn draw(&self, bytes: &mut [u8]) -> io::Result<()>;

    /// Does several things at once, and returns when all are done.
    fn each(&self, jobs: Vec<Job<'_>>);

    /// Who this process is.
    fn this(&self) -> io::Result<Identity>;

    /// The markers of the runs that this process is inside of, outermost first.
    fn markers_around(&self) -> Vec<String>;

    /// Takes over the signals that may stop a run; nothing where there are none.
    fn signals(&self) -> io::Result<Option<Signals>>;

    /// Makes everything for a command but its process.
    fn prepare(&self, spec: Spec) -> Result<Box<dyn PreparedCommand>, StartError>;

    /// Ends everybody who belongs to a run whose supervisor is gone.
    fn end_marked(&self, marker: &str, command: Option<&ProcessIdentity>, grace: Duration) -> Ended;

    /// Everybody who belongs to a run.
    fn find_marked(&self, marker: &str) -> Vec<Identity>;

    /// Takes the room for a file, before it is known whether it is needed.
    fn reserve(&self, path: &Path, bytes: u64) -> io::Result<Box<dyn Room>>;

    /// Writes a file that is there whole or not at all, for its owner alone.
    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<PathBuf>;

    /// A plain file that this user left, up to a bound.
    fn read_left(&self, path: &Path, bytes_max: u64) -> Option<Vec<u8>>;

    /// Removes a file, if it is there.
    fn remove(&self, path: &Path);

    /// Calls a web address; the error says why it did not arrive.
    fn call(&self, webhook: &Webhook, id: &str, body: Vec<u8>, now: Moment) -> Result<(), String>;

    /// Shows a note on the desktop; the error says why not.
    fn show(&self, note: &Note<'_>) -> Result<(), String>;
}

/// A command that can be started.
pub trait PreparedCommand {
    /// Starts its process.
    fn start(self: Box<Self>) -> Result<Box<dyn RunningCommand>, StartError>;
}

/// A command whose process is there.
pub trait RunningCommand {
    /// Which process it is.
    fn identity(&self) -> &Identity;

    /// What holds its tree together.
    fn containment(&self) -> &Containment;

    /// What it cannot reach.
    fn walls(&self) -> Option<&Walls>;

    /// The process has not become the program yet.
    fn is_starting(&self) -> bool;

    /// Watches it until the last process of its tree is gone.
    fn watch(
        self: Box<Self>,
        signals: Option<Signals>,
        observer: &mut dyn Observer,
    ) -> (End, Option<Signals>);
}

/// Room that was taken for a file.
pub trait Room {
    /// Writes the file; where it is.
    fn fill(&self, bytes: &[u8]) -> io::Result<PathBuf>;
}
