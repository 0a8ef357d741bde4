//! Who takes part in a run: supervisors, reapers, notifiers, somebody who looks, a clerk and two stewards.
//!
//! Invariant: what they call is the real engine and the real ledger; what they do with the answers is compared with the truth at once.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use callboard_agents::Program;
use callboard_delivery::{Agreement, Contract};
use callboard_engine::{
    Clock, Desk, Notifier, Observed, ProcessTable, Reaper, RecordError, RunOrder, Viewpoint, World, perform,
};
use callboard_kernel::{Actor, Command, Create, EntityId, Facts, Observe, Order};
use callboard_ledger::{
    AppendError, Lease, LeaseError, Ledger, Listing, Memory, OpenError, Page, RecordScope, Request,
    ServiceStep, TakenLease,
};
use callboard_lifecycle::task::TaskState;
use callboard_lifecycle::{ActorClass, Health, Kind, Words};
use callboard_notify::Settings;
use callboard_supervisor::{Audience, Limits, Privileges, Stdin, Timers};
use uuid::Uuid;

use crate::invariants;
use crate::stage::Act;
use crate::world::SimWorld;

const EVERYTHING: Listing = Listing { kind: None, ended: true, limit: 0 };
/// How often somebody looks while things go wrong, and how often afterwards.
const ROUNDS: u32 = 5;
const CALM_ROUNDS: u32 = 9;

/// The id of the nth run.
pub(crate) fn run_id(nth: usize) -> EntityId {
    EntityId::new(Kind::Session, Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_0000 + nth as u128))
}

/// A supervisor with its run.
pub(crate) fn supervisor(world: SimWorld, memory: Memory, nth: usize, is_detached: bool) -> Act {
    let is_shared = world.state(|state| {
        state.scene.supervisors.insert((world.host, world.pid));
        state.scene.at_work += 1;
        state.scene.hosts.len() > 1
    });
    Box::new(move || {
        world.enter();
        let open = || Ok::<Ledger, OpenError>(Ledger::direct(&memory));
        let desk = Desk { open: &open, reopen: &open, clock: &world, world: &world, is_shared };
        let ended = perform(order(nth, is_detached), desk, &mut |_| {});
        if let Ok(ended) = ended {
            let is_refused = ended.unrecorded.as_ref().is_some_and(|unrecorded| {
                matches!(unrecorded.because, RecordError::Append(AppendError::Refused(_)))
            });
            let word = ended.stored.entity.state.lifecycle.map(|state| state.name().to_owned());
            if let Some(word) = word.filter(|_| !is_refused) {
                world.state(|state| drop(state.scene.ends.insert(run_id(nth), word)));
            }
        }
        world.exit();
        world.state(|state| {
            if state.scene.supervisors.remove(&(world.host, world.pid)) {
                state.scene.at_work -= 1;
            }
        });
    })
}

fn order(nth: usize, is_detached: bool) -> RunOrder {
    RunOrder {
        id: run_id(nth),
        cause: None,
        argv: vec!["agent".into()],
        cwd: PathBuf::from("/"),
        env: Vec::new(),
        title: Some(format!("run {nth}")),
        labels: Vec::new(),
        parent: None,
        on_child_failure: None,
        retry_of: None,
        timers: Timers::default(),
        limits: Limits::default(),
        agreement: Agreement {
            contract: Contract::default(),
            dir: PathBuf::from("/"),
            repository: None,
            baseline: None,
        },
        program: Program::Plain,
        audience: if is_detached { Audience::Nobody } else { Audience::Foreground },
        stdin: Stdin::Null,
        descriptors: Vec::new(),
        privileges: Privileges::NoNew,
        sandbox: None,
        dir: PathBuf::from(format!("/simulated/run{nth}")),
        recipe_hash: None,
        output_max_bytes: 0,
    }
}

/// Goes round: while things go wrong, then until the supervisors are gone, then while everything is calm.
fn rounds(world: &SimWorld, pause_s: u64, calm_pause_s: u64, mut round: impl FnMut()) {
    for _ in 0..ROUNDS {
        let more = world.state(|state| u64::from(state.choices.pick(4)));
        world.sleep(Duration::from_secs(pause_s + 7 * more));
        round();
    }
    while world.state(|state| state.scene.at_work > 0) {
        world.sleep(Duration::from_secs(60));
    }
    world.state(|state| {
        if !state.scene.is_calm {
            state.scene.is_calm = true;
            state.tell("from here on nothing goes wrong");
        }
    });
    for _ in 0..CALM_ROUNDS {
        world.sleep(Duration::from_secs(calm_pause_s));
        round();
    }
}

/// Ends what is dead on its host.
pub(crate) fn reaper(world: SimWorld, memory: Memory) -> Act {
    Box::new(move || {
        world.enter();
        let ledger = Ledger::direct(&memory);
        rounds(&world, 3, 90, || {
            let reaper = Reaper {
                ledger: &ledger,
                world: &world,
                now: world.now(),
                older_than: Duration::ZERO,
                dry_run: false,
            };
            // A store that fails is tried again in the next round.
            drop(reaper.reap());
        });
    })
}

