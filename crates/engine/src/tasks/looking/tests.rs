//! Workers as they are seen: their processes, leases and turns on a real store, with a process table that says what is to be seen.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use callboard_kernel::health::{Hold as ProcessHold, Place, Sighting};
use callboard_kernel::{Actor, EntityId, Moment};
use callboard_ledger::{Ledger, Medium, Memory};
use callboard_lifecycle::ActorClass;
use callboard_supervisor::Identity;
use callboard_wire::{TaskRequest, WorkerShape};

use super::{WorkersWanted, workers};
use crate::judging::ProcessTable;
use crate::tasks::{Asking, Done, Hold, LEASE, NewTask, NewWorker, WorkerEnd};

const NOW: Moment = Moment::from_micros(1_800_000_000_000_000);

/// One process, as it is to be seen.
struct Table {
    here: Place,
    seen: Cell<Sighting>,
}

impl ProcessTable for Table {
    fn here(&self) -> &Place {
        &self.here
    }

    fn look(&self, _: u32) -> Sighting {
        self.seen.get()
    }
}

const ALIVE: Sighting = Sighting::Seen { started_ticks: 9, hold: None };

/// A medium whose clock is set by the test.
#[derive(Default)]
struct SetClock(AtomicI64);

impl Medium for SetClock {
    fn now(&self) -> Moment {
        Moment::from_micros(self.0.load(Ordering::Acquire))
    }
}

struct Scene {
    clock: Arc<SetClock>,
    ledger: Ledger,
    table: Table,
}

impl Scene {
    fn new() -> Self {
        let here = Place { host: "a".into(), boot: "b".into(), pid_ns: Some(1), ..Place::default() };
        let clock = Arc::new(SetClock::default());
        clock.0.store(NOW.as_micros(), Ordering::Release);
        let ledger = Ledger::direct(&Memory::on("workers", clock.clone()));
        Self { clock, ledger, table: Table { here, seen: Cell::new(ALIVE) } }
    }

    fn asking(&self, actor: Actor) -> Asking<'_> {
        Asking::new(&self.ledger, actor, NOW)
    }

    fn joined(&self, host: &str, is_process: bool) -> EntityId {
        let process = is_process.then(|| Identity {
            host: host.to_owned(),
            machine: None,
            boot: if host == "a" { "b" } else { "elsewhere" }.to_owned(),
            pid_ns: Some(1),
            time_ns: None,
            pid: 7,
            started_ticks: 9,
        });
        let by = (!is_process).then(|| "ann".to_owned());
        let worker = NewWorker { title: host.to_owned(), process, by, ..NewWorker::default() };
        self.asking(Actor::new(ActorClass::System, "crew")).join(&worker).unwrap()
    }

    fn claimed(&self, worker: EntityId) -> (Asking<'_>, Hold) {
        let request = TaskRequest { title: "work".to_owned(), ..TaskRequest::default() };
        let person = self.asking(Actor::new(ActorClass::Operator, "ann"));
        let task = person.add(NewTask::read(&request, ActorClass::Operator).unwrap()).unwrap();
        let asking = self.asking(Actor::new(ActorClass::Worker, worker.to_string()));
        let hold = asking.claim(worker, task, LEASE).unwrap();
        (asking, hold)
    }

    fn at(&self, after: Duration) -> Vec<WorkerShape> {
        workers(&self.ledger, &self.table, WorkersWanted::Live, NOW.plus(after)).unwrap().items
    }

    /// The visual state of the only worker.
    fn visual(&self, after: Duration) -> String {
        let all = self.at(after);
        assert_eq!(all.len(), 1, "{all:?}");
        all[0].visual.clone()
    }
}

const SOON: Duration = Duration::from_secs(1);
const LATER: Duration = Duration::from_secs(61);

