//! A simulated worker: it claims a task, keeps its lease, and reports, badly now and then.
//!
//! Invariant: the truth knows under which hold it acts before it does. It goes on with some acts after a refusal, as a worker would that does
//! not read answers.

use std::time::Duration;

use callboard_engine::World;
use callboard_engine::tasks::{Block, Done, Hold, LEASE, NewTask, NewWorker, TaskError, TaskFailure};
use callboard_kernel::task::Dependency;
use callboard_kernel::{Actor, EntityId, Facts, TurnGoal, fact};
use callboard_ledger::{ClaimQuery, Ledger, Memory};
use callboard_lifecycle::task::TransitionReason;
use callboard_lifecycle::{ActorClass, ReasonCode};
use callboard_wire::TaskRequest;

use super::rounds::{asking, goes_round, insist};
use crate::stage::Act;
use crate::world::SimWorld;

/// How many tasks there are at the most, with those into which others are split.
const TASKS_MAX: usize = 8;

fn pick(world: &SimWorld, sides: u32) -> u32 {
    world.state(|state| state.choices.pick(sides))
}

/// One process that works on tasks. A twin works under the name of another one, of which it knows nothing.
pub(super) fn worker(world: SimWorld, memory: Memory, nth: usize) -> Act {
    goes_round(world, memory, (nth as u64, 2, 300), move |world, ledger, is_new| {
        if std::mem::take(is_new) && pick(world, 3) == 2 {
            world.state(|state| state.scene.board.iter_mut().for_each(|board| board.forget_name(nth)));
        }
        let Some(id) = name_of(world, ledger, nth) else { return };
        let actor = Actor::new(ActorClass::Worker, id.to_string());
        let claimed = insist(world, || {
            asking(world, ledger, actor.clone()).claim_next(id, ClaimQuery::default(), LEASE)
        });
        if let Some(Some(hold)) = claimed {
            work(&Working { world, ledger, actor, hold });
        }
    })
}

/// The name under which it works; it joins if it has none.
fn name_of(world: &SimWorld, ledger: &Ledger, nth: usize) -> Option<EntityId> {
    let known = world.state(|state| state.scene.board.as_ref().and_then(|board| board.name(nth)));
    if known.is_some() {
        return known;
    }
    let new = NewWorker { title: format!("worker {nth}"), ..NewWorker::default() };
    let actor = Actor::new(ActorClass::Supervisor, "crew");
    let id = insist(world, || asking(world, ledger, actor.clone()).join(&new))?;
    world.state(|state| state.scene.board.iter_mut().for_each(|board| board.rename(nth, id)));
    Some(id)
}

struct Working<'a> {
    world: &'a SimWorld,
    ledger: &'a Ledger,
    actor: Actor,
    hold: Hold,
}

impl Working<'_> {
    /// Acts for the task; whether to go on.
    fn does<T>(&self, act: impl Fn(&callboard_engine::tasks::Asking<'_>) -> Result<T, TaskError>) -> bool {
        self.world.state(|state| {
            let turn = state.at_turn();
            state.scene.board.iter_mut().for_each(|board| board.acts(turn, &self.hold));
        });
        let taken = insist(self.world, || act(&asking(self.world, self.ledger, self.actor.clone())));
        taken.is_some() || pick(self.world, 4) == 3
    }

    fn sleep(&self, seconds: u32) {
        self.world.sleep(Duration::from_secs(u64::from(seconds)));
    }

    fn beats(&self) -> bool {
        let hold = &self.hold;
        self.does(|asking| {
            asking.heartbeat(hold, LEASE)?;
            // Not what it was told: that is the answer of what is examined.
            let until = asking.now.plus(LEASE);
            self.world.state(|state| {
                state.scene.board.iter_mut().for_each(|board| board.renewed(hold, until));
            });
            Ok(())
        })
    }
}

/// Works on a task until it is reported, or lost.
fn work(at: &Working<'_>) {
    let (world, hold) = (at.world, &at.hold);
    at.sleep(4 * pick(world, 3));
    let is_launched =
        pick(world, 2) == 0 || at.does(|asking| asking.launched(hold, None, Facts::none(), &Facts::none()));
    if !is_launched || (pick(world, 5) < 4 && !at.does(|asking| asking.begin(hold, "a line"))) {
        return;
    }
    for _ in 0..pick(world, 4) {
        at.sleep(5 + 10 * pick(world, 3));
        if !at.beats() {
            return;
        }
        let goal = [TurnGoal::Running, TurnGoal::ToolUse, TurnGoal::Compacting][pick(world, 3) as usize];
        let goes_on = match pick(world, 3) {
            0 => at.does(|asking| asking.progress(hold, "half of it")),
            _ => at.does(|asking| asking.turn_to(hold, goal, "a line")),
        };
        if !goes_on {
            return;
        }
    }
    report(at);
}

fn report(at: &Working<'_>) {
    let (world, hold) = (at.world, &at.hold);
    let is_calm = world.state(|state| state.scene.is_calm);
    let soon = Duration::from_secs(20 + 20 * u64::from(pick(world, 3)));
    match pick(world, 10) {
        3 => fails(at, None),
        4 => fails(at, Some(TransitionReason::PermissionDenied)),
        5 => {
            at.does(|asking| {
                let time = Dependency::Time { at: asking.now.plus(soon) };
                asking.block(hold, &[Block::Dependency(time)], "not there yet")
            });
        }
        6 => {
            at.does(|asking| asking.block(hold, &[Block::Words("the network".to_owned())], "not there"));
        }
        7 => splits(at),
        // Once nothing goes wrong nobody gives a task back, or it would go on for ever.
        8 if !is_calm => {
            at.does(|asking| asking.release(hold, "not mine", None));
        }
        9 if !is_calm => {
            at.does(|asking| asking.release(hold, "the limit", Some(asking.now.plus(soon))));
        }
        _ => done(at),
    }
}

fn done(at: &Working<'_>) {
    let done = Done { summary: "done".into(), evidence: "exit 0".into(), data: Facts::none() };
    at.does(|asking| asking.report_done(&at.hold, &done));
}

fn fails(at: &Working<'_>, canonical: Option<TransitionReason>) {
    let code = const { ReasonCode::of("task.failed.reported") };
    let failure = TaskFailure { canonical, ..TaskFailure::new(code, "it does not work") };
    at.does(|asking| asking.report_failed(&at.hold, &failure));
}

/// Splits the task, unless it is a part of another one itself.
fn splits(at: &Working<'_>) {
    let is_room = at
        .world
        .state(|state| state.scene.board.as_ref().is_some_and(|board| board.count() + 2 <= TASKS_MAX));
    let stored = insist(at.world, || asking(at.world, at.ledger, at.actor.clone()).task(at.hold.task));
    let is_part = stored.is_none_or(|stored| stored.entity.facts.known(fact::PARENT).is_some());
    if is_part || !is_room {
        return done(at);
    }
    let part = |nth: usize| {
        let request =
            TaskRequest { title: format!("part {nth}"), max_retries: Some(1), ..TaskRequest::default() };
        NewTask::read(&request, ActorClass::Worker)
    };
    at.does(|asking| asking.split(&at.hold, vec![part(0)?, part(1)?]));
}
