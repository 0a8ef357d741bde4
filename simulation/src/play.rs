//! One run of the simulation: who takes part, and what came of it.

use std::sync::Arc;

use callboard_engine::{Clock, Viewpoint, evaluate, needs_somebody};
use callboard_ledger::{Ledger, Medium, Memory};
use callboard_notify::Settings;

use crate::choices::{Choices, Schedule};
use crate::scene::Scene;
use crate::stage::{Act, Part, Stage};
use crate::world::{Disk, SimWorld};
use crate::{actors, invariants};

/// What came of one run.
pub(crate) struct Played {
    /// What does not hold, if anything does not.
    pub(crate) problem: Option<String>,
    /// The choices that led to it.
    pub(crate) schedule: Schedule,
    /// What happened, line by line.
    pub(crate) trace: Vec<String>,
    /// How many records were written.
    pub(crate) records: u64,
}

/// Whom the notifiers tell.
pub(crate) fn settings() -> anyhow::Result<Arc<Settings>> {
    let variable = |name: &str| match name {
        "CALLBOARD_WEBHOOK_URL" => Some("http://127.0.0.1:9/".to_owned()),
        "CALLBOARD_WEBHOOK_SECRET" => Some("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".to_owned()),
        _ => None,
    };
    Ok(Arc::new(Settings::load(None, &variable)?))
}

/// Plays one run.
pub(crate) fn play(mut choices: Choices, settings: &Arc<Settings>) -> Played {
    let scene = Scene::new(&mut choices);
    let hosts = scene.hosts.len();
    let runs = 2 + choices.pick(2) as usize;
    let detached: Vec<bool> = (0..runs).map(|_| choices.pick(2) == 1).collect();
    let stage = Stage::new(choices, scene);
    let disk = Arc::new(Disk::default());
    let memory = Memory::on("simulated", Arc::clone(&disk) as Arc<dyn Medium>);
    disk.0.get_or_init(|| Arc::clone(&stage));
    let ledger = Ledger::direct(&memory);
    stage.lock().scene.ledger = Some(ledger.clone());
    let mut acts: Vec<Part> = Vec::new();
    let mut add = |name: String, host: usize, act: &dyn Fn(SimWorld) -> Act| {
        let world = SimWorld::start(&stage, host);
        let process = Some((host, world.pid));
        acts.push((name, process, act(world)));
    };
    for (nth, is_detached) in detached.into_iter().enumerate() {
        let host = nth % hosts;
        add(format!("run{nth}"), host, &|world| actors::supervisor(world, memory.clone(), nth, is_detached));
    }
    for host in 0..hosts {
        add(format!("reaper{host}"), host, &|world| actors::reaper(world, memory.clone()));
        let tell = |world| actors::notifier(world, memory.clone(), Arc::clone(settings));
        add(format!("notifier{host}"), host, &tell);
        add(format!("onlooker{host}"), host, &|world| actors::onlooker(world, memory.clone()));
    }
    let last = hosts - 1;
    add("notifier".to_owned(), 0, &|world| actors::notifier(world, memory.clone(), Arc::clone(settings)));
    add("clerk".to_owned(), last, &|world| actors::clerk(world, memory.clone()));
    add("steward0".to_owned(), 0, &|world| actors::steward(world, memory.clone()));
    add("steward1".to_owned(), last, &|world| actors::steward(world, memory.clone()));
    stage.play(acts);
    finish(&stage, &ledger);
    let (problem, schedule, trace) = stage.end();
    let records = ledger.head().unwrap_or(0);
    // The disk, the store and the stage know each other; what holds them together is let go.
    stage.lock().scene.ledger = None;
    Played { problem, schedule, trace, records }
}

fn finish(stage: &Arc<Stage>, ledger: &Ledger) {
    if stage.lock().is_blamed() {
        return;
    }
    let onlooker = SimWorld::start(stage, 0);
    let now = onlooker.now();
    for stored in ledger.attention(100).unwrap_or_default() {
        // What it needed somebody for may have passed meanwhile.
        let is_needed = needs_somebody(&evaluate(&stored, &Viewpoint::present(now, &onlooker)), now);
        if is_needed && !invariants::is_told(&stored) {
            stage.lock().blame(format!("{} needs somebody and nobody was told", stored.entity.state.id));
        }
    }
    invariants::finish(&mut stage.lock(), ledger);
}
