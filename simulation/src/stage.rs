//! The stage: actors take turns, one at a time, and whose turn it is follows from the choices.
//!
//! Invariant: an actor is a thread that runs only while it has the turn, and gives it away only in [`Stage::pause`] and
//! [`Stage::sleep`], which the world and the store call whenever an actor touches them. So every order in which their
//! steps can come is possible, and the same choices give the same order. An actor that was killed ends where it next touches the world.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::choices::{Choices, Schedule};
use crate::scene::Scene;

/// How many steps a run has at the most; one that needs more does not come to rest.
const STEPS_MAX: u64 = 30_000;
/// How much time a step takes, in microseconds.
const STEP_US: u64 = 500;
/// One step in so many gives the turn to somebody else.
const TURN_ODDS: u32 = 4;

thread_local! {
    /// Which actor this thread is; nothing outside of the stage, where nobody takes turns.
    static ACTOR: Cell<Option<usize>> = const { Cell::new(None) };
}

/// What unwinds an actor that was killed, or whose run is over.
struct Killed;

/// What an actor does.
pub(crate) type Act = Box<dyn FnOnce() + Send>;

/// The name of an actor, the host and the pid of its process if it has one, and what it does.
pub(crate) type Part = (String, Option<(usize, u32)>, Act);

/// What an actor is about.
struct Actor {
    name: String,
    /// The process that it is: host and pid.
    process: Option<(usize, u32)>,
    /// It waits until then.
    until_us: u64,
    is_done: bool,
    is_killed: bool,
}

/// Everything that changes.
pub(crate) struct State {
    pub(crate) choices: Choices,
    pub(crate) now_us: u64,
    pub(crate) scene: Scene,
    actors: Vec<Actor>,
    turn: Option<usize>,
    steps: u64,
    trace: Vec<String>,
    problem: Option<String>,
}

/// The stage of one run.
pub(crate) struct Stage {
    state: Mutex<State>,
    turns: Vec<Condvar>,
    over: Condvar,
    /// The clock of the store, in microseconds. It is read while somebody holds the state.
    store_us: AtomicI64,
}

/// How many actors a run has at the most.
const ACTORS_MAX: usize = 16;

impl State {
    /// Does something not hold?
    pub(crate) const fn is_blamed(&self) -> bool {
        self.problem.is_some()
    }

    /// Says what happened, for the trace.
    pub(crate) fn tell(&mut self, what: &str) {
        let who = self.turn.map_or("stage", |actor| self.actors[actor].name.as_str());
        self.trace.push(format!("{:>12.4} {who}: {what}", self.now_us as f64 / 1e6));
    }

    /// Something does not hold; the first such thing ends the run.
    pub(crate) fn blame(&mut self, problem: String) {
        self.tell(&format!("VIOLATION: {problem}"));
        self.problem.get_or_insert(problem);
    }

    /// Who has the turn.
    pub(crate) const fn at_turn(&self) -> Option<usize> {
        self.turn
    }

    /// Kills the actor that is a process.
    pub(crate) fn kill(&mut self, process: (usize, u32)) {
        for actor in &mut self.actors {
            if actor.process == Some(process) {
                (actor.is_killed, actor.until_us) = (true, 0);
            }
        }
    }

    /// Keeps the actor that is a process from running for a while.
    pub(crate) fn stall(&mut self, process: (usize, u32), until_us: u64) {
        for actor in &mut self.actors {
            if actor.process == Some(process) && !actor.is_done {
                actor.until_us = actor.until_us.max(until_us);
            }
        }
    }

    /// Who has the next turn: one of those who are ready, or the first who will be.
    fn next(&mut self, own: Option<usize>) -> Option<usize> {
        let ready = |state: &Self| -> Vec<usize> {
            let is_ready = |actor: &Actor| !actor.is_done && actor.until_us <= state.now_us;
            (0..state.actors.len()).filter(|at| is_ready(&state.actors[*at])).collect()
        };
        let mut found = ready(self);
        if found.is_empty() {
            let first =
                self.actors.iter().filter(|actor| !actor.is_done).map(|actor| actor.until_us).min()?;
            self.now_us = self.now_us.max(first);
            found = ready(self);
        }
        // Whoever is at work goes on by default, and otherwise the first.
        if let Some(at) = found.iter().position(|actor| Some(*actor) == own) {
            found.swap(0, at);
        }
        let odds = if found.first().copied() == own { TURN_ODDS } else { 2 };
        let choice = self.choices.choose(found.len() as u32, odds) as usize;
        found.get(choice).copied()
    }
}

impl Stage {
    pub(crate) fn new(choices: Choices, scene: Scene) -> Arc<Self> {
        let state = State {
            choices,
            now_us: 0,
            scene,
            actors: Vec::new(),
            turn: None,
            steps: 0,
            trace: Vec::new(),
            problem: None,
        };
        let turns = (0..ACTORS_MAX).map(|_| Condvar::new()).collect();
        Arc::new(Self { state: Mutex::new(state), turns, over: Condvar::new(), store_us: AtomicI64::new(0) })
    }

