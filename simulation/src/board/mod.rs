//! The scene of the task board: the real acts and the real service, workers that fail, stall, die and come back late, a janitor, a recovery
//! and a person.
//!
//! Invariant: everybody but the watcher can be killed at every step, forgets everything and begins again. Deliberately absent: processes,
//! worktrees and git, which the acts do not touch.

mod office;
mod truth;
mod worker;

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use callboard_engine::tasks::{Asking, NewTask, TaskError};
use callboard_engine::{Clock, World};
use callboard_kernel::{Actor, EntityId, Moment};
use callboard_ledger::{Ledger, Medium, Memory};
use callboard_lifecycle::{ActorClass, Kind};
use callboard_wire::TaskRequest;
use uuid::Uuid;

use crate::choices::Choices;
use crate::invariants;
use crate::play::Played;
use crate::scene::{Faults, Scene};
use crate::stage::{Act, Part, Stage};
use crate::world::{Disk, SimWorld};

pub(crate) use truth::Truth;

/// How many processes work on tasks.
const WORKERS: usize = 3;

thread_local! {
    /// Who names something, and how often it has.
    static NAMER: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

/// Names that follow from who gives them and when, so that the same seed gives the same ones.
fn name(kind: Kind, now: Moment) -> EntityId {
    let (who, nth) = NAMER.get();
    NAMER.set((who, nth + 1));
    let millis = u128::from(now.as_micros().unsigned_abs() / 1000);
    EntityId::new(kind, Uuid::from_u128(millis << 80 | 0x7000_8000 << 48 | u128::from(who << 32 | nth)))
}

/// Plays one run with a task board.
pub(crate) fn play(mut choices: Choices) -> Played {
    let mut scene = Scene::new(&mut choices);
    // Nobody is called here and no process is looked at. Which lease is in force follows from one clock, which does not jump.
    scene.faults = Faults { reused_pids: false, clocks: false, network: false, stuck: false, ..scene.faults };
    let has_twin = choices.pick(2) == 1;
    scene.board = Some(Truth::new(WORKERS, has_twin));
    let hosts = scene.hosts.len();
    let stage = Stage::new(choices, scene);
    let disk = Arc::new(Disk::default());
    let memory = Memory::on("simulated board", Arc::clone(&disk) as Arc<dyn Medium>);
    disk.0.get_or_init(|| Arc::clone(&stage));
    let ledger = Ledger::direct(&memory);
    stage.lock().scene.ledger = Some(ledger.clone());
    file(&stage, &ledger);
    let mut acts: Vec<Part> = Vec::new();
    let mut add = |name: &str, host: usize, act: &dyn Fn(SimWorld, Memory) -> Act| {
        let world = SimWorld::start(&stage, host % hosts);
        acts.push((name.to_owned(), Some((world.host, world.pid)), act(world, memory.clone())));
    };
    for nth in 0..WORKERS {
        add(&format!("worker{nth}"), nth, &|world, memory| worker::worker(world, memory, nth));
    }
    add("service", 0, &office::service);
    add("janitor", 1, &office::janitor);
    add("recovery", 0, &office::recovery);
    add("person", 1, &office::person);
    add("watcher", 0, &watcher);
    stage.play(acts);
    if !stage.lock().is_blamed() {
        invariants::finish(&mut stage.lock(), &ledger);
    }
    let (problem, schedule, trace) = stage.end();
    let records = ledger.head().unwrap_or(0);
    // The disk, the store and the stage know each other; what holds them together is let go.
    stage.lock().scene.ledger = None;
    Played { problem, schedule, trace, records }
}

/// Puts the tasks on the board with which a run begins.
fn file(stage: &Arc<Stage>, ledger: &Ledger) {
    NAMER.set((99, 0));
    let world = SimWorld::start(stage, 0);
    let person = Actor::new(ActorClass::Operator, "person");
    let count = 2 + stage.lock().choices.pick(3);
    let mut before: Option<EntityId> = None;
    for nth in 0..count {
        let now = world.now().plus(Duration::from_millis(u64::from(nth)));
        let pick = |sides| stage.lock().choices.pick(sides);
        let mut request = TaskRequest { title: format!("task {nth}"), ..TaskRequest::default() };
        request.max_retries = Some(i64::from(pick(3)));
        match (pick(4), before) {
            (1, Some(before)) => request.after.push(before.to_string()),
            (2, Some(before)) => request.after.push(format!("{before}:ended")),
            (3, _) => request.gates.push(format!("time:{}", now.plus(Duration::from_secs(45)))),
            _ => {}
        }
        if pick(2) == 1 {
            request.files.push("src/lib.rs".to_owned());
        }
        let asking = Asking::new(ledger, person.clone(), now).naming(name);
        let added = NewTask::read(&request, ActorClass::Operator).and_then(|new| asking.add(new));
        match added {
            Ok(id) => before = Some(id),
            Err(error) => stage.lock().blame(format!("a task was not added: {error}")),
        }
    }
}

/// Lets things go wrong for a while, then waits until nothing happens any more.
fn watcher(world: SimWorld, memory: Memory) -> Act {
    Box::new(move || {
        world.enter();
        let span = 120 + 60 * world.state(|state| u64::from(state.choices.pick(3)));
        world.sleep(Duration::from_secs(span));
        world.state(|state| {
            state.scene.is_calm = true;
            state.tell("from here on nothing goes wrong");
        });
        let ledger = Ledger::direct(&memory);
        let mut head = None;
        // Longer than a parent waits for its subtasks before somebody is told.
        for _ in 0..30 {
            let newest = Stage::aside(|| ledger.head().ok());
            if head.is_some() && head == newest {
                world.state(|state| state.scene.board.iter_mut().for_each(|board| board.is_over = true));
                return;
            }
            head = newest;
            world.sleep(Duration::from_secs(4_000));
        }
        world.state(|state| state.blame("the board does not come to rest".to_owned()));
    })
}

/// An actor that goes round until the run is over, and begins again after it was killed.
fn goes_round(
    world: SimWorld,
    memory: Memory,
    (who, pause_s, calm_s): (u64, u64, u64),
    mut round: impl FnMut(&SimWorld, &Ledger, &mut bool) + Send + 'static,
) -> Act {
    let process = (world.host, world.pid);
    Box::new(move || {
        world.enter();
        NAMER.set((who, 0));
        let ledger = Ledger::direct(&memory);
        let mut is_new = true;
        while !is_over(&world) {
            let was_killed = world.stage.live(|| {
                // Not before it lives: whoever dies between two lives would not begin another one.
                world.state(|state| may_die(state, process));
                while !is_over(&world) {
                    round(&world, &ledger, &mut is_new);
                    let (is_calm, more) = world.state(|state| {
                        let is_calm = state.scene.is_calm;
                        (is_calm, if is_calm { 0 } else { u64::from(state.choices.pick(4)) })
                    });
                    world.sleep(Duration::from_secs(if is_calm { calm_s } else { pause_s + 3 * more }));
                }
            });
            if was_killed {
                is_new = true;
                world.sleep(Duration::from_secs(8));
            }
        }
    })
}

/// The nemesis may kill or stop this process.
fn may_die(state: &mut crate::stage::State, process: (usize, u32)) {
    if state.scene.supervisors.insert(process) {
        state.scene.at_work += 1;
    }
}

fn is_over(world: &SimWorld) -> bool {
    world.state(|state| state.scene.board.as_ref().is_some_and(|board| board.is_over))
}

fn asking<'a>(world: &SimWorld, ledger: &'a Ledger, actor: Actor) -> Asking<'a> {
    Asking::new(ledger, actor, world.now()).naming(name)
}

/// Tries again for as long as the store fails; whether it was taken.
fn insist<T>(world: &SimWorld, mut act: impl FnMut() -> Result<T, TaskError>) -> Option<T> {
    for _ in 0..4 {
        match act() {
            Ok(answer) => return Some(answer),
            Err(TaskError::Store(_) | TaskError::Read(_)) => world.sleep(Duration::from_secs(1)),
            Err(TaskError::Refused(_) | TaskError::Unfit { .. } | TaskError::NotFound { .. }) => return None,
        }
    }
    None
}
