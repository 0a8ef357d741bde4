//! The task board as the model sees it: a real store, and beside it who was really granted what.
//!
//! Invariant: every act is the engine's own, on a copy of the store at the moment of the model; the truth is kept from the answers alone and
//! never read from the engine's judgement. Two boards are the same state if nothing that follows can tell them apart: moments count
//! from now, of an epoch it counts only whether it is the newest, and workers have no names.

use std::cell::Cell;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use callboard_engine::Clock;
use callboard_engine::tasks::{
    Asking, Block, Done, Hold, NewTask, NewWorker, Rejection, RetryTime, TaskError, TaskFailure, TaskService,
};
use callboard_kernel::task::{self, Dependency};
use callboard_kernel::{
    Actor, Command, EntityId, EvidenceRef, Facts, Moment, Order, StateReason, Transition, fact, turn_state,
    worker_state,
};
use callboard_ledger::{LeaseSeen, Ledger, Medium, Memory, Page, RecordScope, Request};
use callboard_lifecycle::task::{TaskState, TaskTrigger};
use callboard_lifecycle::task_turn::TaskTurnState;
use callboard_lifecycle::worker::WorkerState;
use callboard_lifecycle::{ActorClass, Kind, ReasonCode};
use callboard_wire::TaskRequest;
use uuid::Uuid;

use super::model::{Action, Process, Recovery, Shape, Verb};

const BEGINNING: Moment = Moment::from_micros(1_800_000_000_000_000);
const TICK: Duration = Duration::from_secs(10);
/// How many ticks a lease lasts.
const LEASE: i64 = 2;
/// How many ticks a parent waits for its subtasks.
const OVERDUE: i64 = 3;

/// One state of the model.
#[derive(Clone)]
pub(crate) struct Board {
    store: Memory,
    tick: i64,
    retries: i64,
    tasks: Vec<Truth>,
    workers: Vec<Worker>,
    shown: Shown,
}

/// What really happened to a task.
#[derive(Clone)]
struct Truth {
    id: EntityId,
    grant: Option<Grant>,
    ends: u8,
}

/// The newest lease of a task.
#[derive(Clone)]
struct Grant {
    epoch: u64,
    until: i64,
    is_over: bool,
    completions: u8,
}

/// A worker: the process that it is, and one that was taken for dead and may act late.
#[derive(Clone)]
struct Worker {
    id: EntityId,
    present: Option<Hold>,
    late: Option<Hold>,
}

/// What distinguishes one state from another.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) tasks: Vec<TaskShown>,
    pub(crate) workers: Vec<WorkerShown>,
    /// What does not hold, if anything does not.
    pub(crate) wrong: Option<String>,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub(crate) struct TaskShown {
    pub(crate) state: TaskState,
    pub(crate) has_next_move: bool,
    turn: Option<TaskTurnState>,
    retries: i64,
    is_final: bool,
    unmet: usize,
    is_blocked: bool,
    /// Ticks until it is due, until its lease ends, and since it waits for its subtasks.
    due: i64,
    left: i64,
    waits: i64,
    /// Until its lease ends as the store says.
    stored: i64,
    ends: u8,
    completions: u8,
}

/// What a process believes to hold: the task, whether its epoch is the newest in truth and in the store, and where its turn is.
type Believed = (usize, bool, bool, Option<usize>);

#[derive(Clone, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WorkerShown {
    state: Option<usize>,
    present: Option<Believed>,
    late: Option<Believed>,
    /// The tasks that it holds as the store says.
    pub(crate) holds: Vec<usize>,
}

impl PartialEq for Board {
    fn eq(&self, other: &Self) -> bool {
        self.shown == other.shown
    }
}

impl Hash for Board {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.shown.hash(hasher);
    }
}

impl std::fmt::Debug for Board {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "tick {}: {:?}", self.tick, self.shown)
    }
}

/// A store and a service that stand at one moment.
struct At(Moment);

impl Medium for At {
    fn now(&self) -> Moment {
        self.0
    }
}

