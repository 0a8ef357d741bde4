//! One run with a task board: the tasks with which it begins, who takes part, and when it is over.

use std::sync::Arc;
use std::time::Duration;

use callboard_engine::tasks::{Asking, NewTask};
use callboard_engine::{Clock, World};
use callboard_kernel::{Actor, EntityId};
use callboard_ledger::{Ledger, Medium, Memory};
use callboard_lifecycle::ActorClass;
use callboard_wire::TaskRequest;

use super::rounds::{name, names_as};
use super::{Truth, office, worker};
use crate::choices::Choices;
use crate::invariants;
use crate::play::Played;
use crate::scene::{Faults, Scene};
use crate::stage::{Act, Part, Stage};
use crate::world::{Disk, SimWorld};

/// How many processes work on tasks.
const WORKERS: usize = 3;

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
    names_as(99);
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
