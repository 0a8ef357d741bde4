//! The crew of one process: its workers, and what they share.
//!
//! Invariant: each worker does one task at a time. A crew that is drained finishes what it has and claims nothing more; one that leaves stops its
//! agents, keeps what they did and gives the tasks back. Deliberately absent: settings and signals, which the program has.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use callboard_engine::tasks::{Asking, IDLE, NewWorker, TaskError, WorkerEnd};
use callboard_engine::{Clock, Host, World};
use callboard_kernel::task::{self, NextMove};
use callboard_kernel::{Actor, EntityId, Moment, Value, fact, worker_state};
use callboard_ledger::{ClaimQuery, Ledger, Stored, error_chain};
use callboard_lifecycle::ActorClass;
use callboard_lifecycle::worker::{AbortReason, WorkerState};

use crate::janitor::RequestCommands;
use crate::launch::RunLauncher;
use crate::mcp::sweep;
use crate::outcome::ended;
use crate::profile::Profile;
use crate::worktrees::worktrees_dir;

/// How long a worker without work waits for a record before it asks again.
const WAIT: Duration = Duration::from_millis(500);
/// A task that may not be claimed before a moment further away than this is not waited for by `--once`.
const PATIENCE: Duration = Duration::from_secs(120);

/// When a crew goes home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// When it is told to.
    Told,
    /// When nothing on the board moves by itself any more.
    Quiet,
}

/// What a crew was told.
#[derive(Clone, Debug, Default)]
pub struct CrewSignal(Arc<AtomicU8>);

impl CrewSignal {
    /// Finish what you have and claim nothing more.
    pub fn drain(&self) {
        self.0.fetch_max(1, Ordering::AcqRel);
    }

    /// Stop your agents, keep what they did and give the tasks back.
    pub fn leave(&self) {
        self.0.fetch_max(2, Ordering::AcqRel);
    }

    fn is_draining(&self) -> bool {
        self.0.load(Ordering::Acquire) > 0
    }

    pub(crate) fn is_leaving(&self) -> bool {
        self.0.load(Ordering::Acquire) > 1
    }
}

/// The workers of one process.
#[derive(Clone)]
pub struct Crew {
    /// Where tasks are.
    pub ledger: Ledger,
    /// Tells the time.
    pub clock: Arc<dyn Clock + Send + Sync>,
    /// This host.
    pub host: Arc<Host>,
    /// Starts runs.
    pub launch: Arc<dyn RunLauncher>,
    /// How an agent is run.
    pub profile: Profile,
    /// Which tasks are taken.
    pub query: ClaimQuery,
    /// The repository of tasks that name none.
    pub repo: Option<PathBuf>,
    /// Where worktrees are made.
    pub state_dir: PathBuf,
    /// How long a claim lasts unless it is renewed.
    pub lease: Duration,
    /// The pause before the first retry of a task.
    pub retry_pause: Duration,
    /// How many tasks are done at once.
    pub concurrency: usize,
    /// When it goes home.
    pub until: Until,
    /// What it was told.
    pub signal: CrewSignal,
    /// The commands that open pull requests and tell how they stand, if there are any.
    pub requests: Option<RequestCommands>,
    /// In whose name tasks are closed; the system's unless a person approved them.
    pub closer: Option<Actor>,
    /// Says what happens, for people.
    pub say: Arc<dyn Fn(&str) + Send + Sync>,
}

impl Crew {
    /// Works until there is nothing to do any more, or until it is told to stop.
    pub fn work(&self) {
        sweep(
            &self.attempts_dir(),
            |run| matches!(self.ledger.entity(run), Ok(Some(stored)) if ended(&stored.entity).is_some()),
        );
        std::thread::scope(|scope| {
            for slot in 1..=self.concurrency.max(1) {
                scope.spawn(move || self.slot(slot));
            }
        });
        self.launch.tidy();
    }

    pub(crate) fn now(&self) -> Moment {
        self.clock.now()
    }

    pub(crate) fn tell(&self, text: &str) {
        (self.say)(text);
    }

    pub(crate) fn is_leaving(&self) -> bool {
        self.signal.is_leaving()
    }

    pub(crate) fn worktrees_dir(&self) -> PathBuf {
        worktrees_dir(&self.state_dir)
    }

    pub(crate) fn scratch_dir(&self) -> PathBuf {
        self.state_dir.join("scratch")
    }

    pub(crate) fn attempts_dir(&self) -> PathBuf {
        self.state_dir.join("attempts")
    }

    pub(crate) fn system_actor(&self) -> Actor {
        Actor::new(ActorClass::System, "crew")
    }