impl Clock for At {
    fn now(&self) -> Moment {
        self.0
    }
}

thread_local! {
    static NAMED: Cell<u64> = const { Cell::new(0) };
}

/// Names that follow from the history alone, so that the same actions give the same ids.
fn name(kind: Kind, now: Moment) -> EntityId {
    let millis = (now.as_micros() / 1000) as u128;
    NAMED.set(NAMED.get() + 1);
    EntityId::new(kind, Uuid::from_u128(millis << 80 | 0x7000_8000 << 48 | u128::from(NAMED.get())))
}

fn system() -> Actor {
    Actor::new(ActorClass::System, "model")
}

fn acting(worker: EntityId) -> Actor {
    Actor::new(ActorClass::Worker, worker.to_string())
}

fn request(title: &str, retries: i64) -> NewTask {
    let request =
        TaskRequest { title: title.to_owned(), max_retries: Some(retries), ..TaskRequest::default() };
    NewTask::read(&request, ActorClass::Operator).unwrap()
}

/// Was it taken? A store that fails is a defect of the model.
fn taken<T>(answer: Result<T, TaskError>) -> Option<T> {
    match answer {
        Ok(answer) => Some(answer),
        Err(TaskError::Refused(_) | TaskError::Unfit { .. } | TaskError::NotFound { .. }) => None,
        Err(error) => panic!("the store failed: {error:?}"),
    }
}

impl Board {
    /// A board with open tasks and workers that have nothing to do.
    pub(crate) fn new(shape: &Shape) -> Self {
        let store = Memory::on("model", Arc::new(At(BEGINNING)));
        let ledger = Ledger::direct(&store);
        NAMED.set(0);
        let person = Actor::new(ActorClass::Operator, "person");
        let added = |nth: usize| {
            let now = BEGINNING.plus(Duration::from_millis(nth as u64));
            let id = Asking::new(&ledger, person.clone(), now)
                .naming(name)
                .add(request("work", shape.retries))
                .unwrap();
            Truth { id, grant: None, ends: 0 }
        };
        let joined = |_: usize| {
            let asking = Asking::new(&ledger, system(), BEGINNING).naming(name);
            Worker { id: asking.join(&NewWorker::default()).unwrap(), present: None, late: None }
        };
        let (tasks, workers) =
            ((0..shape.tasks).map(added).collect(), (0..shape.workers).map(joined).collect());
        let shown = Shown { tasks: Vec::new(), workers: Vec::new(), wrong: None };
        let mut board = Self { store, tick: 0, retries: shape.retries, tasks, workers, shown };
        board.look(&ledger);
        board
    }

    pub(crate) const fn shown(&self) -> &Shown {
        &self.shown
    }

    pub(crate) fn workers(&self) -> usize {
        self.workers.len()
    }

    /// Does this process believe that it holds something?
    pub(crate) fn believes(&self, worker: usize, process: Process) -> bool {
        self.belief(worker, process).is_some()
    }

    /// Does a worker know of nothing that it still has to do?
    pub(crate) fn is_free(&self, worker: usize) -> bool {
        self.belief(worker, Process::Present).is_none_or(|hold| !self.is_in_force(hold))
    }

    fn belief(&self, worker: usize, process: Process) -> Option<&Hold> {
        match process {
            Process::Present => self.workers[worker].present.as_ref(),
            Process::Late => self.workers[worker].late.as_ref(),
        }
    }

    fn task(&self, id: EntityId) -> usize {
        self.tasks.iter().position(|truth| truth.id == id).unwrap()
    }

    /// Is the lease of a hold the newest, neither ended nor past its time?
    fn is_in_force(&self, hold: &Hold) -> bool {
        let grant = self.tasks[self.task(hold.task)].grant.as_ref();
        grant.is_some_and(|grant| grant.epoch == hold.epoch && !grant.is_over && grant.until > self.tick)
    }

    fn now(&self) -> Moment {
        BEGINNING.plus(TICK * self.tick as u32).plus(Duration::from_secs(1))
    }

