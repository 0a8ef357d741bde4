//! What the actors of a task board have in common: rounds, lives, names, and patience with the store.

use std::cell::Cell;
use std::time::Duration;

use callboard_engine::tasks::{Asking, TaskError};
use callboard_engine::{Clock, World};
use callboard_kernel::{Actor, EntityId, Moment};
use callboard_ledger::{Ledger, Memory};
use callboard_lifecycle::Kind;
use uuid::Uuid;

use crate::stage::{Act, State};
use crate::world::SimWorld;

thread_local! {
    /// Who names something, and how often it has.
    static NAMER: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

/// Names that follow from who gives them and when, so that the same seed gives the same ones.
pub(super) fn name(kind: Kind, now: Moment) -> EntityId {
    let (who, nth) = NAMER.get();
    NAMER.set((who, nth + 1));
    let millis = u128::from(now.as_micros().unsigned_abs() / 1000);
    EntityId::new(kind, Uuid::from_u128(millis << 80 | 0x7000_8000 << 48 | u128::from(who << 32 | nth)))
}

/// From here on this thread gives the names of an actor.
pub(super) fn names_as(who: u64) {
    NAMER.set((who, 0));
}

/// An actor that goes round until the run is over, and begins again after it was killed.
pub(super) fn goes_round(
    world: SimWorld,
    memory: Memory,
    (who, pause_s, calm_s): (u64, u64, u64),
    mut round: impl FnMut(&SimWorld, &Ledger, &mut bool) + Send + 'static,
) -> Act {
    let process = (world.host, world.pid);
    Box::new(move || {
        world.enter();
        names_as(who);
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
fn may_die(state: &mut State, process: (usize, u32)) {
    if state.scene.supervisors.insert(process) {
        state.scene.at_work += 1;
    }
}

fn is_over(world: &SimWorld) -> bool {
    world.state(|state| state.scene.board.as_ref().is_some_and(|board| board.is_over))
}

pub(super) fn asking<'a>(world: &SimWorld, ledger: &'a Ledger, actor: Actor) -> Asking<'a> {
    Asking::new(ledger, actor, world.now()).naming(name)
}

/// Tries again for as long as the store fails; whether it was taken.
pub(super) fn insist<T>(world: &SimWorld, mut act: impl FnMut() -> Result<T, TaskError>) -> Option<T> {
    for _ in 0..4 {
        match act() {
            Ok(answer) => return Some(answer),
            Err(TaskError::Store(_) | TaskError::Read(_)) => world.sleep(Duration::from_secs(1)),
            Err(TaskError::Refused(_) | TaskError::Unfit { .. } | TaskError::NotFound { .. }) => return None,
        }
    }
    None
}