    /// What the clock of the store says, in microseconds since the beginning.
    pub(crate) fn store_us(&self) -> i64 {
        self.store_us.load(Ordering::SeqCst)
    }

    /// The store of one host goes by the clock of that host; a server has a clock of its own.
    fn set_store_clock(&self, state: &State) {
        let hosts = &state.scene.hosts;
        let ahead_us = if hosts.len() == 1 { hosts[0].ahead_us } else { 0 };
        self.store_us.store(state.now_us as i64 + ahead_us, Ordering::SeqCst);
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does this thread take turns?
    pub(crate) fn is_actor() -> bool {
        ACTOR.get().is_some() && !std::thread::panicking()
    }

    /// Runs `ask` without taking turns, as somebody who sees everything at once.
    pub(crate) fn aside<T>(ask: impl FnOnce() -> T) -> T {
        let actor = ACTOR.replace(None);
        let answer = ask();
        ACTOR.set(actor);
        answer
    }

    /// Plays these actors to their end.
    pub(crate) fn play(self: &Arc<Self>, acts: Vec<Part>) {
        assert!(acts.len() <= ACTORS_MAX, "BUG: too many actors");
        let mut threads = Vec::new();
        for (at, (name, process, act)) in acts.into_iter().enumerate() {
            let actor = Actor { name, process, until_us: 0, is_done: false, is_killed: false };
            self.lock().actors.push(actor);
            let stage = Arc::clone(self);
            threads.push(std::thread::spawn(move || stage.perform(at, act)));
        }
        let mut state = self.lock();
        state.turn = state.next(None);
        if let Some(turn) = state.turn {
            self.turns[turn].notify_one();
        }
        while state.turn.is_some() {
            state = self.over.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        drop(state);
        for thread in threads {
            // What an actor panicked with is the problem of the run.
            drop(thread.join());
        }
    }

    /// What came of it: what does not hold, the choices, and what happened.
    pub(crate) fn end(&self) -> (Option<String>, Schedule, Vec<String>) {
        let mut state = self.lock();
        (state.problem.take(), state.choices.taken(), std::mem::take(&mut state.trace))
    }

    fn perform(&self, own: usize, act: Act) {
        ACTOR.set(Some(own));
        let ended = catch_unwind(AssertUnwindSafe(|| {
            drop(self.wait(own, self.lock()));
            act();
        }));
        ACTOR.set(None);
        let mut state = self.lock();
        if let Err(panic) = ended
            && !panic.is::<Killed>()
        {
            let told = panic.downcast_ref::<String>().cloned();
            let told = told.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            state.blame(format!("a panic: {}", told.unwrap_or_default()));
        }
        state.actors[own].is_done = true;
        state.turn = state.next(None);
        self.set_store_clock(&state);
        match state.turn {
            Some(turn) => self.turns[turn].notify_one(),
            None => self.over.notify_one(),
        }
    }

    fn wait<'a>(&'a self, own: usize, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        while state.turn != Some(own) {
            state = self.turns[own].wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.actors[own].is_killed || state.problem.is_some() {
            drop(state);
            resume_unwind(Box::new(Killed));
        }
        state
    }

    /// Lets an actor live until `life` ends or it is killed; then it forgets everything and may begin another life. Was it killed?
    pub(crate) fn live(&self, life: impl FnOnce()) -> bool {
        let Err(panic) = catch_unwind(AssertUnwindSafe(life)) else { return false };
        let mut state = self.lock();
        let own = ACTOR.get().filter(|own| state.actors[*own].is_killed);
        match own.filter(|_| panic.is::<Killed>() && !state.is_blamed()) {
            Some(own) => state.actors[own].is_killed = false,
            None => {
                drop(state);
                resume_unwind(panic);
            }
        }
        true
    }

    /// A step of whoever is at work; others may have their turns before it returns.
    pub(crate) fn pause(&self, what: &str) {
        self.sleep(0, what);
    }

    /// Waits, while others have their turns.
    pub(crate) fn sleep(&self, us: u64, what: &str) {
        let Some(own) = ACTOR.get().filter(|_| !std::thread::panicking()) else { return };
        let mut state = self.lock();
        state.tell(what);
        state.steps += 1;
        state.now_us += STEP_US;
        if state.steps > STEPS_MAX {
            state.blame("it does not come to rest".to_owned());
        }
        crate::nemesis::strike(&mut state);
        Self::aside(|| crate::invariants::check(&mut state));
        state.actors[own].until_us = state.now_us + us;
        if state.actors[own].is_killed {
            state.actors[own].until_us = 0;
        }
        let next = state.next(Some(own));
        self.set_store_clock(&state);
        if next != Some(own) {
            state.turn = next;
            if let Some(turn) = next {
                self.turns[turn].notify_one();
            }
        }
        drop(self.wait(own, state));
    }
}