    /// The board after an action; nothing if it changes nothing.
    pub(crate) fn after(&self, action: Action) -> Option<Self> {
        let mut next = self.clone();
        match action {
            Action::Tick => next.tick += 1,
            Action::Crash(worker) => next.workers[worker].present = None,
            Action::Stall(worker) => next.workers[worker].late = next.workers[worker].present.take(),
            Action::Claim(..)
            | Action::Act(..)
            | Action::Service
            | Action::Recover(..)
            | Action::Verify(..)
            | Action::Person(_) => {}
        }
        next.store = self.store.fork(Arc::new(At(next.now())));
        let ledger = Ledger::direct(&next.store);
        let head = ledger.head().unwrap();
        NAMED.set(head);
        let is_done = match action {
            Action::Tick | Action::Crash(_) | Action::Stall(_) => true,
            Action::Claim(worker, task) => next.claim(&ledger, worker, task),
            Action::Act(worker, process, verb) => next.act(&ledger, worker, process, verb),
            Action::Service => {
                let clock = Arc::new(At(next.now()));
                let mut service = TaskService::new(clock, TICK * OVERDUE as u32);
                taken(service.step_alone(&ledger, head)).is_some() && ledger.head().unwrap() > head
            }
            Action::Recover(task, how) => next.recover(&ledger, task, how),
            Action::Verify(task, is_good) => next.verify(&ledger, task, is_good),
            Action::Person(task) => next.decide(&ledger, task),
        };
        if !is_done {
            return None;
        }
        next.follow(&ledger, head, action);
        next.look(&ledger);
        Some(next)
    }

