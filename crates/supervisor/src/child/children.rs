//! What the runs of one process share: the list of their main processes, and the reaping of orphans they leave to us.
//!
//! Invariant: a main process is reaped only by the thread that watches it, under the lock of the list, so its pid means
//! nobody else while it is listed. A child that the rest of the program started is never reaped here: it is in our own
//! session, or somebody waits for it. Only what ended in another session and was left for a third of a second is taken, and what
//! ended in the session of a run, which is taken at once.
//!
//! One thread, asleep until a child changes: SIGCHLD is caught from the first run on, beside any other handler. That
//! also undoes an inherited "ignore", under which the kernel would throw every exit status away.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use crate::Usage;
use crate::child::wait_status;
use crate::process::{Stat, all};
use crate::watching::waker::Wake;

#[derive(Debug)]
struct Main {
    pid: u32,
    wake: Arc<Wake>,
}

static MAINS: Mutex<Vec<Main>> = Mutex::new(Vec::new());
/// Runs of this process that have begun and are not over.
static RUNS: AtomicUsize = AtomicUsize::new(0);
/// Children that may be there and are not listed yet.
static BEING_BORN: AtomicUsize = AtomicUsize::new(0);
static BELL: OnceLock<Option<UnixStream>> = OnceLock::new();

/// How long an orphan that may be somebody else's child is left alone.
const UNCLAIMED: Duration = Duration::from_millis(300);
/// Between two looks at one that cannot be taken yet.
const PAUSE: Duration = Duration::from_millis(20);
const STACK_BYTES: usize = 64 * 1024;

/// Prepares this process to have children that are watched.
pub(crate) fn open() -> io::Result<()> {
    let opened = BELL.get_or_init(|| set_up().ok());
    opened.as_ref().map(|_| ()).ok_or_else(|| io::Error::other("the reaping thread could not be started"))
}

fn set_up() -> io::Result<UnixStream> {
    let (ours, theirs) = UnixStream::pair()?;
    ours.set_nonblocking(true)?;
    theirs.set_nonblocking(true)?;
    signal_hook::low_level::pipe::register(libc::SIGCHLD, OwnedFd::from(theirs.try_clone()?))?;
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    std::thread::Builder::new()
        .name("reaper".to_owned())
        .stack_size(STACK_BYTES)
        .spawn(move || tend(&ours))?;
    Ok(theirs)
}

fn mains() -> MutexGuard<'static, Vec<Main>> {
    // The list is whole at every moment, so a panic elsewhere has not broken it.
    MAINS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts a run from before its child is there until it is over.
#[derive(Debug)]
pub(crate) struct Place(());

impl Place {
    pub(crate) fn take() -> Self {
        RUNS.fetch_add(1, Ordering::SeqCst);
        Self(())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        RUNS.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Says that a child is on its way, until it is listed or came to nothing.
#[derive(Debug)]
pub(crate) struct Birth(());

impl Birth {
    pub(crate) fn begin() -> Self {
        BEING_BORN.fetch_add(1, Ordering::SeqCst);
        Self(())
    }

    /// Lists a main process.
    pub(crate) fn admit(self, pid: u32, wake: Arc<Wake>) {
        mains().push(Main { pid, wake });
    }
}

impl Drop for Birth {
    fn drop(&mut self) {
        BEING_BORN.fetch_sub(1, Ordering::SeqCst);
        // It may have been stopped, or others may have ended, before it was listed.
        ring();
    }
}

/// Reaps a main process if it has ended, and takes it off the list.
pub(crate) fn reap_main(pid: Pid) -> io::Result<Option<(i32, Usage)>> {
    let mut mains = mains();
    let reaped = wait_status::reap(pid);
    if !matches!(reaped, Ok(None)) {
        mains.retain(|main| main.pid != pid.as_raw_nonzero().get() as u32);
        drop(mains);
        ring();
    }
    reaped
}

/// Takes a main process off the list that will not be reaped.
pub(crate) fn dismiss(pid: u32) {
    mains().retain(|main| main.pid != pid);
}

/// Whether this pid is the main process of a run of ours.
pub(crate) fn is_main(pid: u32) -> bool {
    mains().iter().any(|main| main.pid == pid)
}

/// Whether at most one run is alive in this process. To judge a table of processes by it, read the table first: who
/// is in it and belongs to another run has been counted before.
pub(crate) fn is_sole_run() -> bool {
    RUNS.load(Ordering::SeqCst) <= 1
}

/// Whether we have any child at all, ended or not.
pub(crate) fn has_children() -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::All, options), Err(rustix::io::Errno::CHILD))
}