    pub(crate) fn asking(&self, actor: Actor) -> Asking<'_> {
        let mut asking = Asking::new(&self.ledger, actor, self.now());
        asking.retry_pause = self.retry_pause;
        asking
    }

    pub(crate) fn worker_asking(&self, worker: EntityId) -> Asking<'_> {
        self.asking(Actor::new(ActorClass::Worker, worker.to_string()))
    }

    /// The same, at the moment that it is by now.
    pub(crate) fn fresh<'a>(&self, asking: &Asking<'a>) -> Asking<'a> {
        let mut fresh = asking.clone();
        fresh.now = self.now();
        fresh
    }

    /// One worker: joins, claims, works, and leaves.
    fn slot(&self, number: usize) {
        let mut worker: Option<EntityId> = None;
        let mut idle_since = Instant::now();
        while !self.signal.is_draining() {
            let head = self.ledger.head().unwrap_or_default();
            let joined = match worker {
                Some(worker) => Ok(worker),
                None => self.join(number),
            };
            let claimed = joined.and_then(|id| {
                worker = Some(id);
                self.worker_asking(id).claim_next(id, self.query.clone(), self.lease)
            });
            match claimed {
                Ok(Some(hold)) => {
                    self.tell(&format!("{} begins {}", hold.worker, hold.task));
                    self.attempt(&hold);
                    self.launch.tidy();
                    // One whose agent could not be started is dead; the next task is for a new one.
                    if !self.worker_asking(hold.worker).rest(hold.worker).unwrap_or(true) {
                        worker = None;
                    }
                    idle_since = Instant::now();
                    continue;
                }
                Ok(None) => {}
                Err(error) => {
                    self.tell(&format!("no task could be claimed: {}", error_chain(&error)));
                    // A worker that others have declared dead joins anew.
                    if matches!(error, TaskError::Refused(_)) {
                        worker = None;
                    }
                }
            }
            if self.until == Until::Quiet && self.is_quiet() {
                break;
            }
            if idle_since.elapsed() >= IDLE
                && let Some(id) = worker.filter(|id| self.has_worked(*id))
            {
                self.go_home(id, WorkerEnd::Recycled("it had nothing to do for five minutes"));
                worker = None;
            }
            if self.ledger.wait_beyond(head, WAIT).is_err() {
                std::thread::sleep(WAIT);
            }
        }
        if let Some(id) = worker {
            let end = if self.is_leaving() {
                WorkerEnd::Gone(AbortReason::ShutdownSignal, "its process was told to stop")
            } else {
                WorkerEnd::Finished("there is nothing left to do")
            };
            self.go_home(id, end);
        }
    }

    fn join(&self, number: usize) -> Result<EntityId, TaskError> {
        let worker = NewWorker {
            title: format!("{} worker {number}", self.host.name()),
            role: self.query.role.clone(),
            profile: self.profile.name.clone(),
            process: self.host.this().ok(),
            by: None,
        };
        self.asking(self.system_actor()).join(&worker)
    }

    /// Has a worker finished a task, so that it can be recycled? One that waits for its first task is as fresh as the next one would be.
    fn has_worked(&self, worker: EntityId) -> bool {
        let stored = self.ledger.entity(worker).ok().flatten();
        stored.and_then(|stored| worker_state(&stored.entity)) == Some(WorkerState::Idle)
    }

    fn go_home(&self, worker: EntityId, end: WorkerEnd<'_>) {
        if let Err(error) = self.asking(self.system_actor()).bury(worker, end) {
            self.tell(&format!("{worker}: {}", error_chain(&error)));
        }
    }

    /// Does nothing on the board move by itself any more, as far as this crew is concerned?
    fn is_quiet(&self) -> bool {
        let now = self.now();
        self.live_tasks().is_ok_and(|live| !live.iter().any(|stored| self.moves(stored, now)))
            && self
                .approved_here()
                .is_ok_and(|approved| approved.iter().all(|(stored, _)| has_problem(stored)))
    }

    /// Will a task go on without a person, soon?
    fn moves(&self, stored: &Stored, now: Moment) -> bool {
        let facts = &stored.entity.facts;
        let role = facts.read(fact::ROLE);
        let labels = facts.read(fact::LABELS);
        let has = |(name, value): &(String, String)| matches!(labels.and_then(|labels| labels.get(name)), Some(Value::Text(own)) if own == value);
        let is_ours = self.query.role.as_deref().is_none_or(|own| role.is_none_or(|role| role == own))
            && self.query.labels.iter().all(has)
            && (self.query.repos.is_empty()
                || facts.read(fact::REPO).is_none_or(|repo| self.query.repos.iter().any(|own| own == repo)));
        let Some(next) = task::state(&stored.entity).and_then(|state| task::next_move(state, facts)) else {
            return false;
        };
        match next {
            NextMove::AnyWorker => is_ours,
            NextMove::Time(at) => is_ours && at.since(now) < PATIENCE,
            NextMove::Holder(_) | NextMove::Subtasks(_) | NextMove::Service(_) => true,
            NextMove::Dependency(_) => is_ours && task::waits_for_tasks(facts) && !is_blocked(stored),
            NextMove::Person(_) | NextMove::Nobody => false,
        }
    }
}

/// Does something keep an approved result from being merged that a person has to mend?
fn has_problem(stored: &Stored) -> bool {
    stored.entity.facts.read(fact::PROBLEM).is_some()
}

fn is_blocked(stored: &Stored) -> bool {
    stored.entity.facts.read(fact::BLOCKED_BY).is_some_and(|by| !by.is_empty())
}