#[test]
fn a_worker_is_shown_by_its_process_its_lease_and_its_turn() {
    let scene = Scene::new();
    let worker = scene.joined("a", true);
    assert_eq!((scene.visual(SOON), scene.visual(LATER)), ("spawning".into(), "idle".into()));
    let (asking, hold) = scene.claimed(worker);
    assert_eq!(scene.visual(SOON), "spawning");
    asking.begin(&hold, "a line").unwrap();
    assert_eq!(scene.visual(SOON), "running");
    let shown = scene.at(SOON).remove(0);
    assert_eq!(
        (shown.pid, shown.host.as_deref(), shown.task_title.as_deref()),
        (Some(7), Some("a"), Some("work"))
    );
    assert_eq!((shown.turn_state.as_deref(), shown.indicator.as_str()), (Some("running"), "●"));
    assert!(shown.last_heard_at.is_some(), "a lease says when it was renewed");
    scene.table.seen.set(Sighting::Seen { started_ticks: 9, hold: Some(ProcessHold::Signal) });
    assert_eq!(scene.visual(SOON), "stalled");
    for dead in [Sighting::Gone, Sighting::Seen { started_ticks: 10, hold: None }] {
        scene.table.seen.set(dead);
        assert_eq!(scene.visual(SOON), "dead", "a worker whose process is gone never runs");
    }
    scene.table.seen.set(ALIVE);
    let done = Done { summary: "did it".into(), evidence: "a line".into(), ..Done::default() };
    asking.report_done(&hold, &done).unwrap();
    assert_eq!(scene.visual(SOON), "merging");
    let shown = scene.at(SOON).remove(0);
    assert_eq!((shown.state.as_deref(), shown.turn_state.as_deref()), (Some("idle"), Some("verifying")));
    let system = scene.asking(Actor::new(ActorClass::System, "crew"));
    system.bury(worker, WorkerEnd::Finished("there is nothing left to do")).unwrap();
    assert!(scene.at(SOON).is_empty());
    let lately = |after: Duration| {
        workers(&scene.ledger, &scene.table, WorkersWanted::Lately, NOW.plus(after)).unwrap().items
    };
    let ended = lately(SOON);
    assert_eq!((ended[0].visual.as_str(), ended[0].why.as_str()), ("dead", "it finished and exited"));
    assert!(lately(Duration::from_hours(25)).is_empty());
}

#[test]
fn a_worker_whose_lease_is_over_has_stalled() {
    for is_process in [true, false] {
        let scene = Scene::new();
        let worker = scene.joined("a", is_process);
        let (asking, hold) = scene.claimed(worker);
        asking.begin(&hold, "a line").unwrap();
        assert_eq!(scene.visual(SOON), "running");
        scene.clock.0.store(NOW.plus(LEASE + SOON).as_micros(), Ordering::Release);
        assert_eq!(scene.visual(SOON), "stalled", "{is_process}");
    }
}

#[test]
fn a_worker_of_another_host_is_judged_by_its_lease_and_else_unknown() {
    let scene = Scene::new();
    scene.table.seen.set(Sighting::Gone);
    let worker = scene.joined("z", true);
    assert_eq!((scene.visual(SOON), scene.visual(LATER)), ("spawning".into(), "unknown".into()));
    let (asking, hold) = scene.claimed(worker);
    asking.begin(&hold, "a line").unwrap();
    assert_eq!(scene.visual(SOON), "running");
    asking.release(&hold, "later", None).unwrap();
    let shown = scene.at(SOON).remove(0);
    assert_eq!(shown.visual, "unknown");
    assert!(shown.why.contains("not known to be on this machine"), "{}", shown.why);
}

#[test]
fn an_agent_does_not_renew_the_lease_of_a_worker_that_is_a_process() {
    for is_process in [true, false] {
        let scene = Scene::new();
        let worker = scene.joined("a", is_process);
        let (asking, hold) = scene.claimed(worker);
        asking.begin(&hold, "a line").unwrap();
        scene.clock.0.store(NOW.plus(SOON).as_micros(), Ordering::Release);
        let agent = scene.asking(Actor::new(ActorClass::Agent, "ses"));
        let until = agent.heartbeat(&hold, LEASE).unwrap();
        let begun = NOW.plus(LEASE);
        assert_eq!(until, if is_process { begun } else { begun.plus(SOON) }, "{is_process}");
    }
}
