//! The thread that watches: it waits for ends of processes, for runs that begin, and for what the board found changed.
//!
//! Invariant: it follows the log through the feed, so every run that is recorded while the server runs is watched, and
//! those from before are read when it begins. What is told on the feed is the engine's view, judged after the log was
//! read again. While somebody listens, everything is judged several times a second, because health
//! changes though nobody writes.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use callboard_engine::board::ChangedVerdict;
use callboard_engine::{TriageInput, evaluate_as};
use callboard_kernel::EntityId;
use callboard_ledger::Stored;
use callboard_lifecycle::Kind;

use super::bell::Bell;
use super::watch::{Ended, Watch};
use crate::app::Shared;
use crate::problem::Problem;

/// How often everything is judged while somebody listens or descriptors are missing: so that it takes this part of a core,
/// but neither more nor less often than this.
const SHARE: u32 = 50;
const JUDGE_MIN: Duration = Duration::from_millis(100);
const JUDGE_MAX: Duration = Duration::from_secs(1);
/// How long a store that failed is left alone.
const PAUSE: Duration = Duration::from_millis(200);
/// Views that are told one by one; beyond this, listeners are told to read again.
const TOLD_MAX: usize = 500;

/// What others tell the thread, and what it tells them.
pub(crate) struct Deaths {
    pub(crate) bell: Arc<Bell>,
    /// Runs whose state moved.
    moved: Mutex<Vec<EntityId>>,
    watched: AtomicU64,
    unwatched: AtomicU64,
}

impl Deaths {
    pub(crate) fn new() -> io::Result<Self> {
        let (moved, watched, unwatched) = Default::default();
        Ok(Self { bell: Arc::new(Bell::new()?), moved, watched, unwatched })
    }

    /// Runs moved to another state: they began, or ended.
    pub(crate) fn moved(&self, runs: impl Iterator<Item = EntityId>) {
        let mut moved = self.moved.lock().unwrap_or_else(PoisonError::into_inner);
        let before = moved.len();
        moved.extend(runs);
        if moved.len() > before {
            self.bell.ring();
        }
    }

    /// They could not be looked at, and are to be again.
    fn put_back(&self, runs: &[EntityId]) {
        self.moved.lock().unwrap_or_else(PoisonError::into_inner).extend(runs);
    }

    fn take_moved(&self) -> Vec<EntityId> {
        std::mem::take(&mut *self.moved.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// How many processes are watched, and for how many there is no descriptor.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.watched.load(Ordering::Relaxed), self.unwatched.load(Ordering::Relaxed))
    }
}

/// Starts the thread; the dead go to the reaper, if there is one.
pub(crate) fn follow(app: Shared, reaper: Option<Sender<EntityId>>) -> io::Result<JoinHandle<()>> {
    let watch = Watch::new(Arc::clone(&app.deaths.bell))?;
    let mut follower =
        Follower { app, watch, reaper, is_met: false, ended: Vec::new(), judge_every: JUDGE_MIN };
    std::thread::Builder::new().name("deaths".to_owned()).spawn(move || follower.run())
}

struct Follower {
    app: Shared,
    watch: Watch,
    reaper: Option<Sender<EntityId>>,
    /// Those that were alive when the server began are watched.
    is_met: bool,
    /// Processes that ended and whose runs are still to be looked at.
    ended: Vec<Ended>,
    judge_every: Duration,
}

impl Follower {
    fn run(&mut self) {
        let mut judged = Instant::now();
        while !*self.app.stopping.borrow() {
            let done = self.step();
            let (watched, unwatched) = self.watch.counts();
            self.app.deaths.watched.store(watched, Ordering::Relaxed);
            self.app.deaths.unwatched.store(unwatched, Ordering::Relaxed);
            let is_judging = unwatched > 0 || self.app.is_listened_to();
            let within = match done {
                Err(_) => Some(PAUSE),
                Ok(()) => is_judging.then(|| self.judge_every.saturating_sub(judged.elapsed())),
            };
            match self.watch.wait(within) {
                Ok(ended) => self.ended.extend(ended),
                Err(_) => std::thread::sleep(PAUSE),
            }
            if is_judging && judged.elapsed() >= self.judge_every {
                let began = Instant::now();
                self.app.deaths.moved(self.watch.waiting().into_iter());
                // A store that is away is asked again the next time.
                drop(self.app.board(|_| ()));
                self.judge_every = (began.elapsed() * SHARE).clamp(JUDGE_MIN, JUDGE_MAX);
                judged = Instant::now();
            }
        }
    }

