//! The simulated world, as one process of a host has it, and the medium of the store.
//!
//! Invariant: every touch is a step of the stage, so others may act between any two of them. Nothing here reads a real clock, file or
//! process table.

use std::cell::Cell;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use callboard_engine::{Clock, Job, PreparedCommand, ProcessTable, Room, World};
use callboard_kernel::Moment;
use callboard_kernel::health::{Hold, Place, ProcessIdentity, Sighting};
use callboard_ledger::{Fate, Medium};
use callboard_notify::{Note, Webhook};
use callboard_supervisor::process::Ended;
use callboard_supervisor::{Identity, Signals, Spec, StartError};

use crate::command::Prepared;
use crate::stage::{Stage, State};

/// When every run of the simulation begins.
const BEGINNING: Moment = Moment::from_micros(1_800_000_000_000_000);

thread_local! {
    /// The host on which this actor is.
    static HOST: Cell<usize> = const { Cell::new(0) };
}

/// The world of one process.
#[derive(Clone)]
pub(crate) struct SimWorld {
    pub(crate) stage: Arc<Stage>,
    pub(crate) host: usize,
    pub(crate) pid: u32,
    started_ticks: u64,
    place: Place,
    drawn: Arc<AtomicU64>,
}

impl SimWorld {
    /// Starts a process on a host, which lives until it is killed.
    pub(crate) fn start(stage: &Arc<Stage>, host: usize) -> Self {
        let mut state = stage.lock();
        let now_us = state.now_us;
        let pid = state.scene.hosts[host].start(None, u64::MAX, now_us);
        let started_ticks = state.scene.hosts[host].processes[&pid].started_ticks;
        let name = &state.scene.hosts[host].name;
        let place = Place {
            host: name.clone(),
            machine: Some(format!("machine of {name}")),
            boot: format!("boot of {name}"),
            pid_ns: Some(1),
            time_ns: Some(1),
        };
        drop(state);
        let drawn = Arc::default();
        Self { stage: Arc::clone(stage), host, pid, started_ticks, place, drawn }
    }

    /// From here on this thread is on the host.
    pub(crate) fn enter(&self) {
        HOST.set(self.host);
    }

    /// The process ends.
    pub(crate) fn exit(&self) {
        let mut state = self.stage.lock();
        state.scene.hosts[self.host].kill(self.pid);
    }

    pub(crate) fn identity(&self, pid: u32, started_ticks: u64) -> Identity {
        let Place { host, machine, boot, pid_ns, time_ns } = self.place.clone();
        Identity { host, machine, boot, pid_ns, time_ns, pid, started_ticks }
    }

    pub(crate) fn state<T>(&self, ask: impl FnOnce(&mut State) -> T) -> T {
        ask(&mut self.stage.lock())
    }
}

impl Clock for SimWorld {
    fn now(&self) -> Moment {
        self.state(|state| moment(state.now_us, state.scene.hosts[self.host].ahead_us))
    }
}

pub(crate) fn moment(now_us: u64, ahead_us: i64) -> Moment {
    Moment::from_micros(BEGINNING.as_micros() + now_us as i64 + ahead_us)
}

/// Where simulated instants count from.
fn base() -> Instant {
    static BASE: OnceLock<Instant> = OnceLock::new();
    *BASE.get_or_init(Instant::now)
}

impl ProcessTable for SimWorld {
    fn here(&self) -> &Place {
        &self.place
    }

    fn look(&self, pid: u32) -> Sighting {
        self.stage.pause("looks at a process");
        self.state(|state| {
            let now_us = state.now_us;
            match state.scene.hosts[self.host].processes.get(&pid) {
                Some(process) if process.is_alive(now_us) => Sighting::Seen {
                    started_ticks: process.started_ticks,
                    hold: (process.held_until_us > now_us).then_some(Hold::Signal),
                },
                Some(_) | None => Sighting::Gone,
            }
        })
    }

    fn members(&self, marker: &str) -> Option<Vec<u32>> {
        self.stage.pause("searches for the processes of a run");
        let found = self.state(|state| state.scene.hosts[self.host].of_run(marker, state.now_us));
        Some(found.into_iter().map(|(pid, _)| pid).collect())
    }
}

impl World for SimWorld {
    fn instant(&self) -> Instant {
        base() + Duration::from_micros(self.state(|state| state.now_us))
    }

    fn sleep(&self, span: Duration) {
        self.stage.sleep(span.as_micros() as u64, "waits");
    }

    fn draw(&self, bytes: &mut [u8]) -> io::Result<()> {
        let nth = self.drawn.fetch_add(1, Ordering::Relaxed);
        let seed = format!("{}/{}/{nth}", self.place.host, self.pid);
        blake3::Hasher::new().update(seed.as_bytes()).finalize_xof().fill(bytes);
        Ok(())
    }

    fn each(&self, jobs: Vec<Job<'_>>) {
        jobs.into_iter().for_each(|job| job());
    }

    fn this(&self) -> io::Result<Identity> {
        Ok(self.identity(self.pid, self.started_ticks))
    }

    fn markers_around(&self) -> Vec<String> {
        Vec::new()
    }

    fn signals(&self) -> io::Result<Option<Signals>> {
        Ok(None)
    }