/// Who ended behind a main process that was not reaped yet could not be seen; this makes the thread look again.
fn ring() {
    if let Some(Some(bell)) = BELL.get() {
        // A bell that is full has been rung.
        rustix::io::write(bell, &[1]).ok();
    }
}

/// The life of the thread.
fn tend(bell: &UnixStream) {
    let mut unclaimed: Vec<(u32, Instant)> = Vec::new();
    loop {
        let waited = unclaimed.iter().map(|(_, since)| since.elapsed()).max();
        let limit = waited.map(|waited| Timespec {
            tv_sec: 0,
            tv_nsec: UNCLAIMED.saturating_sub(waited).max(PAUSE).subsec_nanos().into(),
        });
        let mut waiting = [PollFd::new(bell, PollFlags::IN)];
        // Interrupted by a signal is as good as rung.
        poll(&mut waiting, limit.as_ref()).ok();
        let mut bytes = [0u8; 256];
        while rustix::io::read(bell, &mut bytes).is_ok_and(|count| count == bytes.len()) {}
        tell_stops();
        sweep(&mut unclaimed);
    }
}

/// Tells every run whose main process was stopped or goes on.
fn tell_stops() {
    let options = WaitIdOptions::STOPPED | WaitIdOptions::CONTINUED | WaitIdOptions::NOHANG;
    for main in mains().iter() {
        let Some(pid) = Pid::from_raw(main.pid as i32) else { continue };
        while let Ok(Some(status)) = waitid(WaitId::Pid(pid), options) {
            main.wake.moved(status.stopped());
        }
    }
}

/// Reaps orphans that ended, as long as the next one that ended is one.
fn sweep(unclaimed: &mut Vec<(u32, Instant)>) {
    while let Some(pid) = wait_status::peek() {
        let pid = pid.as_raw_nonzero().get() as u32;
        if is_main(pid) {
            // Who watches it reaps it and rings.
            unclaimed.retain(|(known, _)| *known != pid);
            return;
        }
        if !judge(pid, unclaimed) {
            // A child that ended before it was listed rings when it is, and then who is behind it is seen. To look through
            // the whole process table for each of them would cost more than they do.
            let since = unclaimed.iter().find(|(known, _)| *known == pid).map(|(_, since)| *since);
            let is_fresh = since.is_some_and(|since| since.elapsed() < UNCLAIMED);
            if !(is_fresh && BEING_BORN.load(Ordering::SeqCst) > 0) {
                sweep_behind(unclaimed);
            }
            return;
        }
    }
    unclaimed.clear();
}

/// Looks for orphans that ended behind a child that is none of ours.
fn sweep_behind(unclaimed: &mut Vec<(u32, Instant)>) {
    let own = std::process::id();
    let ended: Vec<u32> = all()
        .iter()
        .filter(|stat| stat.parent == own && stat.is_zombie())
        .map(|stat| stat.pid)
        .filter(|pid| !is_main(*pid))
        .collect();
    unclaimed.retain(|(pid, _)| ended.contains(pid));
    for pid in ended {
        judge(pid, unclaimed);
    }
    let own_session = Stat::read(own).map(|stat| stat.session);
    unclaimed.retain(|(pid, _)| Stat::read(*pid).is_some_and(|stat| Some(stat.session) != own_session));
}

/// Reaps a child that ended if it is an orphan of a run; `false` if it is left alone.
fn judge(pid: u32, unclaimed: &mut Vec<(u32, Instant)>) -> bool {
    let Some(stat) = Stat::read(pid) else { return true };
    let ours = Stat::read(std::process::id()).map(|stat| stat.session) == Some(stat.session);
    let since = match unclaimed.iter().find(|(known, _)| *known == pid) {
        Some((_, since)) => *since,
        None => {
            unclaimed.push((pid, Instant::now()));
            Instant::now()
        }
    };
    // The list is held until the child is reaped: a main process that is listed meanwhile must not be taken.
    let mains = mains();
    let is_main = |pid: u32| mains.iter().any(|main| main.pid == pid);
    let unborn = BEING_BORN.load(Ordering::SeqCst) > 0;
    if ours || is_main(pid) || (!is_main(stat.session) && (unborn || since.elapsed() < UNCLAIMED)) {
        return false;
    }
    if let Some(pid) = Pid::from_raw(pid as i32) {
        // Somebody may have been faster, which is as good.
        drop(wait_status::reap(pid));
    }
    unclaimed.retain(|(known, _)| *known != pid);
    true
}
