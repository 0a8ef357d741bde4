//! Who moves tasks on beside the workers: the service, a janitor, a recovery and a person.

use std::sync::Arc;

use callboard_engine::Clock;
use callboard_engine::tasks::{OVERDUE, Rejection, RetryTime, TaskFailure, TaskService};
use callboard_kernel::{Actor, Command, EvidenceRef, Facts, Order, StateReason, Transition, task};
use callboard_ledger::{Ledger, Listing, Memory, Request, Stored};
use callboard_lifecycle::task::TaskState;
use callboard_lifecycle::{ActorClass, Kind, ReasonCode};

use super::rounds::{asking, goes_round, insist};
use crate::stage::Act;
use crate::world::SimWorld;

const TASKS: Listing = Listing { kind: Some(Kind::Task), ended: false, limit: 0 };

fn system(name: &str) -> Actor {
    Actor::new(ActorClass::System, name)
}

/// The tasks that are in a state.
fn tasks_in(ledger: &Ledger, state: TaskState) -> Vec<Stored> {
    let all = ledger.entities(TASKS).unwrap_or_default();
    all.into_iter().filter(|stored| task::state(&stored.entity) == Some(state)).collect()
}

fn pick(world: &SimWorld, sides: u32) -> u32 {
    world.state(|state| state.choices.pick(sides))
}

/// The service of the engine. After a step that fails, and after a crash, it begins anew, as its host lets it.
pub(super) fn service(world: SimWorld, memory: Memory) -> Act {
    let mut held: Option<(TaskService, u64)> = None;
    goes_round(world, memory, (10, 2, 400), move |world, ledger, is_new| {
        if std::mem::take(is_new) {
            held = None;
        }
        let (service, position) =
            held.get_or_insert_with(|| (TaskService::new(Arc::new(world.clone()), OVERDUE), 0));
        match service.step_alone(ledger, *position) {
            Ok(reached) => *position = reached,
            Err(_) => held = None,
        }
    })
}

/// Verifies what is done, and closes or rejects it; it may be killed between the two.
pub(super) fn janitor(world: SimWorld, memory: Memory) -> Act {
    goes_round(world, memory, (11, 3, 300), |world, ledger, _| {
        for stored in tasks_in(ledger, TaskState::Done) {
            let id = stored.entity.state.id;
            let asking = || asking(world, ledger, system("janitor"));
            if pick(world, 4) == 3 {
                let code = const { ReasonCode::of("task.failed.verification") };
                let failure = TaskFailure::new(code, "a test failed");
                let rejection = Rejection { failure, verdicts: Vec::new() };
                insist(world, || asking().reject(&stored, &rejection));
                continue;
            }
            insist(world, || asking().verified(&stored, vec![Facts::none()]));
            insist(world, || {
                let stored = asking().task(id)?;
                asking().close(&stored, &Facts::none(), "merged")
            });
        }
    })
}

/// Looks after tasks whose worker is gone: what it left is used, or it is tried again, or it failed.
pub(super) fn recovery(world: SimWorld, memory: Memory) -> Act {
    goes_round(world, memory, (12, 4, 300), |world, ledger, _| {
        for stored in tasks_in(ledger, TaskState::Orphaned) {
            let id = stored.entity.state.id;
            let asking = || asking(world, ledger, system("recovery"));
            match pick(world, 3) {
                0 => drop(insist(world, || asking().retry(id, "nothing of it is there", RetryTime::Same))),
                1 => {
                    let failure =
                        TaskFailure::new(const { ReasonCode::of("task.failed.recovery") }, "it is of no use");
                    let rejection = Rejection { failure, verdicts: Vec::new() };
                    insist(world, || asking().reject(&stored, &rejection));
                }
                _ => {
                    let code = const { ReasonCode::of("task.done.recovered") };
                    let why =
                        StateReason::new(code, "it can be used").shown_by(EvidenceRef::tool_result("a diff"));
                    let order = Order::Transition(Transition::to(TaskState::Done, why));
                    let mut command = Command::new(id, order);
                    command.if_version = Some(stored.entity.state.version);
                    let (actor, now) = (system("recovery"), world.now());
                    // A store that fails is tried again in the next round.
                    drop(ledger.append(Request { command, actor, now, cause: None }));
                }
            }
        }
    })
}

/// Somebody who interferes while things go wrong, and lets everything go its way afterwards.
pub(super) fn person(world: SimWorld, memory: Memory) -> Act {
    goes_round(world, memory, (13, 25, 4_000), |world, ledger, _| {
        if world.state(|state| state.scene.is_calm) {
            return;
        }
        let all = ledger.entities(TASKS).unwrap_or_default();
        let at = pick(world, all.len() as u32) as usize;
        let Some(id) = all.get(at).map(|stored| stored.entity.state.id) else { return };
        let asking = || asking(world, ledger, Actor::new(ActorClass::Operator, "person"));
        match pick(world, 8) {
            1 => drop(insist(world, || asking().cancel(id, "not needed"))),
            2 | 3 => drop(insist(world, || asking().reassign(id, "somebody else is to do it"))),
            4 => drop(insist(world, || asking().retry(id, "once more", RetryTime::Same))),
            5 => drop(insist(world, || asking().unblock(id, "it is there"))),
            _ => {}
        }
    })
}