    fn prepare(&self, spec: Spec) -> Result<Box<dyn PreparedCommand>, StartError> {
        Ok(Box::new(Prepared::new(self.clone(), spec)))
    }

    fn end_marked(&self, marker: &str, command: Option<&ProcessIdentity>, grace: Duration) -> Ended {
        self.stage.pause("ends the processes of a run");
        let found = |state: &State| {
            let host = &state.scene.hosts[self.host];
            let mut found = host.of_run(marker, state.now_us);
            let named = command.map(|named| (named.pid, named.started_ticks));
            let is_there = |(pid, ticks): &(u32, u64)| {
                state.scene.is_alive(self.host, *pid, *ticks, state.now_us)
                    && !found.contains(&(*pid, *ticks))
            };
            let more = named.filter(is_there);
            found.extend(more);
            found
        };
        let there = self.state(|state| found(state));
        if !there.is_empty() {
            self.stage.sleep(grace.as_micros() as u64, "waits for those who were asked to go");
        }
        let left = self.state(|state| {
            for (pid, ticks) in &there {
                if state.scene.is_alive(self.host, *pid, *ticks, state.now_us) {
                    state.scene.hosts[self.host].kill(*pid);
                }
            }
            found(state)
        });
        Ended { count: there.len() as u32, left: left.len() as u32 }
    }

    fn find_marked(&self, marker: &str) -> Vec<Identity> {
        let found = self.state(|state| state.scene.hosts[self.host].of_run(marker, state.now_us));
        found.into_iter().map(|(pid, ticks)| self.identity(pid, ticks)).collect()
    }

    fn reserve(&self, path: &Path, _: u64) -> io::Result<Box<dyn Room>> {
        self.write(path, &[]);
        Ok(Box::new(Reserved { world: self.clone(), path: path.to_owned() }))
    }

    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<PathBuf> {
        self.write(path, bytes);
        Ok(path.to_owned())
    }

    fn read_left(&self, path: &Path, _: u64) -> Option<Vec<u8>> {
        self.stage.pause("reads a file that somebody left");
        self.state(|state| state.scene.hosts[self.host].files.get(path).cloned())
    }

    fn remove(&self, path: &Path) {
        self.stage.pause("removes a file");
        self.state(|state| drop(state.scene.hosts[self.host].files.remove(path)));
    }

    fn call(&self, _: &Webhook, id: &str, _: Vec<u8>, _: Moment) -> Result<(), String> {
        self.stage.sleep(20_000, &format!("calls the receiver with {}", &id[..8]));
        self.state(|state| {
            let fate = if state.scene.faults.network && !state.scene.is_calm {
                state.choices.choose(3, 3)
            } else {
                0
            };
            if fate != 1 {
                *state.scene.delivered.entry(id.to_owned()).or_default() += 1;
            }
            match fate {
                0 => Ok(()),
                1 => Err("the receiver did not answer".to_owned()),
                _ => Err("the answer was lost".to_owned()),
            }
        })
    }

    fn show(&self, _: &Note<'_>) -> Result<(), String> {
        Err("there is no desktop".to_owned())
    }
}

impl SimWorld {
    fn write(&self, path: &Path, bytes: &[u8]) {
        self.stage.pause("writes a file");
        self.state(|state| drop(state.scene.hosts[self.host].files.insert(path.to_owned(), bytes.to_vec())));
    }
}

struct Reserved {
    world: SimWorld,
    path: PathBuf,
}

impl Room for Reserved {
    fn fill(&self, bytes: &[u8]) -> io::Result<PathBuf> {
        self.world.replace(&self.path, bytes)
    }
}

/// The disk of the store, or the way to its server.
#[derive(Default)]
pub(crate) struct Disk(pub(crate) OnceLock<Arc<Stage>>);

impl Disk {
    fn stage(&self) -> Option<&Arc<Stage>> {
        self.0.get().filter(|_| Stage::is_actor())
    }
}

impl Medium for Disk {
    fn committing(&self) -> Fate {
        let Some(stage) = self.stage() else { return Fate::Kept };
        stage.pause("commits");
        let mut state = stage.lock();
        if state.scene.is_calm {
            return Fate::Kept;
        }
        if state.scene.hosts[HOST.get()].parted_until_us > state.now_us {
            return Fate::Busy;
        }
        if !state.scene.faults.store {
            return Fate::Kept;
        }
        let fates =
            [Fate::Kept, Fate::Busy, Fate::Full, Fate::NotWritten, Fate::UnknownKept, Fate::UnknownLost];
        let fate = fates[state.choices.choose(fates.len() as u32, 10) as usize];
        if fate != Fate::Kept {
            state.tell(&format!("the commit will be {fate:?}"));
        }
        fate
    }

    fn committed(&self) {
        if let Some(stage) = self.stage() {
            stage.pause("has committed");
        }
    }

    fn reading(&self) -> io::Result<()> {
        let Some(stage) = self.stage() else { return Ok(()) };
        stage.pause("reads the store");
        let state = stage.lock();
        if !state.scene.is_calm && state.scene.hosts[HOST.get()].parted_until_us > state.now_us {
            return Err(io::Error::from(io::ErrorKind::TimedOut));
        }
        Ok(())
    }

    fn now(&self) -> Moment {
        moment(0, self.0.get().map_or(0, |stage| stage.store_us()))
    }
}