    fn asking<'a>(&self, ledger: &'a Ledger, actor: Actor) -> Asking<'a> {
        Asking::new(ledger, actor, self.now()).naming(name)
    }

    fn claim(&mut self, ledger: &Ledger, worker: usize, task: usize) -> bool {
        let (id, task) = (self.workers[worker].id, self.tasks[task].id);
        let hold = taken(self.asking(ledger, acting(id)).claim(id, task, TICK * LEASE as u32));
        let is_taken = hold.is_some();
        self.workers[worker].present = hold.or(self.workers[worker].present.take());
        is_taken
    }

    fn act(&mut self, ledger: &Ledger, worker: usize, process: Process, verb: Verb) -> bool {
        let Some(hold) = self.belief(worker, process).cloned() else { return false };
        let was_in_force = self.is_in_force(&hold);
        let asking = self.asking(ledger, acting(hold.worker));
        let failed = || TaskFailure::new(const { ReasonCode::of("task.failed.reported") }, "it did not work");
        let done = || Done { summary: "done".into(), evidence: "exit 0".into(), data: Facts::none() };
        let soon = [Block::Dependency(Dependency::Time { at: self.now().plus(TICK) })];
        let is_taken = match verb {
            Verb::Heartbeat => taken(asking.heartbeat(&hold, TICK * LEASE as u32)).is_some(),
            Verb::Begin => taken(asking.begin(&hold, "a line")).is_some(),
            Verb::Done => taken(asking.report_done(&hold, &done())).is_some(),
            Verb::Fail => taken(asking.report_failed(&hold, &failed())).is_some(),
            Verb::Block => taken(asking.block(&hold, &soon, "not there")).is_some(),
            Verb::Release => taken(asking.release(&hold, "not mine", None)).is_some(),
            Verb::Split => match taken(asking.split(&hold, vec![request("part", self.retries)])) {
                Some(parts) => {
                    self.tasks.extend(parts.into_iter().map(|id| Truth { id, grant: None, ends: 0 }));
                    true
                }
                None => false,
            },
        };
        if is_taken && !was_in_force {
            self.blame(format!("{verb:?} was taken without a lease in force"));
        }
        let task = self.task(hold.task);
        if is_taken
            && verb == Verb::Heartbeat
            && let Some(grant) = &mut self.tasks[task].grant
        {
            grant.until = self.tick + LEASE;
        }
        is_taken
    }

    fn recover(&self, ledger: &Ledger, task: usize, how: Recovery) -> bool {
        let asking = self.asking(ledger, system());
        let stored = asking.task(self.tasks[task].id).unwrap();
        match how {
            Recovery::Done => {
                let code = const { ReasonCode::of("task.done.recovered") };
                let why = StateReason::new(code, "it was there").shown_by(EvidenceRef::tool_result("diff"));
                let order = Order::Transition(Transition::to(TaskState::Done, why));
                let command = Command::new(stored.entity.state.id, order);
                ledger.append(Request { command, actor: system(), now: self.now(), cause: None }).is_ok()
            }
            Recovery::Open => {
                taken(asking.retry(stored.entity.state.id, "nothing was there", RetryTime::Same)).is_some()
            }
            Recovery::Failed => {
                let code = const { ReasonCode::of("task.failed.recovery") };
                let failure = TaskFailure::new(code, "it was of no use");
                taken(asking.reject(&stored, &Rejection { failure, verdicts: Vec::new() })).is_some()
            }
        }
    }

    fn verify(&self, ledger: &Ledger, task: usize, is_good: bool) -> bool {
        let asking = self.asking(ledger, system());
        let stored = asking.task(self.tasks[task].id).unwrap();
        if is_good {
            return taken(asking.close(&stored, &Facts::none(), "merged")).is_some();
        }
        let failure = TaskFailure::new(const { ReasonCode::of("task.failed.verification") }, "a test failed");
        taken(asking.reject(&stored, &Rejection { failure, verdicts: Vec::new() })).is_some()
    }

    fn decide(&self, ledger: &Ledger, task: usize) -> bool {
        let asking = self.asking(ledger, Actor::new(ActorClass::Operator, "person"));
        let id = self.tasks[task].id;
        if self.shown.tasks[task].state == TaskState::Failed {
            return taken(asking.retry(id, "once more", RetryTime::Same)).is_some();
        }
        taken(asking.unblock(id, "it is there")).is_some()
    }

    fn blame(&mut self, problem: String) {
        self.shown.wrong.get_or_insert(problem);
    }

    /// Compares what was recorded with the truth, and takes it over.
    fn follow(&mut self, ledger: &Ledger, head: u64, action: Action) {
        let records = ledger.records(Page { after: head, limit: 100, scope: RecordScope::All }).unwrap();
        for event in records.iter().map(|record| record.event().unwrap()) {
            if event.entity.kind() != Kind::Task {
                continue;
            }
            let at = self.task(event.entity);
            let in_force = self.tasks[at].grant.clone().filter(|old| !old.is_over && old.until > self.tick);
            let epoch = event.data.read(fact::LEASE_EPOCH).map(|epoch| epoch as u64);
            if let Some(epoch) = epoch {
                if in_force.is_some() {
                    self.blame("a task was granted that another one holds".into());
                }
                if self.tasks[at].grant.as_ref().is_some_and(|old| old.epoch >= epoch) {
                    self.blame("an epoch was given twice".into());
                }
                let until = self.tick + LEASE;
                self.tasks[at].grant = Some(Grant { epoch, until, is_over: false, completions: 0 });
            } else if event.data.get(fact::LEASE_HOLDER.name()).is_some() {
                if in_force.is_some() && action == Action::Service {
                    self.blame("a lease in force was taken away".into());
                }
                self.tasks[at].grant.iter_mut().for_each(|grant| grant.is_over = true);
            }
            let is_completion = event.trigger == Some(TaskTrigger::WorkReported.into());
            if let Some(grant) = self.tasks[at].grant.as_mut().filter(|_| is_completion) {
                grant.completions += 1;
                if grant.completions > 1 {
                    self.blame("one claim was completed twice".into());
                }
            }
            if matches!(task::of(event.to), Some(TaskState::Closed | TaskState::Cancelled)) {
                self.tasks[at].ends += 1;
                if self.tasks[at].ends > 1 {
                    self.blame("a task ended twice".into());
                }
            }
        }
    }

    /// Looks at everything by which one state differs from another.
    fn look(&mut self, ledger: &Ledger) {
        let leases = ledger.leases().unwrap();
        let lease = |id: EntityId| leases.iter().find(|seen| seen.lease.name == id.to_string());
        let task = |at: usize| self.look_at_task(ledger, at, lease(self.tasks[at].id));
        self.shown.tasks = (0..self.tasks.len()).map(task).collect();
        let worker = |worker: &Worker| {
            let entity = ledger.entity(worker.id).unwrap().unwrap().entity;
            let believed = |hold: &Option<Hold>| {
                let hold = hold.as_ref()?;
                let task = self.task(hold.task);
                let is_newest =
                    self.tasks[task].grant.as_ref().is_some_and(|grant| grant.epoch == hold.epoch);
                let is_stored = lease(hold.task).is_some_and(|seen| seen.lease.epoch == hold.epoch);
                let turn = ledger.entity(hold.turn).unwrap().and_then(|turn| turn_state(&turn.entity));
                Some((task, is_newest, is_stored, turn.map(|state| state as usize)))
            };
            let holder = |at: &usize| {
                let task = ledger.entity(self.tasks[*at].id).unwrap().unwrap().entity;
                task.facts.read(fact::LEASE_HOLDER) == Some(worker.id.to_string().as_str())
            };
            WorkerShown {
                state: worker_state(&entity).map(|state: WorkerState| state as usize),
                present: believed(&worker.present),
                late: believed(&worker.late),
                holds: (0..self.tasks.len()).filter(holder).collect(),
            }
        };
        let mut workers: Vec<WorkerShown> = self.workers.iter().map(worker).collect();
        workers.sort();
        self.shown.workers = workers;
    }

    fn look_at_task(&self, ledger: &Ledger, at: usize, lease: Option<&LeaseSeen>) -> TaskShown {
        let truth = &self.tasks[at];
        let entity = ledger.entity(truth.id).unwrap().unwrap().entity;
        let facts = &entity.facts;
        let state = task::state(&entity).unwrap();
        let turn: Option<EntityId> = facts.read(fact::TASK_TURN).map(|text| text.parse().unwrap());
        let turn = turn.and_then(|turn| ledger.entity(turn).unwrap());
        let ticks = |moment: Moment| {
            let micros = moment.as_micros() - self.now().as_micros();
            (micros.max(0) as u128).div_ceil(TICK.as_micros()) as i64
        };
        let time = |by| if let Dependency::Time { at } = by { Some(ticks(at)) } else { None };
        let times = task::dependencies(facts, fact::BLOCKED_BY).into_iter().filter_map(time);
        let is_blocked = state == TaskState::Blocked;
        let blocked_for = times.max().filter(|_| is_blocked).unwrap_or(0);
        let since = facts.read(fact::WAITS_SUBTASKS_SINCE).filter(|_| state == TaskState::WaitingForSubtasks);
        let waited = |since: Moment| (self.now().since(since).as_secs() / TICK.as_secs()) as i64;
        let grant = truth.grant.as_ref().filter(|grant| !grant.is_over);
        TaskShown {
            state,
            has_next_move: task::next_move(state, facts).is_some(),
            turn: turn.and_then(|turn| turn_state(&turn.entity)),
            retries: facts.read(fact::RETRIES).unwrap_or(0),
            is_final: facts.read(fact::IS_FINAL) == Some(true) && state == TaskState::Failed,
            unmet: task::dependencies(facts, fact::UNMET).len(),
            is_blocked: is_blocked && blocked_for == 0,
            due: facts.read(fact::NOT_BEFORE).map_or(0, ticks).max(blocked_for),
            left: grant.map_or(0, |grant| (grant.until - self.tick).max(0)),
            stored: lease.map_or(0, |seen| (seen.left.as_micros().div_ceil(TICK.as_micros())) as i64),
            waits: since.map_or(0, |since| waited(since).min(OVERDUE)),
            ends: truth.ends,
            completions: truth.grant.as_ref().map_or(0, |grant| grant.completions),
        }
    }
}
