//! The model: who may do what on the board, in any order, and what must hold in every state that can be reached.

use std::collections::hash_map::DefaultHasher;
use std::collections::{HashMap, HashSet};
use std::hash::{Hash, Hasher};
use std::sync::{Mutex, MutexGuard};

use callboard_lifecycle::task::TaskState;
use stateright::{Model, Property};

use super::board::{Board, Shown};

/// What a worker does for a task that it believes to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Verb {
    Heartbeat,
    Begin,
    Done,
    Fail,
    Block,
    Release,
    Split,
}

/// Which process of a worker acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Process {
    Present,
    /// One that was taken for dead, and of which its successor knows nothing.
    Late,
}

/// What recovery makes of the work of a worker that is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Recovery {
    Done,
    Open,
    Failed,
}

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Action {
    Tick,
    Claim(usize, usize),
    Act(usize, Process, Verb),
    /// The process is gone, with everything that it knew.
    Crash(usize),
    /// The process stands still and another one takes its place; it may go on later.
    Stall(usize),
    Service,
    Recover(usize, Recovery),
    Verify(usize, bool),
    Person(usize),
}

/// How large a model is.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) workers: usize,
    pub(crate) tasks: usize,
    /// How many tasks there are at the most, with those into which others are split.
    pub(crate) tasks_max: usize,
    /// How many processes at once may be taken for dead and go on.
    pub(crate) late_max: usize,
    /// How often a task is tried again by itself.
    pub(crate) retries: i64,
    pub(crate) verbs: &'static [Verb],
}

/// A model, and every step that was followed in it.
pub(crate) struct Claims {
    shape: Shape,
    graph: Mutex<Graph>,
}

/// Every step that was followed, by the states that it leads from and to.
#[derive(Default)]
pub(crate) struct Graph {
    back: HashMap<u64, Vec<u64>>,
    over: HashSet<u64>,
    all: HashSet<u64>,
}

impl Claims {
    pub(crate) fn new(shape: Shape) -> Self {
        Self { shape, graph: Mutex::default() }
    }

    pub(crate) fn graph(&self) -> MutexGuard<'_, Graph> {
        self.graph.lock().unwrap()
    }
}

impl Graph {
    fn add(&mut self, from: &Shown, to: &Shown) {
        let (early, late) = (mark(from), mark(to));
        self.back.entry(late).or_default().push(early);
        for (shown, at) in [(from, early), (to, late)] {
            let is_over = |state: TaskState| matches!(state, TaskState::Closed | TaskState::Cancelled);
            if self.all.insert(at) && shown.tasks.iter().all(|task| is_over(task.state)) {
                self.over.insert(at);
            }
        }
    }

    /// How many states there are from which no run closes every task.
    pub(crate) fn lost(&self) -> usize {
        let mut seen: HashSet<u64> = self.over.clone();
        let mut next: Vec<u64> = seen.iter().copied().collect();
        while let Some(at) = next.pop() {
            for from in self.back.get(&at).into_iter().flatten() {
                if seen.insert(*from) {
                    next.push(*from);
                }
            }
        }
        self.all.len() - seen.len()
    }
}

fn mark(shown: &Shown) -> u64 {
    let mut hasher = DefaultHasher::new();
    shown.hash(&mut hasher);
    hasher.finish()
}

impl Model for Claims {
    type State = Board;
    type Action = Action;

    fn init_states(&self) -> Vec<Board> {
        vec![Board::new(&self.shape)]
    }

    fn actions(&self, board: &Board, actions: &mut Vec<Action>) {
        // What follows a fault that was found tells nothing more.
        if board.shown().wrong.is_some() {
            return;
        }
        actions.extend([Action::Tick, Action::Service]);
        let is_room = board.shown().tasks.len() < self.shape.tasks_max;
        let late = (0..board.workers()).filter(|worker| board.believes(*worker, Process::Late)).count();
        for worker in 0..board.workers() {
            for process in [Process::Present, Process::Late] {
                if board.believes(worker, process) {
                    let verbs = self.shape.verbs.iter().filter(|verb| **verb != Verb::Split || is_room);
                    actions.extend(verbs.map(|verb| Action::Act(worker, process, *verb)));
                }
            }
            if board.believes(worker, Process::Present) {
                actions.push(Action::Crash(worker));
                if late < self.shape.late_max || board.believes(worker, Process::Late) {
                    actions.push(Action::Stall(worker));
                }
            }
        }
        for (at, task) in board.shown().tasks.iter().enumerate() {
            match task.state {
                TaskState::Open => {
                    let free = (0..board.workers()).filter(|worker| board.is_free(*worker));
                    actions.extend(free.map(|worker| Action::Claim(worker, at)));
                }
                TaskState::Orphaned => {
                    let all = [Recovery::Done, Recovery::Open, Recovery::Failed];
                    actions.extend(all.map(|how| Action::Recover(at, how)));
                }
                TaskState::Done => actions.extend([true, false].map(|good| Action::Verify(at, good))),
                TaskState::Failed | TaskState::Blocked => actions.push(Action::Person(at)),
                TaskState::Planned
                | TaskState::Claimed
                | TaskState::InProgress
                | TaskState::Closed
                | TaskState::WaitingForSubtasks
                | TaskState::Cancelled
                | TaskState::PendingApproval => {}
            }
        }
    }

    fn next_state(&self, board: &Board, action: Action) -> Option<Board> {
        let next = board.after(action)?;
        self.graph().add(board.shown(), next.shown());
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("nothing is wrong", |_, board: &Board| board.shown().wrong.is_none()),
            Property::always("every task has a next move", |_, board: &Board| {
                board.shown().tasks.iter().all(|task| task.has_next_move)
            }),
            Property::always("one holder at a time", |_, board: &Board| {
                let mut holds: Vec<usize> =
                    board.shown().workers.iter().flat_map(|worker| worker.holds.clone()).collect();
                let all = holds.len();
                holds.sort_unstable();
                holds.dedup();
                holds.len() == all
            }),
            Property::sometimes("a task is closed", |_, board: &Board| {
                board.shown().tasks.iter().any(|task| task.state == TaskState::Closed)
            }),
            Property::sometimes("a task is orphaned", |_, board: &Board| {
                board.shown().tasks.iter().any(|task| task.state == TaskState::Orphaned)
            }),
        ]
    }
}