    /// Takes over who began and who ended, and tells what changed.
    fn step(&mut self) -> Result<(), Problem> {
        self.meet()?;
        while !self.ended.is_empty() {
            let pids: Vec<u32> = self.ended.iter().map(|ended| ended.pid).collect();
            let runs: Vec<EntityId> = self.ended.iter().map(|ended| ended.run).collect();
            self.app.look_again(&runs, &pids)?;
            self.ended.clear();
            // A survivor may have left a child that nobody knows yet.
            for run in runs {
                if self.watch.is_after_end(run)
                    && let Some(stored) = self.app.ledger.entity(run)?
                {
                    self.attend_after_end(&stored);
                }
            }
        }
        let (head, changed) = self.app.fleet.take_changed();
        if !changed.is_empty() {
            self.tell(head, &changed);
        }
        Ok(())
    }

    /// Watches the runs that began and lets go of those that ended.
    fn meet(&mut self) -> Result<(), Problem> {
        let mut moved = Vec::new();
        if !self.is_met {
            let (alive, ended) = self.app.board(|board| {
                let runs = || board.all().iter().filter(|entry| entry.keys.kind() == Kind::Session);
                let alive = runs().filter(|entry| entry.keys.is_alive);
                let ended = runs().filter(|entry| entry.outlives_its_end());
                let alive = alive.map(|entry| (entry.keys.id, entry.processes())).collect::<Vec<_>>();
                (alive, ended.map(|entry| entry.keys.id).collect::<Vec<_>>())
            })?;
            for (run, processes) in alive {
                self.ended.extend(self.watch.keep(run, processes));
            }
            moved = ended;
            self.is_met = true;
        }
        moved.extend(self.app.deaths.take_moved());
        for (at, run) in moved.iter().enumerate() {
            match self.app.ledger.entity(*run) {
                Ok(Some(stored)) if stored.entity.ended_at.is_none() => {
                    self.ended.extend(self.watch.keep(*run, TriageInput::of(&stored).processes()));
                }
                Ok(Some(stored)) => {
                    if self.attend_after_end(&stored) {
                        // The record does not say that it lives.
                        self.ended.push(Ended { run: *run, pid: 0 });
                    }
                }
                Ok(None) => self.watch.release(*run),
                Err(away) => {
                    self.app.deaths.put_back(&moved[at..]);
                    return Err(away.into());
                }
            }
        }
        Ok(())
    }

    /// Watches the processes that outlive the end of their run, and says whether there are any.
    fn attend_after_end(&mut self, stored: &Stored) -> bool {
        let run = stored.entity.state.id;
        let alive = TriageInput::of(stored).alive_after_end(&self.app.host);
        let is_any = !alive.is_empty();
        self.ended.extend(self.watch.keep_after_end(run, alive));
        is_any
    }

    /// Tells whoever listens what changed although nothing was recorded, and the reaper who is dead.
    fn tell(&self, head: u64, changed: &[ChangedVerdict]) {
        self.app.latest.forget();
        if changed.len() > TOLD_MAX {
            self.app.feed.looks.missed(changed.len() as u64);
        } else {
            for one in changed {
                // What was packed can be unpacked; if not, whoever asks for it is told why.
                let Ok(stored) = one.shown.unpack() else { continue };
                self.app.feed.looks.publish(&evaluate_as(&stored, one.shown.look), head);
            }
        }
        for one in changed.iter().filter(|one| one.is_dead) {
            // Nobody receives it when the server is about to stop.
            self.reaper.iter().for_each(|reaper| reaper.send(one.id).unwrap_or_default());
        }
    }
}