/// Tells what needs somebody.
pub(crate) fn notifier(world: SimWorld, memory: Memory, settings: Arc<Settings>) -> Act {
    Box::new(move || {
        world.enter();
        let ledger = Ledger::direct(&memory);
        rounds(&world, 4, 1_000, || {
            let notifier = Notifier { ledger: &ledger, settings: &settings, world: &world, clock: &world };
            for stored in ledger.attention(100).unwrap_or_default() {
                drop(notifier.tell(stored.entity.state.id));
            }
        });
    })
}

/// Looks at everything, and compares each word with the truth.
pub(crate) fn onlooker(world: SimWorld, memory: Memory) -> Act {
    Box::new(move || {
        world.enter();
        let ledger = Ledger::direct(&memory);
        rounds(&world, 2, 500, || {
            for stored in ledger.entities(EVERYTHING).unwrap_or_default() {
                let viewpoint = Viewpoint::present(world.now(), &world);
                let Ok(seen) = Observed::of(&ledger, stored, &viewpoint) else { continue };
                let view = seen.view();
                if let Some(health @ (Health::ProcessDead | Health::Orphaned)) = view.state.health {
                    world.state(|state| invariants::said_dead(state, &seen.stored, health.name()));
                }
            }
        });
    })
}

/// Writes notes under keys, and asks again after every fault.
pub(crate) fn clerk(world: SimWorld, memory: Memory) -> Act {
    Box::new(move || {
        world.enter();
        let ledger = Ledger::direct(&memory);
        let task = EntityId::new(Kind::Task, Uuid::from_u128(7));
        let create = Create { at: TaskState::Open.into(), reasons: Vec::new(), data: Facts::none() };
        send(&world, &ledger, task, "create", &Order::Create(create));
        for nth in 0..6 {
            world.sleep(Duration::from_secs(9));
            let note = Observe { reasons: Vec::new(), data: Facts::none() };
            send(&world, &ledger, task, &format!("note {nth}"), &Order::Observe(note));
        }
    })
}

fn send(world: &SimWorld, ledger: &Ledger, entity: EntityId, key: &str, order: &Order) {
    for _ in 0..200 {
        let command = Command { key: Some(key.to_owned()), ..Command::new(entity, order.clone()) };
        let actor = Actor::new(ActorClass::System, "clerk");
        match ledger.append(Request { command, actor, now: world.now(), cause: None }) {
            Ok(receipt) => {
                world.state(|state| state.scene.checker.acknowledged(&receipt.record));
                return;
            }
            Err(AppendError::Refused(refusal)) => {
                world.state(|state| state.blame(format!("a note was refused: {}", refusal.message)));
                return;
            }
            Err(AppendError::Fault(_)) => world.sleep(Duration::from_secs(1)),
        }
    }
}

/// Deals with every record while it holds the lease, and says how far it came.
pub(crate) fn steward(world: SimWorld, memory: Memory) -> Act {
    Box::new(move || {
        world.enter();
        let ledger = Ledger::direct(&memory);
        let holder = format!("steward@{}/{}", world.here().host, world.pid);
        rounds(&world, 3, 40, || {
            if let Ok(TakenLease::Granted(lease)) =
                ledger.take_lease("services", &holder, Duration::from_secs(10))
            {
                world.state(|state| invariants::granted(state, &lease));
                hold(&world, &ledger, lease);
            }
        });
    })
}

fn hold(world: &SimWorld, ledger: &Ledger, mut lease: Lease) {
    loop {
        if step(world, ledger, &lease).is_err() {
            return;
        }
        let more = world.state(|state| state.choices.pick(4));
        world.sleep(Duration::from_secs(3 * u64::from(more)));
        match more {
            0 => {
                // Said before, because it may be given up although the answer is lost.
                world.state(|state| invariants::gives_up(state, &lease));
                drop(ledger.give_up_lease(&lease));
                return;
            }
            1 => match ledger.renew_lease(&lease, Duration::from_secs(10)) {
                Ok(renewed) => {
                    world.state(|state| invariants::renewed(state, &renewed));
                    lease = renewed;
                }
                Err(_) => {
                    world.state(|state| invariants::gives_up(state, &lease));
                    return;
                }
            },
            2 => {}
            _ => return,
        }
    }
}

/// Deals with what came since the last step, and then says so.
fn step(world: &SimWorld, ledger: &Ledger, lease: &Lease) -> Result<(), LeaseError> {
    let position = ledger.service_steps()?.first().map_or(0, |step| step.position);
    let page = Page { after: position, limit: 20, scope: RecordScope::All };
    let seqs: BTreeSet<u64> = ledger.records(page)?.iter().map(|record| record.seq).collect();
    let Some(last) = seqs.last().copied() else { return Ok(()) };
    world.sleep(Duration::from_secs(1));
    world.state(|state| invariants::dealt_with(state, &seqs));
    let step = ServiceStep { service: "steward".to_owned(), position: last, at: world.now(), error: None };
    let newest = world.state(|state| state.scene.checker.newest_epoch());
    ledger.record_service_step(lease, step)?;
    world.state(|state| invariants::stepped(state, lease, newest, last));
    Ok(())
}
